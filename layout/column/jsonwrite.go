package column

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// secondsPerDay is the length of every day: time zones and leap seconds do not occur.
const secondsPerDay = 24 * 60 * 60

// AppendJSON appends row i as JSON text: decimals as numbers in exact text, dates as "2006-01-02",
// timestamps of either unit as "2006-01-02 15:04:05.000000", times as "15:04:05.000000", binaries as
// lower-case hex, maps as objects with their keys as text, structs as objects, NaN and infinities as
// "NaN", "Infinity" and "-Infinity". Bytes of a string that are not UTF-8 become U+FFFD.
// Builder.AppendJSON reads the text back.
func AppendJSON(dst []byte, v *Vector, i int) []byte {
	if v.Null(i) {
		return append(dst, "null"...)
	}
	switch v.Type.Kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bools[i])
	case Int32:
		return strconv.AppendInt(dst, int64(v.I32[i]), 10)
	case Int64:
		return strconv.AppendInt(dst, v.I64[i], 10)
	case Float32:
		return appendJSONFloat(dst, float64(v.F32[i]), 32)
	case Float64:
		return appendJSONFloat(dst, v.F64[i], 64)
	case Decimal:
		return AppendDecimal(dst, v.Decimal(i), v.Type.Scale)
	case String:
		return appendJSONString(dst, v.Bytes(i))
	case Binary:
		dst = append(dst, '"')
		for _, c := range v.Bytes(i) {
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
		return append(dst, '"')
	case Date:
		dst = append(dst, '"')
		dst = AppendDate(dst, v.I32[i])
		return append(dst, '"')
	case Time:
		dst = append(dst, '"')
		dst = time.UnixMicro(v.I64[i]).UTC().AppendFormat(dst, "15:04:05.000000")
		return append(dst, '"')
	case Timestamp, TimestampMilli:
		dst = append(dst, '"')
		dst = appendInstant(dst, v.Type.Kind, v.I64[i])
		return append(dst, '"')
	case List:
		dst = append(dst, '[')
		for k := int(v.Offsets[i]); k < int(v.Offsets[i+1]); k++ {
			if k > int(v.Offsets[i]) {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, v.Children[0], k)
		}
		return append(dst, ']')
	case Map:
		dst = append(dst, '{')
		for k := int(v.Offsets[i]); k < int(v.Offsets[i+1]); k++ {
			if k > int(v.Offsets[i]) {
				dst = append(dst, ',')
			}
			dst = appendJSONKey(dst, v.Children[0], k)
			dst = append(dst, ':')
			dst = AppendJSON(dst, v.Children[1], k)
		}
		return append(dst, '}')
	case Struct:
		dst = append(dst, '{')
		for j, f := range v.Type.Fields {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONString(dst, []byte(f.Name))
			dst = append(dst, ':')
			dst = AppendJSON(dst, v.Children[j], i)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// appendJSONKey appends a map key as a string: its JSON text, quoted when that is no string already.
func appendJSONKey(dst []byte, v *Vector, i int) []byte {
	start := len(dst)
	dst = AppendJSON(dst, v, i)
	if dst[start] == '"' {
		return dst
	}
	text := append([]byte(nil), dst[start:]...)
	return appendJSONString(dst[:start], text)
}

// AppendDate appends a Date as 2006-01-02. Years outside 0–9999 have a sign or more digits.
func AppendDate(dst []byte, days int32) []byte {
	return time.Unix(int64(days)*secondsPerDay, 0).UTC().AppendFormat(dst, "2006-01-02")
}

func appendInstant(dst []byte, k Kind, v int64) []byte {
	t := time.UnixMicro(v)
	if k == TimestampMilli {
		t = time.UnixMilli(v)
	}
	return t.UTC().AppendFormat(dst, "2006-01-02 15:04:05.000000")
}

func appendJSONFloat(dst []byte, f float64, bitSize int) []byte {
	switch {
	case f != f:
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bitSize)
}

const hexDigits = "0123456789abcdef"

func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			start = i + 1
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
