package schema

import (
	"slices"
	"testing"

	"github.com/shoaldb/shoal/layout/column"
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
