package column

import (
	"fmt"
	"math"

	"pgregory.net/rapid"
)

// scalarTypes are one type of each scalar kind, decimals in both forms.
var scalarTypes = []Type{
	{Kind: Bool}, {Kind: Int32}, {Kind: Int64}, {Kind: Float32}, {Kind: Float64},
	{Kind: Decimal, Precision: 9, Scale: 2}, {Kind: Decimal, Precision: 38, Scale: 10},
	{Kind: String}, {Kind: Binary}, {Kind: Date}, {Kind: Time}, {Kind: Timestamp}, {Kind: TimestampMilli},
}

func drawType(t *rapid.T, depth int) Type {
	k := rapid.IntRange(0, len(scalarTypes)+2).Draw(t, "type")
	if k < len(scalarTypes) || depth == 0 {
		return scalarTypes[k%len(scalarTypes)]
	}
	switch k - len(scalarTypes) {
	case 0:
		return Type{Kind: List, Fields: []Field{{Name: "element", Type: drawType(t, depth-1), Nullable: true}}}
	case 1:
		return Type{Kind: Map, Fields: []Field{{Name: "key", Type: Type{Kind: String}},
			{Name: "value", Type: drawType(t, depth-1), Nullable: true}}}
	}
	n := rapid.IntRange(1, 3).Draw(t, "fields")
	s := Type{Kind: Struct}
	for i := 0; i < n; i++ {
		s.Fields = append(s.Fields, Field{Name: fmt.Sprintf("f%d", i), Type: drawType(t, depth-1), Nullable: true})
	}
	return s
}

// A datum is a value in the simplest form: nil, bool, int64, float64, Int128, string, []datum (list
// and struct), [][2]datum (map).
type datum any

var (
	smallInts = rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64())
	floats    = rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 1.5, math.NaN(), math.Inf(1), math.Inf(-1)}), rapid.Float64())
	texts     = rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "a\x00", "a\x00\x00b", "b", "https://example.org/a", "https://example.org/b", "https://example.org/abcdefghi"}),
		rapid.StringMatching(`[a-c]{0,12}`), rapid.String())
)

func drawDatum(t *rapid.T, typ Type) datum {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return nil
	}
	return drawPresent(t, typ)
}

func drawPresent(t *rapid.T, typ Type) datum {
	switch typ.Kind {
	case Bool:
		return rapid.Bool().Draw(t, "bool")
	case Int32, Date:
		return int64(int32(smallInts.Draw(t, "int")))
	case Time:
		n := smallInts.Draw(t, "time") % 86400e6
		return max(n, -n)
	case Int64, Timestamp, TimestampMilli:
		n := smallInts.Draw(t, "int")
		if typ.Kind == TimestampMilli { // ms beyond what µs can say have no text
			n /= 1000
		}
		return n
	case Float32:
		return float64(float32(floats.Draw(t, "float")))
	case Float64:
		return floats.Draw(t, "float")
	case Decimal:
		if typ.WideDecimal() {
			return Int128{Hi: smallInts.Draw(t, "hi") % (1 << 60), Lo: rapid.Uint64().Draw(t, "lo")}
		}
		return Int128From(smallInts.Draw(t, "int") % 1e9)
	case String:
		return texts.Draw(t, "text")
	case Binary:
		return string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes"))
	case List:
		out := []datum{}
		for n := rapid.IntRange(0, 3).Draw(t, "len"); n > 0; n-- {
			out = append(out, drawDatum(t, typ.Fields[0].Type))
		}
		return out
	case Map:
		out := [][2]datum{}
		for n := rapid.IntRange(0, 3).Draw(t, "len"); n > 0; n-- {
			out = append(out, [2]datum{drawPresent(t, typ.Fields[0].Type), drawDatum(t, typ.Fields[1].Type)})
		}
		return out
	case Struct:
		out := []datum{}
		for _, f := range typ.Fields {
			out = append(out, drawDatum(t, f.Type))
		}
		return out
	}
	panic("no such kind")
}

