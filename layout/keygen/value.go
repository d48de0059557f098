package keygen

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/shoaldb/shoal/layout/column"
)

// appendValue appends the text that a value has in record keys and partition paths: dates in ISO
// form, timestamps as the number that is stored.
func appendValue(dst []byte, v *column.Vector, i int) []byte {
	switch v.Type.Kind {
	case column.Bool:
		return strconv.AppendBool(dst, v.Bools[i])
	case column.Int32:
		return strconv.AppendInt(dst, int64(v.I32[i]), 10)
	case column.Float32:
		return appendFloat(dst, float64(v.F32[i]), 32)
	case column.Float64:
		return appendFloat(dst, v.F64[i], 64)
	case column.Decimal:
		return column.AppendDecimal(dst, v.Decimal(i), v.Type.Scale)
	case column.String, column.Binary:
		return append(dst, v.Bytes(i)...)
	case column.Date:
		return time.Unix(int64(v.I32[i])*86400, 0).UTC().AppendFormat(dst, "2006-01-02")
	}
	return strconv.AppendInt(dst, v.I64[i], 10)
}

// appendFloat writes a float as Java does: at least one digit after the point, and an exponent
// outside 1e-3..1e7.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 0):
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-3 || a >= 1e7) {
		s := strconv.FormatFloat(f, 'E', -1, bits)
		mant, exp, _ := cutByte(s, 'E')
		dst = append(dst, mant...)
		if !hasByte(mant, '.') {
			dst = append(dst, ".0"...)
		}
		n, _ := strconv.Atoi(exp)
		return strconv.AppendInt(append(dst, 'E'), int64(n), 10)
	}
	s := strconv.FormatFloat(f, 'f', -1, bits)
	dst = append(dst, s...)
	if !hasByte(s, '.') {
		dst = append(dst, ".0"...)
	}
	return dst
}

func cutByte(s string, c byte) (before, after string, found bool) {
	for i := range len(s) {
		if s[i] == c {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func hasByte(s string, c byte) bool {
	_, _, ok := cutByte(s, c)
	return ok
}

// appendRaw appends bytes that tell a row's value apart from every other value of its column.
func appendRaw(dst []byte, v *column.Vector, i int) []byte {
	if v.Null(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch {
	case v.Dict != nil:
		return binary.LittleEndian.AppendUint32(dst, v.Codes[i])
	case v.Bools != nil:
		if v.Bools[i] {
			return append(dst, 1)
		}
		return append(dst, 0)
	case v.I32 != nil:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.I32[i]))
	case v.I64 != nil:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.I64[i]))
	case v.F32 != nil:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.F32[i]))
	case v.F64 != nil:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.F64[i]))
	case v.Dec != nil:
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.Dec[i].Hi))
		return binary.LittleEndian.AppendUint64(dst, v.Dec[i].Lo)
	}
	b := v.Bytes(i)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}
