package column

import (
	"fmt"
	"math"
)

// Concat returns the rows of all vectors, which must have type t (names and nullability of children
// aside). Strings with dictionaries get one merged dictionary; they become plain when one of the
// vectors is plain, or when the merged dictionary would have more than smallDictionary entries and
// more than half as many entries as there are rows. Plain strings that exceed MaxStringBytes
// together are given a dictionary after all; if that is too large as well, Concat panics.
func Concat(t Type, vs []*Vector) *Vector {
	n := 0
	for _, v := range vs {
		if v.Type.Kind != t.Kind || v.Type.WideDecimal() != t.WideDecimal() {
			panic(fmt.Sprintf("column: concat of %s into %s", v.Type, t))
		}
		n += v.Len
	}
	if len(vs) == 1 && vs[0].Type.Equal(t) {
		return vs[0]
	}
	out := &Vector{Type: t, Len: n, Valid: concatValid(vs, n)}
	switch t.Kind {
	case Bool:
		out.Bools = make([]bool, 0, n)
		for _, v := range vs {
			out.Bools = append(out.Bools, v.Bools[:v.Len]...)
		}
	case Int32, Date:
		out.I32 = make([]int32, 0, n)
		for _, v := range vs {
			out.I32 = append(out.I32, v.I32[:v.Len]...)
		}
	case Float32:
		out.F32 = make([]float32, 0, n)
		for _, v := range vs {
			out.F32 = append(out.F32, v.F32[:v.Len]...)
		}
	case Float64:
		out.F64 = make([]float64, 0, n)
		for _, v := range vs {
			out.F64 = append(out.F64, v.F64[:v.Len]...)
		}
	case Int64, Time, Timestamp, TimestampMilli, Decimal:
		if t.WideDecimal() {
			out.Dec = make([]Int128, 0, n)
			for _, v := range vs {
				out.Dec = append(out.Dec, v.Dec[:v.Len]...)
			}
			break
		}
		out.I64 = make([]int64, 0, n)
		for _, v := range vs {
			out.I64 = append(out.I64, v.I64[:v.Len]...)
		}
	case String, Binary:
		concatStrings(out, vs)
	case List, Map:
		concatLists(out, vs)
	case Struct:
		out.Children = make([]*Vector, len(t.Fields))
		parts := make([]*Vector, len(vs))
		for j, f := range t.Fields {
			for k, v := range vs {
				parts[k] = v.Children[j]
			}
			out.Children[j] = Concat(f.Type, parts)
		}
	default:
		panic(fmt.Sprintf("column: concat of type %s", t))
	}
	return out
}

func concatValid(vs []*Vector, n int) Bitmap {
	nulls := false
	for _, v := range vs {
		nulls = nulls || v.Valid != nil
	}
	if !nulls {
		return nil
	}
	out := make(Bitmap, (n+63)/64+1) // one spare word, so that the loop needs no test for the last
	at := 0
	for _, v := range vs {
		shift := uint(at & 63)
		for w := 0; w*64 < v.Len; w++ {
			word := uint64(math.MaxUint64)
			if v.Valid != nil {
				word = v.Valid[w]
			}
			if rest := v.Len - w*64; rest < 64 {
				word &= 1<<uint(rest) - 1
			}
			k := at>>6 + w
			out[k] |= word << shift
			out[k+1] |= word >> (64 - shift) // a shift by 64 gives zero
		}
		at += v.Len
	}
	return out[:(n+63)/64]
}

// plainBytes is the number of bytes of all values of a string vector when plain.
func plainBytes(v *Vector) int64 {
	if v.Dict == nil {
		if v.Len == 0 {
			return 0
		}
		return int64(v.Str.Offsets[v.Len] - v.Str.Offsets[0])
	}
	var n int64
	for i := 0; i < v.Len; i++ {
		if !v.Null(i) {
			c := v.Codes[i]
			n += int64(v.Dict.Offsets[c+1] - v.Dict.Offsets[c])
		}
	}
	return n
}

// StringBytes is an upper bound of what a String or Binary row set needs of MaxStringBytes when
// the vectors are joined: the bytes of all their values. It is 0 for other kinds.
func StringBytes(vs []*Vector) int64 {
	var n int64
	for _, v := range vs {
		switch v.Type.Kind {
		case String, Binary:
			n += plainBytes(v)
		case List, Map, Struct:
			for _, c := range v.Children {
				n = max(n, StringBytes([]*Vector{c}))
			}
		}
	}
	return n
}

func concatStrings(out *Vector, vs []*Vector) {
	plain := len(vs) == 0
	for _, v := range vs {
		plain = plain || v.Dict == nil && v.Len > 0
	}
	if !plain && concatCodes(out, vs, out.Len/2) {
		return
	}
	total := StringBytes(vs)
	if total > MaxStringBytes {
		concatCodes(out, vs, math.MaxInt)
		return
	}
	s := Strings{Offsets: make([]uint32, 1, out.Len+1), Bytes: make([]byte, 0, total)}
	for _, v := range vs {
		if v.Dict != nil {
			for i := 0; i < v.Len; i++ {
				s.Bytes = append(s.Bytes, v.Bytes(i)...)
				s.Offsets = append(s.Offsets, uint32(len(s.Bytes)))
			}
			continue
		}
		if v.Len == 0 {
			continue
		}
		first := v.Str.Offsets[0]
		shift := uint32(len(s.Bytes)) - first // modulo 2^32
		s.Bytes = append(s.Bytes, v.Str.Bytes[first:v.Str.Offsets[v.Len]]...)
		for _, o := range v.Str.Offsets[1 : v.Len+1] {
			s.Offsets = append(s.Offsets, o+shift)
		}
	}
	out.Str = s
}

