package column

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func drawData(t *rapid.T, typ Type, maxLen int) []datum {
	data := make([]datum, rapid.IntRange(0, maxLen).Draw(t, "rows"))
	for i := range data {
		data[i] = drawDatum(t, typ)
	}
	return data
}

// check tests the invariants of a vector.
func check(t interface{ Fatalf(string, ...any) }, v *Vector) {
	n := v.Len
	lens := map[string]int{}
	switch v.Type.Kind {
	case Bool:
		lens["Bools"] = len(v.Bools)
	case Int32, Date:
		lens["I32"] = len(v.I32)
	case Float32:
		lens["F32"] = len(v.F32)
	case Float64:
		lens["F64"] = len(v.F64)
	case Decimal, Int64, Time, Timestamp, TimestampMilli:
		if v.Type.WideDecimal() {
			lens["Dec"] = len(v.Dec)
		} else {
			lens["I64"] = len(v.I64)
		}
	case String, Binary:
		if v.Dict != nil {
			lens["Codes"] = len(v.Codes)
		} else {
			lens["Str"] = v.Str.Len()
		}
	case List, Map:
		lens["Offsets"] = len(v.Offsets) - 1
		for _, c := range v.Children {
			check(t, c)
		}
	case Struct:
		for i, c := range v.Children {
			lens[fmt.Sprint("child", i)] = c.Len
			check(t, c)
		}
	}
	if v.Valid != nil {
		lens["Valid"] = n
		if len(v.Valid) != (n+63)/64 {
			t.Fatalf("%d rows, %d words of validity", n, len(v.Valid))
		}
	}
	for k, l := range lens {
		if l != n {
			t.Fatalf("%s vector of %d rows has %d in %s", v.Type, n, l, k)
		}
	}
}

func TestVectorOperationsMatchSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 2)
		data := drawData(t, typ, 150)
		v := build(typ, data, rapid.Bool().Draw(t, "dict"))
		same := func(what string, got *Vector, want []datum) {
			check(t, got)
			if got.Len != len(want) || !sameData(read(got), want) {
				t.Fatalf("%s of %s: %v, want %v", what, typ, read(got), want)
			}
			nulls := 0
			for _, d := range want {
				if d == nil {
					nulls++
				}
			}
			if got.NullCount() != nulls {
				t.Fatalf("%s: %d nulls, want %d", what, got.NullCount(), nulls)
			}
		}
		same("build", v, data)
		lo := rapid.IntRange(0, v.Len).Draw(t, "lo")
		hi := rapid.IntRange(lo, v.Len).Draw(t, "hi")
		part := Slice(v, lo, hi)
		same("slice", part, data[lo:hi])

		var rows []uint32
		var picked []datum
		if part.Len > 0 {
			for _, r := range rapid.SliceOfN(rapid.IntRange(0, part.Len-1), 0, 150).Draw(t, "picks") {
				rows, picked = append(rows, uint32(r)), append(picked, data[lo+r])
			}
		}
		picks := Gather(part, rows)
		same("gather", picks, picked)

		more := drawData(t, typ, 70)
		w := build(typ, more, rapid.Bool().Draw(t, "dict2"))
		all := append(append(append([]datum(nil), data[lo:hi]...), more...), picked...)
		same("concat", Concat(typ, []*Vector{part, w, picks}), all)
		same("concat of one", Concat(typ, []*Vector{part}), data[lo:hi])
		same("concat of none", Concat(typ, nil), nil)
		withNulls := append(append([]datum(nil), more...), make([]datum, 3)...)
		same("concat with nulls", Concat(typ, []*Vector{w, Nulls(typ, 3), Nulls(typ, 0)}), withNulls)

		b := NewBuilder(typ, 0)
		if rapid.Bool().Draw(t, "dict3") && (typ.Kind == String || typ.Kind == Binary) {
			b = NewDictBuilder(typ, 0)
		}
		b.AppendVector(part)
		for i := 0; i < w.Len; i++ {
			b.AppendFrom(w, i)
		}
		b.AppendVector(picks)
		same("append", b.Finish(), all)
	})
}

func TestKeysKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := []Type{drawType(t, 2), drawType(t, 1)}
		var vs []*Vector
		var data [][]datum
		for _, typ := range types {
			d := []datum{drawDatum(t, typ), drawDatum(t, typ)}
			if rapid.IntRange(0, 3).Draw(t, "tie") == 0 {
				d[1] = d[0]
			}
			vs, data = append(vs, build(typ, d, rapid.Bool().Draw(t, "dict"))), append(data, d)
		}
		want := 0
		for i := range data {
			c := order(data[i][0], data[i][1])
			if got := Compare(vs[i], 0, vs[i], 1); got != c {
				t.Fatalf("Compare(%v, %v) = %d, want %d", data[i][0], data[i][1], got, c)
			}
			if want == 0 {
				want = c
			}
		}
		var keys [2][]byte
		for row := range keys {
			for _, v := range vs {
				keys[row] = AppendKey(keys[row], v, row)
			}
		}
		if got := bytes.Compare(keys[0], keys[1]); got != want {
			t.Fatalf("%v: keys %x and %x compare as %d, want %d", data, keys[0], keys[1], got, want)
		}
	})
}

