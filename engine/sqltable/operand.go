package sqltable

import (
	"strconv"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/shopspring/decimal"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// exactDouble bounds the whole numbers that a DOUBLE tells apart. Where MySQL compares an integer
// column as DOUBLE, a constant below it compares the same way exactly: the conversion of the
// column keeps the order and moves no value across the constant.
const exactDouble = 1 << 53

// operand converts a constant for comparison with a column, once and as MySQL would for each row;
// false where that cannot be done exactly. The operator may change with it: a DATE is below
// '2024-01-02 12:00:00' if it is at most 2024-01-02.
func operand(ctx *sql.Context, stored column.Type, t sql.Type, c constant, op predicate.Op) (predicate.Value, predicate.Op, bool) {
	switch stored.Kind {
	case column.Bool:
		n, ok := wholeConstant(c)
		if !ok || n != 0 && n != 1 || (op != predicate.Eq && op != predicate.NullSafeEq) {
			return predicate.Value{}, op, false
		}
		return predicate.Value{Kind: column.Bool, I: n}, op, true
	case column.Int32, column.Int64:
		if t.Type() == sqltypes.Year {
			return predicate.Value{}, op, false // two-digit years
		}
		v, ok := numberFor(c, types.IsUnsigned(t), true)
		return v, op, ok
	case column.Decimal:
		if !types.IsNumber(t) || c.isText() || c.isDouble() {
			return predicate.Value{}, op, false
		}
		v, ok := numberFor(c, t.Type() == sqltypes.Uint64, t.Type() == sqltypes.Uint64)
		return v, op, ok
	case column.Float32, column.Float64:
		f, ok := doubleFor(c)
		return predicate.Value{Kind: column.Float64, F: f}, op, ok
	case column.String:
		s, ok := c.v.(string)
		if !ok || !plainText(stored.Kind, t) || !types.IsTextOnly(c.t) {
			return predicate.Value{}, op, false
		}
		return predicate.Value{Kind: column.String, B: []byte(s)}, op, true
	case column.Binary:
		b, ok := c.bytes()
		return predicate.Value{Kind: column.Binary, B: b}, op, ok
	case column.Date:
		m, ok := c.datetime(ctx)
		if !ok {
			return predicate.Value{}, op, false
		}
		return dateOperand(m, op)
	case column.Timestamp, column.TimestampMilli:
		m, ok := c.datetime(ctx)
		return predicate.Value{Kind: column.Timestamp, I: m.UnixMicro()}, op, ok
	case column.Time:
		if !c.isText() && !types.IsTimespan(c.t) {
			return predicate.Value{}, op, false
		}
		s, err := types.Time.ConvertToTimespan(c.v)
		return predicate.Value{Kind: column.Time, I: s.AsMicroseconds()}, op, err == nil
	}
	return predicate.Value{}, op, false
}

// dateOperand compares dates with a point in time.
func dateOperand(m time.Time, op predicate.Op) (predicate.Value, predicate.Op, bool) {
	v := predicate.Value{Kind: column.Date, I: stored(m, column.Date)}
	if m.Equal(m.Truncate(24 * time.Hour)) {
		return v, op, true
	}
	switch op {
	case predicate.Lt, predicate.Le:
		return v, predicate.Le, true
	case predicate.Gt, predicate.Ge:
		return v, predicate.Gt, true
	}
	return v, op, false
}

func (c constant) isText() bool   { return types.IsTextOnly(c.t) }
func (c constant) isDouble() bool { return types.IsFloat(c.t) }

func (c constant) bytes() ([]byte, bool) {
	switch v := c.v.(type) {
	case []byte:
		return v, types.IsBinaryType(c.t)
	case string:
		return []byte(v), types.IsTextOnly(c.t) || types.IsBinaryType(c.t)
	}
	return nil, false
}

func wholeConstant(c constant) (int64, bool) {
	if !types.IsInteger(c.t) && !types.IsBoolean(c.t) {
		return 0, false
	}
	if u, ok := c.v.(uint64); ok {
		return int64(u), u < exactDouble
	}
	return wholeNumber(c.v)
}

// numberFor is a numeric constant for an integer or decimal column. An integer column meets
// constants of the other signedness as DOUBLE, and text as DOUBLE.
func numberFor(c constant, unsigned, integer bool) (predicate.Value, bool) {
	switch v := c.v.(type) {
	case decimal.Decimal:
		if !types.IsDecimal(c.t) {
			return predicate.Value{}, false
		}
		scale := digitsAfterPoint(v)
		d, ok := int128(v, scale)
		return predicate.Value{Kind: column.Decimal, D: d, Scale: scale}, ok && scale <= castFraction
	case float32, float64:
		f := asFloat(v)
		return predicate.Value{Kind: column.Float64, F: f}, integer && f > -exactDouble && f < exactDouble
	case string:
		if !integer || !c.isText() || len(v) == 0 || len(v) > 15 || v[0] == '+' {
			return predicate.Value{}, false
		}
		n, err := strconv.ParseInt(v, 10, 64)
		return predicate.Value{Kind: column.Int64, I: n}, err == nil
	case uint64:
		if !types.IsInteger(c.t) {
			return predicate.Value{}, false
		}
		return predicate.Value{Kind: column.Decimal, D: column.Int128{Lo: v}}, v < exactDouble || unsigned || !integer
	}
	if !types.IsInteger(c.t) && !types.IsBoolean(c.t) {
		return predicate.Value{}, false
	}
	n, ok := wholeNumber(c.v)
	small := n > -exactDouble && n < exactDouble
	return predicate.Value{Kind: column.Int64, I: n}, ok && (small || !integer || types.IsUnsigned(c.t) == unsigned)
}

// digitsAfterPoint is the scale a decimal needs.
func digitsAfterPoint(d decimal.Decimal) int {
	scale := int(max(0, -d.Exponent()))
	for scale > 0 && d.Equal(d.Truncate(int32(scale-1))) {
		scale--
	}
	return scale
}

// doubleFor is a numeric constant for a FLOAT or DOUBLE column.
func doubleFor(c constant) (float64, bool) {
	switch v := c.v.(type) {
	case float32, float64:
		return asFloat(v), true
	case decimal.Decimal:
		return c.double()
	}
	n, ok := wholeConstant(c)
	return float64(n), ok && n > -exactDouble && n < exactDouble
}

func asFloat(v any) float64 {
	if f, ok := v.(float32); ok {
		return float64(f)
	}
	f, _ := v.(float64)
	return f
}
