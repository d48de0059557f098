package column

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
)

// The bytes of keys. A null or the end of a list is below every value; inside strings a zero byte
// is followed by escapedZero, so that the two zeros that end a string are below every longer string.
const (
	keyNull     = 0x00
	keyEnd      = 0x00 // of a list or map; an element begins with keyMore
	keyPresent  = 0x01
	keyMore     = 0x01
	escapedZero = 0xFF
)

// AppendKey appends the order-preserving key of row i: comparing the bytes of two keys of one column
// compares the values (I7). No key is a prefix of another, so that keys of several columns may be
// appended one after the other and compare like the rows.
func AppendKey(dst []byte, v *Vector, i int) []byte {
	if v.Null(i) {
		return append(dst, keyNull)
	}
	dst = append(dst, keyPresent)
	switch v.Type.Kind {
	case Bool:
		if v.Bools[i] {
			return append(dst, 1)
		}
		return append(dst, 0)
	case Int32, Date:
		return binary.BigEndian.AppendUint32(dst, orderInt32(v.I32[i]))
	case Int64, Time, Timestamp, TimestampMilli:
		return binary.BigEndian.AppendUint64(dst, orderInt64(v.I64[i]))
	case Float32:
		return binary.BigEndian.AppendUint32(dst, orderFloat32(v.F32[i]))
	case Float64:
		return binary.BigEndian.AppendUint64(dst, orderFloat64(v.F64[i]))
	case Decimal:
		if !v.Type.WideDecimal() {
			return binary.BigEndian.AppendUint64(dst, orderInt64(v.I64[i]))
		}
		dst = binary.BigEndian.AppendUint64(dst, orderInt64(v.Dec[i].Hi))
		return binary.BigEndian.AppendUint64(dst, v.Dec[i].Lo)
	case String, Binary:
		return appendKeyBytes(dst, v.Bytes(i))
	case List, Map:
		for k := int(v.Offsets[i]); k < int(v.Offsets[i+1]); k++ {
			dst = append(dst, keyMore)
			for _, c := range v.Children {
				dst = AppendKey(dst, c, k)
			}
		}
		return append(dst, keyEnd)
	case Struct:
		for _, c := range v.Children {
			dst = AppendKey(dst, c, i)
		}
	}
	return dst
}

func appendKeyBytes(dst, s []byte) []byte {
	for {
		z := bytes.IndexByte(s, 0)
		if z < 0 {
			dst = append(dst, s...)
			return append(dst, 0, 0)
		}
		dst = append(dst, s[:z+1]...)
		dst = append(dst, escapedZero)
		s = s[z+1:]
	}
}

// The order functions map values to unsigned integers of the same order.

func orderInt32(x int32) uint32 { return uint32(x) ^ 1<<31 }
func orderInt64(x int64) uint64 { return uint64(x) ^ 1<<63 }

func orderFloat32(f float32) uint32 {
	switch {
	case f != f:
		return math.MaxUint32
	case f == 0:
		return 1 << 31 // also for -0
	}
	b := math.Float32bits(f)
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

func orderFloat64(f float64) uint64 {
	switch {
	case f != f:
		return math.MaxUint64
	case f == 0:
		return 1 << 63
	}
	b := math.Float64bits(f)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// Compare returns the order (I7) of row i of a and row j of b, vectors of one type: -1, 0 or 1.
func Compare(a *Vector, i int, b *Vector, j int) int {
	if an, bn := a.Null(i), b.Null(j); an || bn {
		switch {
		case an && bn:
			return 0
		case an:
			return -1
		}
		return 1
	}
	switch a.Type.Kind {
	case Bool:
		switch x, y := a.Bools[i], b.Bools[j]; {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case Int32, Date:
		return cmp.Compare(a.I32[i], b.I32[j])
	case Int64, Time, Timestamp, TimestampMilli:
		return cmp.Compare(a.I64[i], b.I64[j])
	case Float32:
		return cmp.Compare(orderFloat32(a.F32[i]), orderFloat32(b.F32[j]))
	case Float64:
		return cmp.Compare(orderFloat64(a.F64[i]), orderFloat64(b.F64[j]))
	case Decimal:
		if a.Type.WideDecimal() {
			return a.Dec[i].Cmp(b.Dec[j])
		}
		return cmp.Compare(a.I64[i], b.I64[j])
	case String, Binary:
		if a.Dict != nil && a.Dict == b.Dict && a.Codes[i] == b.Codes[j] {
			return 0
		}
		return bytes.Compare(a.Bytes(i), b.Bytes(j))
	case List, Map:
		return compareLists(a, i, b, j)
	case Struct:
		for k := range a.Children {
			if c := Compare(a.Children[k], i, b.Children[k], j); c != 0 {
				return c
			}
		}
	}
	return 0
}

func compareLists(a *Vector, i int, b *Vector, j int) int {
	x, xEnd := int(a.Offsets[i]), int(a.Offsets[i+1])
	y, yEnd := int(b.Offsets[j]), int(b.Offsets[j+1])
	for ; x < xEnd && y < yEnd; x, y = x+1, y+1 {
		for k := range a.Children {
			if c := Compare(a.Children[k], x, b.Children[k], y); c != 0 {
				return c
			}
		}
	}
	return cmp.Compare(xEnd-x, yEnd-y)
}