func TestConcatMergesDictionaries(t *testing.T) {
	str := Type{Kind: String}
	a, b := Constant(str, []byte("x"), 2), Constant(str, []byte("y"), 1)
	v := Concat(str, []*Vector{a, b, a, Nulls(str, 1)})
	if v.Dict == nil || v.Dict.Len() != 2 {
		t.Fatalf("dictionary %v, want one of 2 entries", v.Dict)
	}
	if v := Concat(str, []*Vector{a, Slice(a, 0, 1)}); v.Dict != a.Dict {
		t.Error("vectors of one dictionary do not keep it")
	}
	big := func(from int) *Vector {
		b := NewDictBuilder(str, 0)
		for i := 0; i < 3000; i++ {
			b.AppendBytes(fmt.Append(nil, from+i%1000))
		}
		return b.Finish()
	}
	parts := []*Vector{big(0), big(1000)}
	if parts[0].Dict == nil {
		t.Fatal("1000 values in 3000 rows did not stay a dictionary")
	}
	if v := Concat(str, parts); v.Dict == nil || v.Dict.Len() != 2000 {
		t.Error("2000 values in 6000 rows: want a dictionary")
	}
	for i := range parts {
		parts[i] = Slice(parts[i], 0, 1000)
	}
	if v := Concat(str, parts); v.Dict != nil {
		t.Error("2000 values in 2000 rows: want plain strings")
	}
}

func TestDictBuilderGivesUpOnDistinctValues(t *testing.T) {
	b := NewDictBuilder(Type{Kind: String}, 0)
	b.AppendNull()
	for i := 0; i < 5000; i++ {
		b.AppendBytes(fmt.Append(nil, i))
	}
	v := b.Finish()
	check(t, v)
	if v.Dict != nil {
		t.Error("5000 distinct values kept a dictionary")
	}
	if !v.Null(0) || string(v.Bytes(1)) != "0" || string(v.Bytes(5000)) != "4999" {
		t.Error("values changed with the form")
	}
}

func TestBuilderPanicsOnMisuse(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("AppendBool on an int32 builder did not panic")
		}
	}()
	NewBuilder(Type{Kind: Int32}, 0).AppendBool(true)
}

func TestSizeCountsSharedDictionaryOnce(t *testing.T) {
	v := Constant(Type{Kind: String}, make([]byte, 1000), 10)
	if got := SizeBytes(v); got != 1000+2*4+10*4 {
		t.Errorf("SizeBytes = %d", got)
	}
	s := &Schema{Fields: []Field{{Name: "a", Type: v.Type}}}
	b := &Batch{Schema: s, Cols: []*Vector{v}, Len: 10}
	if got := BatchesBytes([]*Batch{b, b.Slice(0, 5)}); got != 1000+2*4+15*4 {
		t.Errorf("BatchesBytes = %d", got)
	}
	plain := build(v.Type, []datum{"abc", "de", "f"}, false)
	if got := SizeBytes(Slice(plain, 1, 2)); got != 2*4+2 {
		t.Errorf("SizeBytes of a slice = %d", got)
	}
}

func TestFloatSpecialsSortAsDocumented(t *testing.T) {
	sorted := []datum{nil, math.Inf(-1), -1.5, 0.0, 1.5, math.Inf(1), math.NaN()}
	for _, typ := range []Type{{Kind: Float32}, {Kind: Float64}} {
		v := build(typ, sorted, false)
		for i := 1; i < v.Len; i++ {
			if bytes.Compare(AppendKey(nil, v, i-1), AppendKey(nil, v, i)) >= 0 {
				t.Errorf("%s: %v is not below %v", typ, sorted[i-1], sorted[i])
			}
		}
		z := build(typ, []datum{0.0, math.Copysign(0, -1), math.NaN(), -math.NaN()}, false)
		if !bytes.Equal(AppendKey(nil, z, 0), AppendKey(nil, z, 1)) || !bytes.Equal(AppendKey(nil, z, 2), AppendKey(nil, z, 3)) {
			t.Errorf("%s: zeros or NaNs differ", typ)
		}
	}
}

func TestBatchSelect(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Int32}}, {Name: "b", Type: Type{Kind: String}, Nullable: true}}}
	b := &Batch{Schema: s, Len: 2, Cols: []*Vector{build(s.Fields[0].Type, []datum{int64(1), int64(2)}, false),
		build(s.Fields[1].Type, []datum{"x", nil}, true)}}
	got, err := b.Select([]string{"b", "a"})
	if err != nil || got.Schema.Fields[0].Name != "b" || string(got.Cols[0].Bytes(0)) != "x" || got.Cols[1].I32[1] != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := b.Select([]string{"c"}); err == nil {
		t.Error("unknown column selected")
	}
	both := ConcatBatches(s, []*Batch{b, b.Gather([]uint32{1, 0})})
	if both.Len != 4 || !sameData(read(both.Cols[0]), []datum{int64(1), int64(2), int64(2), int64(1)}) {
		t.Errorf("ConcatBatches: %v", read(both.Cols[0]))
	}
}
