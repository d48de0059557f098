package column

import (
	"fmt"
	"math"
)

// MaxStringBytes is the most bytes that the values of one vector may have together, or the entries
// of one dictionary. Building a larger vector panics; callers that join vectors ask StringBytes first.
const MaxStringBytes = math.MaxUint32

func checkStringBytes(n int) {
	if n > MaxStringBytes {
		panic(fmt.Sprintf("column: %d bytes of strings in one vector, the limit is %d", n, MaxStringBytes))
	}
}

// Gather returns the given rows of a vector, in that order; rows may repeat. Dictionary strings
// stay codes of the same dictionary.
func Gather(v *Vector, rows []uint32) *Vector {
	out := &Vector{Type: v.Type, Len: len(rows), Valid: gatherValid(v.Valid, rows)}
	switch v.Type.Kind {
	case Bool:
		out.Bools = gather(v.Bools, rows)
	case Int32, Date:
		out.I32 = gather(v.I32, rows)
	case Int64, Time, Timestamp, TimestampMilli:
		out.I64 = gather(v.I64, rows)
	case Float32:
		out.F32 = gather(v.F32, rows)
	case Float64:
		out.F64 = gather(v.F64, rows)
	case Decimal:
		if v.Type.WideDecimal() {
			out.Dec = gather(v.Dec, rows)
		} else {
			out.I64 = gather(v.I64, rows)
		}
	case String, Binary:
		if v.Dict != nil {
			out.Dict, out.Codes = v.Dict, gather(v.Codes, rows)
		} else {
			out.Str = gatherStrings(&v.Str, rows)
		}
	case List, Map:
		var children []uint32
		out.Offsets, children = gatherLists(v.Offsets, rows)
		out.Children = make([]*Vector, len(v.Children))
		for i, c := range v.Children {
			out.Children[i] = Gather(c, children)
		}
	case Struct:
		out.Children = make([]*Vector, len(v.Children))
		for i, c := range v.Children {
			out.Children[i] = Gather(c, rows)
		}
	}
	return out
}

func gather[T any](src []T, rows []uint32) []T {
	dst := make([]T, len(rows))
	for i, r := range rows {
		dst[i] = src[r]
	}
	return dst
}

// gatherValid returns nil when none of the rows is null.
func gatherValid(valid Bitmap, rows []uint32) Bitmap {
	if valid == nil {
		return nil
	}
	out, all := NewBitmap(len(rows)), true
	for w := range out {
		part := rows[w*64 : min(len(rows), w*64+64)]
		var word uint64
		for i, r := range part {
			word |= valid[r>>6] >> (r & 63) & 1 << uint(i)
		}
		out[w] = word
		all = all && word == math.MaxUint64>>(64-uint(len(part)))
	}
	if all {
		return nil
	}
	return out
}

func gatherStrings(s *Strings, rows []uint32) Strings {
	total := 0
	offsets := make([]uint32, len(rows)+1)
	for i, r := range rows {
		total += int(s.Offsets[r+1] - s.Offsets[r])
		offsets[i+1] = uint32(total)
	}
	checkStringBytes(total)
	data := make([]byte, total)
	for i, r := range rows {
		copy(data[offsets[i]:], s.Bytes[s.Offsets[r]:s.Offsets[r+1]])
	}
	return Strings{Offsets: offsets, Bytes: data}
}

// gatherLists returns the offsets of the gathered lists and the child rows they consist of.
func gatherLists(offsets []int32, rows []uint32) ([]int32, []uint32) {
	out := make([]int32, len(rows)+1)
	total := 0
	for i, r := range rows {
		total += int(offsets[r+1] - offsets[r])
		if total > math.MaxInt32 {
			panic("column: more than 2^31-1 nested values in one vector")
		}
		out[i+1] = int32(total)
	}
	children := make([]uint32, 0, total)
	for _, r := range rows {
		for k := offsets[r]; k < offsets[r+1]; k++ {
			children = append(children, uint32(k))
		}
	}
	return out, children
}

// Slice returns rows lo to hi-1. It shares memory with v: only a bitmap that does not begin on a
// word is copied. Offsets are kept as they are, so that the first need not be zero (I6).
func Slice(v *Vector, lo, hi int) *Vector {
	out := &Vector{Type: v.Type, Len: hi - lo, Valid: sliceValid(v.Valid, lo, hi)}
	switch v.Type.Kind {
	case Bool:
		out.Bools = v.Bools[lo:hi:hi]
	case Int32, Date:
		out.I32 = v.I32[lo:hi:hi]
	case Int64, Time, Timestamp, TimestampMilli:
		out.I64 = v.I64[lo:hi:hi]
	case Float32:
		out.F32 = v.F32[lo:hi:hi]
	case Float64:
		out.F64 = v.F64[lo:hi:hi]
	case Decimal:
		if v.Type.WideDecimal() {
			out.Dec = v.Dec[lo:hi:hi]
		} else {
			out.I64 = v.I64[lo:hi:hi]
		}
	case String, Binary:
		if v.Dict != nil {
			out.Dict, out.Codes = v.Dict, v.Codes[lo:hi:hi]
		} else {
			out.Str = Strings{Offsets: v.Str.Offsets[lo : hi+1 : hi+1], Bytes: v.Str.Bytes}
		}
	case List, Map:
		out.Offsets, out.Children = v.Offsets[lo:hi+1:hi+1], v.Children
	case Struct:
		out.Children = make([]*Vector, len(v.Children))
		for i, c := range v.Children {
			out.Children[i] = Slice(c, lo, hi)
		}
	}
	return out
}

func sliceValid(valid Bitmap, lo, hi int) Bitmap {
	if valid == nil || lo == hi {
		return nil
	}
	if lo&63 == 0 {
		return valid[lo>>6 : (hi+63)>>6]
	}
	out := NewBitmap(hi - lo)
	shift := uint(lo & 63)
	for w := range out {
		k := lo>>6 + w
		out[w] = valid[k] >> shift
		if k+1 < len(valid) {
			out[w] |= valid[k+1] << (64 - shift)
		}
	}
	return out
}

// Gather returns the given rows of the batch, in that order.
func (b *Batch) Gather(rows []uint32) *Batch {
	out := &Batch{Schema: b.Schema, Cols: make([]*Vector, len(b.Cols)), Len: len(rows)}
	for i, c := range b.Cols {
		out.Cols[i] = Gather(c, rows)
	}
	return out
}

// Slice returns rows lo to hi-1 of the batch, sharing its memory.
func (b *Batch) Slice(lo, hi int) *Batch {
	out := &Batch{Schema: b.Schema, Cols: make([]*Vector, len(b.Cols)), Len: hi - lo}
	for i, c := range b.Cols {
		out.Cols[i] = Slice(c, lo, hi)
	}
	return out
}

// Select returns the named columns of the batch, in the order given. It fails on an unknown name.
func (b *Batch) Select(names []string) (*Batch, error) {
	out := &Batch{Schema: &Schema{Fields: make([]Field, len(names))}, Cols: make([]*Vector, len(names)), Len: b.Len}
	for i, n := range names {
		k := b.Schema.Index(n)
		if k < 0 {
			return nil, fmt.Errorf("no column %q", n)
		}
		out.Schema.Fields[i], out.Cols[i] = b.Schema.Fields[k], b.Cols[k]
	}
	return out, nil
}
