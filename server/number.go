package server

import (
	"bytes"
	"math"
	"strconv"

	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
)

// PlainNumber writes a floating-point value as MySQL does: with an exponent only from 1e15 on and
// below 1e-15, where the SQL engine begins at 1e6. Other values come back as they are.
func PlainNumber(v sqltypes.Value) sqltypes.Value {
	bits := 64
	switch v.Type() {
	case querypb.Type_FLOAT64:
	case querypb.Type_FLOAT32:
		bits = 32
	default:
		return v
	}
	if bytes.IndexByte(v.Raw(), 'e') < 0 {
		return v
	}
	f, err := strconv.ParseFloat(string(v.Raw()), bits)
	if err != nil || math.IsInf(f, 0) {
		return v
	}
	text := strconv.AppendFloat(nil, f, 'e', -1, bits)
	if a := math.Abs(f); a >= 1e-15 && a < 1e15 {
		text = strconv.AppendFloat(text[:0], f, 'f', -1, bits)
	} else if i := bytes.IndexByte(text, 'e') + 1; i > 0 {
		// 1e+20 and 1e-05 are 1e20 and 1e-5.
		exponent := bytes.TrimLeft(text[i+1:], "0")
		sign := text[i]
		if text = text[:i]; sign == '-' {
			text = append(text, '-')
		}
		text = append(text, exponent...)
	}
	return sqltypes.MakeTrusted(v.Type(), text)
}
