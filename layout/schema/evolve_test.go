package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

func ints(t column.Type, xs ...int64) *column.Vector {
	b := column.NewBuilder(t, len(xs))
	for _, x := range xs {
		b.AppendInt64(x)
	}
	return b.Finish()
}

func TestResolveTakesTheTablesUnit(t *testing.T) {
	us := column.Field{Name: "ts", Type: column.Type{Kind: column.Timestamp}}
	ms := column.Field{Name: "ts", Type: column.Type{Kind: column.TimestampMilli}}
	e, err := Resolve(us, ms)
	if err != nil {
		t.Fatal(err)
	}
	if e.Exact() {
		t.Error("statistics of a mislabelled file must not be trusted")
	}
	v, err := e.Apply(ints(us.Type, 1577836800001))
	if err != nil || v.Type.Kind != column.TimestampMilli || v.I64[0] != 1577836800001 {
		t.Fatalf("%+v %v", v, err)
	}
	// A value that is known to be right keeps its meaning instead.
	if v, err = Cast(ints(us.Type, 1500, -1), ms.Type); err != nil || !slices.Equal(v.I64, []int64{1, -1}) {
		t.Fatalf("%+v %v", v, err)
	}
}

func TestMillisecondsOfAFileBecomeTheTablesMicroseconds(t *testing.T) {
	e, err := Resolve(fieldOf("ts", column.TimestampMilli, true), fieldOf("ts", column.Timestamp, true))
	if err != nil || !e.Exact() {
		t.Fatalf("%v %v", e, err)
	}
	v, err := e.Apply(ints(column.Type{Kind: column.TimestampMilli}, -2))
	if err != nil || v.I64[0] != -2000 {
		t.Fatalf("%v %v", v, err)
	}
	var ce *CastError
	if _, err := e.Apply(ints(column.Type{Kind: column.TimestampMilli}, math.MaxInt64/100)); !errors.As(err, &ce) {
		t.Errorf("a time beyond the range: %v", err)
	}
	if _, err := Cast(ints(column.Type{Kind: column.Date}, math.MaxInt32), column.Type{Kind: column.Timestamp}); !errors.As(err, &ce) {
		t.Errorf("a date beyond the range: %v", err)
	}
}

func TestCastKeepsTheMeaningOfNestedTimes(t *testing.T) {
	list := func(k column.Kind) column.Type {
		return column.Type{Kind: column.List, Fields: []column.Field{fieldOf("element", k, true)}}
	}
	b := column.NewBuilder(list(column.Timestamp), 1)
	if err := b.AppendJSON([]byte(`["2020-01-01 00:00:00.001999",null]`)); err != nil {
		t.Fatal(err)
	}
	out, err := Cast(b.Finish(), list(column.TimestampMilli))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(column.AppendJSON(nil, out, 0)); got != `["2020-01-01 00:00:00.001000",null]` {
		t.Errorf("got %s", got)
	}
}

// TestExactMeansThatValuesCompareAlike holds statistics of a file, taken before the conversion,
// against values after it.
func TestExactMeansThatValuesCompareAlike(t *testing.T) {
	kinds := []column.Type{{Kind: column.Bool}, {Kind: column.Int32}, {Kind: column.Int64}, {Kind: column.Float32}, {Kind: column.Float64},
		{Kind: column.Decimal, Precision: 9, Scale: 2}, {Kind: column.Decimal, Precision: 38, Scale: 5}, {Kind: column.Decimal, Precision: 20},
		{Kind: column.String}, {Kind: column.Binary}, {Kind: column.Date}, {Kind: column.Time}, {Kind: column.Timestamp}, {Kind: column.TimestampMilli}}
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.SampledFrom(kinds).Draw(t, "from"), rapid.SampledFrom(kinds).Draw(t, "to")
		e, err := Resolve(column.Field{Type: from}, column.Field{Type: to})
		if err != nil || !e.Exact() {
			return
		}
		b := column.NewBuilder(from, 1)
		n := rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64Range(-1<<55, 1<<55)).Draw(t, "n")
		switch from.Kind {
		case column.Bool:
			b.AppendBool(n > 0)
		case column.Float32, column.Float64:
			b.AppendFloat64(float64(n) / 8)
		case column.String, column.Binary:
			b.AppendBytes(fmt.Append(nil, n))
		case column.Int32, column.Date:
			b.AppendInt64(int64(int32(n)) / 32)
		case column.Decimal:
			b.AppendInt64(n % 1e9)
		case column.TimestampMilli:
			b.AppendInt64(n / 1000)
		default:
			b.AppendInt64(n)
		}
		v := b.Finish()
		out, err := e.Apply(v)
		if err != nil {
			t.Fatalf("%s to %s: %v", from, to, err)
		}
		if !out.Type.Equal(to) || out.Len != 1 || out.Null(0) {
			t.Fatalf("%s to %s: %+v", from, to, out)
		}
		if c, ok := predicate.Compare(valueOf(v), valueOf(out)); c != 0 || !ok {
			t.Fatalf("%s to %s: %v became %v", from, to, valueOf(v), valueOf(out))
		}
	})
}

