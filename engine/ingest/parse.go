package ingest

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shoaldb/shoal/layout/column"
)

// parser appends a field that is not null to a builder of its type. Its errors are reasons: they
// do not repeat the value. After an error the builder is as before.
type parser func(b *column.Builder, s string) error

var (
	errNumber  = errors.New("it is not a number")
	errWhole   = errors.New("it is not a whole number")
	errRange   = errors.New("it is out of range")
	errDecimal = errors.New("it is not a number of so many digits")
	errBool    = errors.New("it is not true or false")
	errDate    = errors.New("it is not like 2006-01-02")
	errTime    = errors.New("it is not like 15:04:05.000000")
	errInstant = errors.New("it is not like 2006-01-02 15:04:05.000000")
	errMillis  = errors.New("it has more than three digits of a second")
	errUTF8    = errors.New("it is not UTF-8")
	errLength  = errors.New("it has another length")
)

// parserOf returns the parser of a type. Spaces around values that are not strings are passed over.
func parserOf(t column.Type) parser {
	switch t.Kind {
	case column.Bool:
		return parseBool
	case column.Int32:
		return func(b *column.Builder, s string) error { return parseInt(b, s, 32) }
	case column.Int64:
		return func(b *column.Builder, s string) error { return parseInt(b, s, 64) }
	case column.Float32:
		return func(b *column.Builder, s string) error { return parseFloat(b, s, 32) }
	case column.Float64:
		return func(b *column.Builder, s string) error { return parseFloat(b, s, 64) }
	case column.Decimal:
		return func(b *column.Builder, s string) error {
			x, err := column.ParseDecimal(strings.TrimSpace(s), t.Precision, t.Scale)
			if err != nil {
				return errDecimal
			}
			b.AppendInt128(x)
			return nil
		}
	case column.Date:
		return parseDate
	case column.Time:
		return parseTime
	case column.Timestamp:
		return parseTimestamp
	case column.TimestampMilli:
		return parseTimestampMilli
	case column.String, column.Binary:
		return bytesParser(t)
	}
	return parseJSON // nested
}

func parseBool(b *column.Builder, s string) error {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "t", "1", "yes":
		b.AppendBool(true)
	case "false", "f", "0", "no":
		b.AppendBool(false)
	default:
		return errBool
	}
	return nil
}

func parseInt(b *column.Builder, s string, bits int) error {
	x, err := strconv.ParseInt(strings.TrimSpace(s), 10, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errRange
	case err != nil:
		return errWhole
	}
	b.AppendInt64(x)
	return nil
}

func parseFloat(b *column.Builder, s string, bits int) error {
	s = strings.TrimSpace(s)
	// strconv reads hexadecimal numbers and underscores, as Go source has them; files do not.
	if strings.ContainsAny(s, "xX_") {
		return errNumber
	}
	x, err := strconv.ParseFloat(s, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errRange
	case err != nil:
		return errNumber
	}
	b.AppendFloat64(x)
	return nil
}

func parseDate(b *column.Builder, s string) error {
	days, err := column.ParseDate(strings.TrimSpace(s))
	if err != nil {
		return errDate
	}
	b.AppendInt64(int64(days))
	return nil
}

// epochDay makes a timestamp of a time of day.
const epochDay = "1970-01-01 "

func parseTime(b *column.Builder, s string) error {
	s = strings.TrimSpace(s)
	us, err := column.ParseTimestamp(epochDay + s)
	if err != nil || strings.HasSuffix(s, "Z") {
		return errTime
	}
	b.AppendInt64(us)
	return nil
}

func parseTimestamp(b *column.Builder, s string) error {
	us, err := column.ParseTimestamp(strings.TrimSpace(s))
	if err != nil {
		return errInstant
	}
	b.AppendInt64(us)
	return nil
}

func parseTimestampMilli(b *column.Builder, s string) error {
	us, err := column.ParseTimestamp(strings.TrimSpace(s))
	switch {
	case err != nil:
		return errInstant
	case us%1000 != 0:
		return errMillis
	}
	b.AppendInt64(us / 1000)
	return nil
}

func bytesParser(t column.Type) parser {
	var buf []byte // spares an allocation for each field
	return func(b *column.Builder, s string) error {
		switch {
		case t.Kind == column.String && !utf8.ValidString(s):
			return errUTF8
		case t.FixedSize > 0 && len(s) != t.FixedSize:
			return errLength
		}
		buf = append(buf[:0], s...)
		b.AppendBytes(buf)
		return nil
	}
}

func parseJSON(b *column.Builder, s string) error { return b.AppendJSON([]byte(s)) }