// concatCodes joins vectors under one dictionary of the values that rows use. It gives up and
// returns false when that gets more entries than both smallDictionary and limit.
func concatCodes(out *Vector, vs []*Vector, limit int) bool {
	var only *Dictionary
	same := true
	for _, v := range vs {
		if v.Dict == nil {
			same = false
		} else if v.Dict.Len() > 0 { // an empty one belongs to a vector of nulls
			same = same && (only == nil || only == v.Dict)
			only = v.Dict
		}
	}
	codes := make([]uint32, 0, out.Len)
	if same {
		if only == nil {
			only = emptyDictionary
		}
		for _, v := range vs {
			codes = append(codes, v.Codes[:v.Len]...)
		}
		out.Dict, out.Codes = only, codes
		return true
	}
	intern := newInterner(0)
	var m remapper
	for _, v := range vs {
		if v.Dict != nil {
			m.bind(intern, v.Dict)
		}
		for i := 0; i < v.Len; i++ {
			switch {
			case v.Null(i):
				codes = append(codes, 0)
			case v.Dict != nil:
				codes = append(codes, m.one(intern, v.Dict, v.Codes[i]))
			default:
				codes = append(codes, intern.code(v.Str.At(i)))
			}
		}
		if n := intern.values.Len(); n > smallDictionary && n > limit {
			return false
		}
	}
	out.Dict, out.Codes = &Dictionary{intern.values}, codes
	return true
}

func concatLists(out *Vector, vs []*Vector) {
	out.Offsets = make([]int32, 1, out.Len+1)
	total := 0
	parts := make([]*Vector, len(vs))
	out.Children = make([]*Vector, len(out.Type.Fields))
	for _, v := range vs {
		if v.Len == 0 {
			continue
		}
		shift := total - int(v.Offsets[0])
		total += int(v.Offsets[v.Len] - v.Offsets[0])
		if total > math.MaxInt32 {
			panic("column: more than 2^31-1 nested values in one vector")
		}
		for _, o := range v.Offsets[1 : v.Len+1] {
			out.Offsets = append(out.Offsets, int32(int(o)+shift))
		}
	}
	for j, f := range out.Type.Fields {
		for k, v := range vs {
			parts[k] = v.Children[j]
			if v.Len == 0 {
				parts[k] = Slice(parts[k], 0, 0)
			} else if lo, hi := int(v.Offsets[0]), int(v.Offsets[v.Len]); lo > 0 || hi < parts[k].Len {
				parts[k] = Slice(parts[k], lo, hi)
			}
		}
		out.Children[j] = Concat(f.Type, parts)
	}
}

// ConcatBatches returns the rows of all batches, whose columns must be those of s.
func ConcatBatches(s *Schema, bs []*Batch) *Batch {
	out := &Batch{Schema: s, Cols: make([]*Vector, len(s.Fields))}
	for _, b := range bs {
		out.Len += b.Len
	}
	parts := make([]*Vector, len(bs))
	for i, f := range s.Fields {
		for k, b := range bs {
			parts[k] = b.Cols[i]
		}
		out.Cols[i] = Concat(f.Type, parts)
	}
	return out
}

var emptyDictionary = &Dictionary{Strings{Offsets: []uint32{0}}}

// Constant returns n rows of one String or Binary value.
func Constant(t Type, value []byte, n int) *Vector {
	if t.Kind != String && t.Kind != Binary {
		panic(fmt.Sprintf("column: constant of type %s", t))
	}
	checkStringBytes(len(value))
	d := &Dictionary{Strings{Offsets: []uint32{0, uint32(len(value))}, Bytes: append([]byte(nil), value...)}}
	return &Vector{Type: t, Len: n, Dict: d, Codes: make([]uint32, n)}
}

// Nulls returns n null rows. Strings have an empty dictionary.
func Nulls(t Type, n int) *Vector {
	v := &Vector{Type: t, Len: n, Valid: NewBitmap(n)}
	switch t.Kind {
	case Bool:
		v.Bools = make([]bool, n)
	case Int32, Date:
		v.I32 = make([]int32, n)
	case Float32:
		v.F32 = make([]float32, n)
	case Float64:
		v.F64 = make([]float64, n)
	case Int64, Time, Timestamp, TimestampMilli, Decimal:
		if t.WideDecimal() {
			v.Dec = make([]Int128, n)
		} else {
			v.I64 = make([]int64, n)
		}
	case String, Binary:
		v.Dict, v.Codes = emptyDictionary, make([]uint32, n)
	case List, Map:
		v.Offsets = make([]int32, n+1)
		fallthrough
	case Struct:
		rows := n
		if t.Kind != Struct {
			rows = 0
		}
		v.Children = make([]*Vector, len(t.Fields))
		for i, f := range t.Fields {
			v.Children[i] = Nulls(f.Type, rows)
		}
	default:
		panic(fmt.Sprintf("column: nulls of type %s", t))
	}
	if n == 0 {
		v.Valid = nil
	}
	return v
}