func valueOf(v *column.Vector) predicate.Value {
	x := predicate.Value{Kind: v.Type.Kind, Scale: v.Type.Scale}
	switch v.Type.Kind {
	case column.Bool:
		if v.Bools[0] {
			x.I = 1
		}
	case column.Int32, column.Date:
		x.I = int64(v.I32[0])
	case column.Float32:
		x.F = float64(v.F32[0])
	case column.Float64:
		x.F = v.F64[0]
	case column.Decimal:
		x.D = v.Decimal(0)
	case column.String, column.Binary:
		x.B = v.Bytes(0)
	case column.TimestampMilli:
		x.I = 1000 * v.I64[0]
	default:
		x.I = v.I64[0]
	}
	return x
}

func TestWideningConversions(t *testing.T) {
	i32 := column.Type{Kind: column.Int32}
	v := ints(i32, 1, -2)
	for _, to := range []column.Type{{Kind: column.Int64}, {Kind: column.Float64}, {Kind: column.Float32},
		{Kind: column.Decimal, Precision: 12, Scale: 2}, {Kind: column.Decimal, Precision: 30, Scale: 2}, {Kind: column.String}} {
		out, err := Cast(v, to)
		if err != nil {
			t.Errorf("to %s: %v", to, err)
			continue
		}
		want := map[column.Kind]string{column.Decimal: "-2.00", column.String: `"-2"`}[to.Kind]
		if want == "" {
			want = "-2"
		}
		if got := string(column.AppendJSON(nil, out, 1)); got != want {
			t.Errorf("to %s: %s, want %s", to, got, want)
		}
	}
	for _, pair := range [][2]column.Type{
		{{Kind: column.Int64}, {Kind: column.Int32}},
		{{Kind: column.Float64}, {Kind: column.Float32}},
		{{Kind: column.String}, {Kind: column.Int64}},
		{{Kind: column.Decimal, Precision: 10, Scale: 2}, {Kind: column.Decimal, Precision: 10, Scale: 3}},
		{{Kind: column.Int64}, {Kind: column.Decimal, Precision: 18, Scale: 0}},
	} {
		if Castable(pair[0], pair[1]) {
			t.Errorf("%s to %s would lose values", pair[0], pair[1])
		}
	}
}

func TestStructMembersAddedLaterAreNull(t *testing.T) {
	old := column.Type{Kind: column.Struct, Fields: []column.Field{fieldOf("b", column.Int32, true)}}
	now := column.Type{Kind: column.Struct, Fields: []column.Field{fieldOf("a", column.String, true), fieldOf("b", column.Int64, true)}}
	b := column.NewBuilder(old, 1)
	if err := b.AppendJSON([]byte(`{"b":7}`)); err != nil {
		t.Fatal(err)
	}
	out, err := Cast(b.Finish(), now)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(column.AppendJSON(nil, out, 0)); got != `{"a":null,"b":7}` {
		t.Fatalf("got %s", got)
	}
}