func appendDatum(b *Builder, d datum) {
	switch x := d.(type) {
	case nil:
		b.AppendNull()
	case bool:
		b.AppendBool(x)
	case int64:
		b.AppendInt64(x)
	case float64:
		b.AppendFloat64(x)
	case Int128:
		b.AppendInt128(x)
	case string:
		b.AppendBytes([]byte(x))
	case []datum:
		if b.v.Type.Kind == Struct {
			for i, c := range b.children {
				appendDatum(c, x[i])
			}
			b.present()
			return
		}
		for _, e := range x {
			appendDatum(b.children[0], e)
		}
		b.closeEntry()
	case [][2]datum:
		for _, e := range x {
			appendDatum(b.children[0], e[0])
			appendDatum(b.children[1], e[1])
		}
		b.closeEntry()
	}
}

// build makes a vector of the values; strings get a dictionary when asked for.
func build(typ Type, data []datum, dict bool) *Vector {
	b := NewBuilder(typ, len(data))
	if dict && (typ.Kind == String || typ.Kind == Binary) {
		b = NewDictBuilder(typ, len(data))
	}
	for _, d := range data {
		appendDatum(b, d)
	}
	return b.Finish()
}

// read is the inverse of build.
func read(v *Vector) []datum {
	out := make([]datum, v.Len)
	for i := range out {
		out[i] = readRow(v, i)
	}
	return out
}

func readRow(v *Vector, i int) datum {
	if v.Null(i) {
		return nil
	}
	switch v.Type.Kind {
	case Bool:
		return v.Bools[i]
	case Int32, Date:
		return int64(v.I32[i])
	case Int64, Time, Timestamp, TimestampMilli:
		return v.I64[i]
	case Float32:
		return float64(v.F32[i])
	case Float64:
		return v.F64[i]
	case Decimal:
		return v.Decimal(i)
	case String, Binary:
		return string(v.Bytes(i))
	case List:
		out := []datum{}
		for k := v.Offsets[i]; k < v.Offsets[i+1]; k++ {
			out = append(out, readRow(v.Children[0], int(k)))
		}
		return out
	case Map:
		out := [][2]datum{}
		for k := v.Offsets[i]; k < v.Offsets[i+1]; k++ {
			out = append(out, [2]datum{readRow(v.Children[0], int(k)), readRow(v.Children[1], int(k))})
		}
		return out
	case Struct:
		out := []datum{}
		for _, c := range v.Children {
			out = append(out, readRow(c, i))
		}
		return out
	}
	panic("no such kind")
}

// order compares two values of one type as I7 says, without the code under test.
func order(a, b datum) int {
	if a == nil || b == nil {
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return -1
		}
		return 1
	}
	lt := func(less, equal bool) int {
		switch {
		case equal:
			return 0
		case less:
			return -1
		}
		return 1
	}
	switch x := a.(type) {
	case bool:
		return lt(!x, x == b.(bool))
	case int64:
		return lt(x < b.(int64), x == b.(int64))
	case float64:
		y := b.(float64)
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return 0
		case math.IsNaN(x):
			return 1
		case math.IsNaN(y):
			return -1
		}
		return lt(x < y, x == y)
	case Int128:
		return bigOf(x).Cmp(bigOf(b.(Int128)))
	case string:
		return lt(x < b.(string), x == b.(string))
	case []datum:
		y := b.([]datum)
		for i := range x {
			if i == len(y) {
				return 1
			}
			if c := order(x[i], y[i]); c != 0 {
				return c
			}
		}
		return lt(len(x) < len(y), len(x) == len(y))
	case [][2]datum:
		y := b.([][2]datum)
		for i := range x {
			if i == len(y) {
				return 1
			}
			if c := order(x[i][0], y[i][0]); c != 0 {
				return c
			}
			if c := order(x[i][1], y[i][1]); c != 0 {
				return c
			}
		}
		return lt(len(x) < len(y), len(x) == len(y))
	}
	panic("no such datum")
}

func sameData(a, b []datum) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if order(a[i], b[i]) != 0 {
			return false
		}
	}
	return true
}
