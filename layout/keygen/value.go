package keygen

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

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
		return column.AppendDate(dst, v.I32[i])
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
		mantissa, exp, _ := strings.Cut(s, "E")
		dst = append(dst, mantissa...)
		if !strings.Contains(mantissa, ".") {
			dst = append(dst, ".0"...)
		}
		n, _ := strconv.Atoi(exp)
		return strconv.AppendInt(append(dst, 'E'), int64(n), 10)
	}
	s := strconv.FormatFloat(f, 'f', -1, bits)
	dst = append(dst, s...)
	if !strings.Contains(s, ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendRaw appends bytes that tell a row's value apart from every other value of its column, also
// from those that are equal but have another text: 0 and -0.
func appendRaw(dst []byte, v *column.Vector, i int) []byte {
	if !v.Null(i) {
		switch {
		case v.Dict != nil:
			return binary.LittleEndian.AppendUint32(append(dst, 1), v.Codes[i])
		case v.Type.Kind == column.Float32:
			return binary.LittleEndian.AppendUint32(append(dst, 1), math.Float32bits(v.F32[i]))
		case v.Type.Kind == column.Float64:
			return binary.LittleEndian.AppendUint64(append(dst, 1), math.Float64bits(v.F64[i]))
		}
	}
	return column.AppendKey(dst, v, i)
}
