package sqltable

import (
	"fmt"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// An appender stores one non-null value, already converted to the column's MySQL type, in a
// builder of the column's stored type.
type appender func(ctx *sql.Context, b *column.Builder, v any) error

// newAppender makes the appender of a column. The errors it returns are MySQL's for a value that
// the column cannot hold.
func newAppender(c *sql.Column, t column.Type) appender {
	outOfRange := func(v any) error { return sql.ErrValueOutOfRange.New(v, c.Type) }
	mismatch := func(v any) error {
		return fmt.Errorf("%w: column %s of type %s cannot store a %T", engine.ErrBadArgument, c.Name, t, v)
	}
	switch t.Kind {
	case column.Bool:
		return func(_ *sql.Context, b *column.Builder, v any) error {
			n, ok := wholeNumber(v)
			if !ok {
				return mismatch(v)
			}
			if n != 0 && n != 1 {
				return outOfRange(v)
			}
			b.AppendBool(n == 1)
			return nil
		}
	case column.Int32, column.Int64:
		return func(_ *sql.Context, b *column.Builder, v any) error {
			n, ok := wholeNumber(v)
			if !ok {
				return mismatch(v)
			}
			b.AppendInt64(n)
			return nil
		}
	case column.Float32, column.Float64:
		return func(_ *sql.Context, b *column.Builder, v any) error {
			switch f := v.(type) {
			case float32:
				b.AppendFloat64(float64(f))
			case float64:
				b.AppendFloat64(f)
			default:
				return mismatch(v)
			}
			return nil
		}
	case column.Decimal:
		wide := t.WideDecimal()
		return func(_ *sql.Context, b *column.Builder, v any) error {
			var n column.Int128
			switch d := v.(type) {
			case uint64:
				n = column.Int128{Lo: d}
			case string:
				var err error
				if n, err = column.ParseDecimal(d, t.Precision, t.Scale); err != nil {
					return outOfRange(v)
				}
			case decimal.Decimal:
				var ok bool
				if n, ok = int128(d, t.Scale); !ok {
					return outOfRange(v)
				}
			default:
				return mismatch(v)
			}
			if wide {
				b.AppendInt128(n)
			} else {
				b.AppendInt64(int64(n.Lo))
			}
			return nil
		}
	case column.String:
		return textAppender(c, mismatch)
	case column.Binary:
		return func(_ *sql.Context, b *column.Builder, v any) error {
			var p []byte
			switch s := v.(type) {
			case []byte:
				p = s
			case string:
				p = []byte(s)
			default:
				return mismatch(v)
			}
			if t.FixedSize > 0 && len(p) != t.FixedSize {
				return types.ErrLengthBeyondLimit.New(fmt.Sprintf("%x", p), c.Name)
			}
			b.AppendBytes(p)
			return nil
		}
	case column.Date, column.Timestamp, column.TimestampMilli:
		return func(_ *sql.Context, b *column.Builder, v any) error {
			m, ok := v.(time.Time)
			if !ok {
				return mismatch(v)
			}
			if m.Equal(types.ZeroTime) {
				return types.ErrConvertingToTime.New("0000-00-00 00:00:00")
			}
			b.AppendInt64(stored(m, t.Kind))
			return nil
		}
	case column.Time:
		return func(_ *sql.Context, b *column.Builder, v any) error {
			s, ok := v.(types.Timespan)
			if !ok {
				return mismatch(v)
			}
			if s < 0 || s.AsMicroseconds() >= secondsPerDay*1e6 {
				return outOfRange(s.String()) // a time of day, not MySQL's ±838 hours
			}
			b.AppendInt64(s.AsMicroseconds())
			return nil
		}
	default:
		return func(ctx *sql.Context, b *column.Builder, v any) error {
			text, err := jsonText(ctx, v)
			if err != nil {
				return err
			}
			if err := b.AppendJSON(text); err != nil {
				return fmt.Errorf("%w: column %s of type %s: %w", engine.ErrBadArgument, c.Name, t, err)
			}
			return nil
		}
	}
}

// textAppender stores strings, and ENUM, SET and JSON as their text.
func textAppender(c *sql.Column, mismatch func(any) error) appender {
	switch t := c.Type.(type) {
	case sql.EnumType:
		return func(_ *sql.Context, b *column.Builder, v any) error {
			i, ok := v.(uint16)
			if !ok {
				return mismatch(v)
			}
			s, ok := t.At(int(i))
			if !ok {
				return types.ErrConvertingToEnum.New(v)
			}
			b.AppendBytes([]byte(s))
			return nil
		}
	case sql.SetType:
		return func(_ *sql.Context, b *column.Builder, v any) error {
			bits, ok := v.(uint64)
			if !ok {
				return mismatch(v)
			}
			s, err := t.BitsToString(bits)
			if err != nil {
				return err
			}
			b.AppendBytes([]byte(s))
			return nil
		}
	}
	if types.IsJSON(c.Type) {
		return func(ctx *sql.Context, b *column.Builder, v any) error {
			text, err := jsonText(ctx, v)
			if err != nil {
				return err
			}
			b.AppendBytes(text)
			return nil
		}
	}
	return func(_ *sql.Context, b *column.Builder, v any) error {
		switch s := v.(type) {
		case string:
			b.AppendBytes([]byte(s))
		case []byte:
			b.AppendBytes(s)
		default:
			return mismatch(v)
		}
		return nil
	}
}

// jsonText is a JSON value as MySQL prints it.
func jsonText(ctx *sql.Context, v any) ([]byte, error) {
	switch j := v.(type) {
	case sql.JSONWrapper:
		return types.JsonToMySqlBytes(ctx, j)
	case string:
		return []byte(j), nil
	}
	return types.MarshallJsonValue(v)
}

// stored is a point in time as the given kind stores it.
func stored(m time.Time, k column.Kind) int64 {
	switch k {
	case column.Date:
		s := m.Unix()
		if s < 0 {
			s -= secondsPerDay - 1
		}
		return s / secondsPerDay
	case column.TimestampMilli:
		return m.UnixMilli()
	default:
		return m.UnixMicro()
	}
}

// wholeNumber widens any of the integer values of MySQL types but BIGINT UNSIGNED.
func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int8:
		return int64(n), true
	case int16:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case uint8:
		return int64(n), true
	case uint16:
		return int64(n), true
	case uint32:
		return int64(n), true
	case bool:
		if n {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}
