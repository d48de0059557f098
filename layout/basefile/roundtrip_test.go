package basefile

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
)

func typ(k column.Kind) column.Type { return column.Type{Kind: k} }

func listOf(elem column.Type, nullable bool) column.Type {
	return column.Type{Kind: column.List, Fields: []column.Field{{Name: "element", Type: elem, Nullable: nullable}}}
}

func mapOf(value column.Type) column.Type {
	return column.Type{Kind: column.Map, Fields: []column.Field{
		{Name: "key", Type: typ(column.String)}, {Name: "value", Type: value, Nullable: true}}}
}

// leafTypes are all types that are not nested.
var leafTypes = []column.Type{
	typ(column.Bool), typ(column.Int32), typ(column.Int64), typ(column.Float32), typ(column.Float64),
	{Kind: column.Decimal, Precision: 9, Scale: 2}, {Kind: column.Decimal, Precision: 18, Scale: 0},
	{Kind: column.Decimal, Precision: 19, Scale: 19}, {Kind: column.Decimal, Precision: 38, Scale: 10},
	typ(column.String), typ(column.Binary), {Kind: column.Binary, FixedSize: 3},
	typ(column.Date), typ(column.Time), typ(column.Timestamp), typ(column.TimestampMilli), {Kind: column.Timestamp, Local: true},
}

func drawType(t *rapid.T, depth int) column.Type {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "leaf") > 0 {
		return rapid.SampledFrom(leafTypes).Draw(t, "type")
	}
	nullable := rapid.Bool().Draw(t, "nullable")
	switch rapid.IntRange(0, 2).Draw(t, "nesting") {
	case 0:
		return listOf(drawType(t, depth-1), nullable)
	case 1:
		return mapOf(drawType(t, depth-1))
	}
	n := rapid.IntRange(1, 3).Draw(t, "fields")
	var s column.Type
	s.Kind = column.Struct
	for i := range n {
		s.Fields = append(s.Fields, column.Field{Name: fmt.Sprintf("f%d", i), Type: drawType(t, depth-1), Nullable: rapid.Bool().Draw(t, "nullable")})
	}
	return s
}

// drawVector draws n rows of a type, with few distinct values half of the time.
func drawVector(t *rapid.T, f column.Field, n int) *column.Vector {
	v := &column.Vector{Type: f.Type, Len: n}
	if f.Nullable && n > 0 && rapid.IntRange(0, 3).Draw(t, "nulls") > 0 {
		v.Valid = column.NewBitmap(n)
		allNull := rapid.IntRange(0, 5).Draw(t, "all null") == 0
		for i := range n {
			if !allNull && rapid.IntRange(0, 3).Draw(t, "valid") > 0 {
				v.Valid.Set(i)
			}
		}
	}
	few := rapid.Bool().Draw(t, "few")
	num := func(lo, hi int64) int64 {
		if few {
			lo, hi = max(lo, -2), min(hi, 2)
		}
		return rapid.Int64Range(lo, hi).Draw(t, "number")
	}
	text := func(i int) []byte {
		switch {
		case v.Null(i):
			return nil
		case f.Type.FixedSize > 0:
			return rapid.SliceOfN(rapid.Byte(), f.Type.FixedSize, f.Type.FixedSize).Draw(t, "fixed")
		case few:
			return []byte(rapid.SampledFrom([]string{"", "a", "bb", "Zürich"}).Draw(t, "few"))
		}
		return []byte(rapid.StringN(0, 40, 60).Draw(t, "text"))
	}
	switch f.Type.Kind {
	case column.Struct:
		for _, c := range f.Type.Fields {
			cv := drawVector(t, c, n)
			v.Children = append(v.Children, cv)
		}
		return v
	case column.List, column.Map:
		v.Offsets = []int32{0}
		for i := range n {
			k := int32(0)
			if !v.Null(i) {
				k = int32(rapid.IntRange(0, 3).Draw(t, "entries"))
			}
			v.Offsets = append(v.Offsets, v.Offsets[i]+k)
		}
		for _, c := range f.Type.Fields {
			v.Children = append(v.Children, drawVector(t, c, int(v.Offsets[n])))
		}
		return v
	}
	for i := range n {
		null := v.Null(i)
		switch formOf(f.Type) {
		case formBool:
			v.Bools = append(v.Bools, !null && num(0, 1) == 1)
		case formI32:
			x := num(math.MinInt32, math.MaxInt32)
			if null {
				x = 0
			}
			v.I32 = append(v.I32, int32(x))
		case formI64:
			lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
			if f.Type.Kind == column.Decimal {
				hi = int64(math.Pow10(f.Type.Precision)) - 1
				lo = -hi
			}
			x := num(lo, hi)
			if null {
				x = 0
			}
			v.I64 = append(v.I64, x)
		case formF32:
			x := rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 1.5, -3, float32(math.Inf(1)), float32(math.NaN()), 1e-40}).Draw(t, "f32")
			if null {
				x = 0
			}
			v.F32 = append(v.F32, x)
		case formF64:
			x := rapid.Float64().Draw(t, "f64")
			if null {
				x = 0
			}
			v.F64 = append(v.F64, x)
		case formDec:
			x := column.Int128{Hi: num(-1<<40, 1<<40), Lo: rapid.Uint64().Draw(t, "lo")}
			if f.Type.Precision == 19 {
				x = column.Int128From(num(math.MinInt64, math.MaxInt64))
			}
			if null {
				x = column.Int128{}
			}
			v.Dec = append(v.Dec, x)
		case formStr:
			v.Str.Append(text(i))
		}
	}
	if formOf(f.Type) == formStr {
		if len(v.Str.Offsets) == 0 {
			v.Str.Offsets = []uint32{0}
		}
		if rapid.Bool().Draw(t, "dictionary") && n > v.NullCount() {
			toDictionary(v)
		}
	}
	return v
}

// toDictionary turns the text of a vector into codes.
func toDictionary(v *column.Vector) {
	d := &column.Dictionary{}
	codes := map[string]uint32{}
	for i := range v.Len {
		if v.Null(i) {
			v.Codes = append(v.Codes, 0)
			continue
		}
		s := string(v.Str.At(i))
		c, ok := codes[s]
		if !ok {
			c = uint32(len(codes))
			codes[s] = c
			d.Append([]byte(s))
		}
		v.Codes = append(v.Codes, c)
	}
	v.Dict, v.Str = d, column.Strings{}
}

func drawBatch(t *rapid.T, s *column.Schema, n int) *column.Batch {
	b := &column.Batch{Schema: s, Len: n}
	for _, f := range s.Fields {
		b.Cols = append(b.Cols, drawVector(t, f, n))
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &column.Schema{}
		for i := range rapid.IntRange(1, 4).Draw(t, "columns") {
			s.Fields = append(s.Fields, column.Field{Name: fmt.Sprintf("c%d", i), Type: drawType(t, 3), Nullable: rapid.Bool().Draw(t, "nullable")})
		}
		var bs []*column.Batch
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			bs = append(bs, drawBatch(t, s, rapid.IntRange(0, 40).Draw(t, "rows")))
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, WriterOptions{Schema: s, Codec: rapid.SampledFrom([]Codec{Snappy, None, Gzip, Zstd}).Draw(t, "codec"),
			RowGroupRows: rapid.IntRange(1, 60).Draw(t, "row group"), PageRows: rapid.IntRange(1, 20).Draw(t, "page")})
		if err != nil {
			t.Fatal(err)
		}
		rows := int64(0)
		for _, b := range bs {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
			rows += int64(b.Len)
		}
		sum, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		if sum.Rows != rows || sum.Bytes != int64(out.Len()) || w.BytesWritten() != sum.Bytes {
			t.Fatalf("summary %+v, want %d rows, %d bytes", sum, rows, out.Len())
		}
		x, err := openBytes(out.Bytes(), "f")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, x.Schema()); d != "" {
			t.Fatal(d)
		}
		got, err := readAll(x, nil, rapid.IntRange(1, 30).Draw(t, "batch"))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range got {
			if err := wellFormed(b); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(jsonRows(bs), jsonRows(got)); d != "" {
			t.Fatal(d)
		}
	})
}

// wellFormed checks column's invariant I1 and the lengths of children.
func wellFormed(b *column.Batch) error {
	for i, v := range b.Cols {
		if v.Len != b.Len {
			return fmt.Errorf("column %d: %d rows of %d", i, v.Len, b.Len)
		}
		if err := wellFormedVector(v); err != nil {
			return fmt.Errorf("column %s: %w", b.Schema.Fields[i].Name, err)
		}
	}
	return nil
}

func wellFormedVector(v *column.Vector) error {
	want := func(n int, what string) error {
		if n != v.Len {
			return fmt.Errorf("%s: %d %s for %d rows", v.Type, n, what, v.Len)
		}
		return nil
	}
	if v.Valid != nil && len(v.Valid) < (v.Len+63)/64 {
		return fmt.Errorf("%s: bitmap of %d words for %d rows", v.Type, len(v.Valid), v.Len)
	}
	switch v.Type.Kind {
	case column.Struct:
		for _, c := range v.Children {
			if err := want(c.Len, "child rows"); err != nil {
				return err
			}
			if err := wellFormedVector(c); err != nil {
				return err
			}
		}
		return nil
	case column.List, column.Map:
		if err := want(len(v.Offsets)-1, "offsets"); err != nil {
			return err
		}
		for i := range v.Len {
			if v.Offsets[i+1] < v.Offsets[i] || v.Null(i) && v.Offsets[i+1] != v.Offsets[i] {
				return fmt.Errorf("%s: offsets %d", v.Type, v.Offsets)
			}
		}
		for _, c := range v.Children {
			if int(v.Offsets[v.Len]) > c.Len {
				return fmt.Errorf("%s: offsets to %d of %d", v.Type, v.Offsets[v.Len], c.Len)
			}
			if err := wellFormedVector(c); err != nil {
				return err
			}
		}
		return nil
	}
	switch formOf(v.Type) {
	case formBool:
		return want(len(v.Bools), "values")
	case formI32:
		return want(len(v.I32), "values")
	case formI64:
		return want(len(v.I64), "values")
	case formF32:
		return want(len(v.F32), "values")
	case formF64:
		return want(len(v.F64), "values")
	case formDec:
		return want(len(v.Dec), "values")
	}
	if v.Dict == nil {
		return want(v.Str.Len(), "strings")
	}
	for i, c := range v.Codes {
		if int(c) >= v.Dict.Len() {
			return fmt.Errorf("code %d of row %d is outside a dictionary of %d", c, i, v.Dict.Len())
		}
	}
	return want(len(v.Codes), "codes")
}
