package sqltable

import (
	"context"
	"fmt"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/proto/query"

	"github.com/shoaldb/shoal/layout/column"
)

// cellWriter takes the values of one column: it converts them to the column's MySQL type as MySQL
// does under strict mode, or to the nearest valid value under IGNORE, and stores them.
type cellWriter struct {
	c         *sql.Column
	store     appender
	convert   func(ctx context.Context, v any) (any, sql.ConvertInRange, error)
	ignore    bool
	deferred  bool // the statement gave no value and there is no default
	defaulted bool // the value is the column's default
}

func newCellWriter(c *sql.Column, t column.Type, o insertOf, i int) *cellWriter {
	w := &cellWriter{c: c, store: newAppender(c, t), convert: c.Type.Convert, ignore: o.ignore,
		deferred: o.deferred.Contains(i), defaulted: o.defaulted != nil && o.defaulted(i)}
	if r, ok := c.Type.(sql.RoundingNumberType); ok {
		w.convert = r.ConvertRound
	}
	return w
}

// write stores one value and returns the bytes of a text or binary one. row is for messages.
func (w *cellWriter) write(ctx *sql.Context, b *column.Builder, v any, row int64) (int, error) {
	v, err := sql.UnwrapAny(ctx, v)
	if err != nil {
		return 0, err
	}
	if v == nil {
		if w.c.Nullable {
			b.AppendNull()
			return 0, nil
		}
		if v, err = w.instead(ctx); err != nil {
			return 0, err
		}
	}
	conv, inRange, err := w.convert(ctx, v)
	if err == nil && inRange != sql.InRange {
		err = sql.ErrValueOutOfRange.New(v, w.c.Type)
	}
	if err == nil {
		err = w.store(ctx, b, conv)
	}
	if err != nil {
		return 0, w.nearest(ctx, b, v, conv, row, err)
	}
	switch s := conv.(type) {
	case string:
		return len(s), nil
	case []byte:
		return len(s), nil
	}
	return 0, nil
}

// instead is what a NOT NULL column gets for NULL, if anything.
func (w *cellWriter) instead(ctx *sql.Context) (any, error) {
	if types.IsEnum(w.c.Type) && w.defaulted {
		return uint16(1), nil // a NOT NULL ENUM defaults to its first member
	}
	err := sql.ErrInsertIntoNonNullableProvidedNull.New(w.c.Name)
	if w.deferred {
		err = sql.ErrInsertIntoNonNullableDefaultNullColumn.New(w.c.Name)
	}
	if !w.ignore {
		return nil, err
	}
	warn(ctx, err)
	return w.c.Type.Zero(), nil
}

// nearest reports a value that does not fit or, under IGNORE, stores the nearest one that does
// and warns. Invalid JSON is an error even then.
func (w *cellWriter) nearest(ctx *sql.Context, b *column.Builder, v, conv any, row int64, cause error) error {
	err := w.explain(v, row, cause)
	if !w.ignore || w.c.Type.Type() == query.Type_JSON {
		return err
	}
	s, isText := v.(string)
	switch limit, ok := w.c.Type.(sql.StringType); {
	case isText && ok && types.ErrLengthBeyondLimit.Is(cause):
		r := []rune(s)
		conv = string(r[:min(len(r), int(limit.MaxCharacterLength()))])
	case !sql.IsNumberType(w.c.Type) || conv == nil:
		conv = w.c.Type.Zero()
	}
	if err := w.store(ctx, b, conv); err != nil {
		return w.explain(v, row, err)
	}
	warn(ctx, err)
	return nil
}

// explain gives a conversion error MySQL's number and words, with the column and the row.
func (w *cellWriter) explain(v any, row int64, err error) error {
	switch {
	case sql.ErrValueOutOfRange.Is(err), types.ErrConvertToDecimalLimit.Is(err):
		return mysql.NewSQLError(erOutOfRange, "22003", "Out of range value for column '%s' at row %d: %v", w.c.Name, row, shorten(v))
	case types.ErrLengthBeyondLimit.Is(err):
		return mysql.NewSQLError(erDataTooLong, "22001", "Data too long for column '%s' at row %d", w.c.Name, row)
	case types.ErrConvertingToEnum.Is(err), sql.ErrInvalidSetValue.Is(err), sql.ErrConvertingToSet.Is(err):
		return mysql.NewSQLError(1265, "01000", "Data truncated for column '%s' at row %d", w.c.Name, row)
	case types.ErrConvertingToTime.Is(err), types.ErrConvertingToTimeOutOfRange.Is(err):
		return mysql.NewSQLError(erWrongValue, "22007", "Incorrect %s value: '%v' for column '%s' at row %d", typeWord(w.c.Type), shorten(v), w.c.Name, row)
	case sql.ErrTruncatedIncorrect.Is(err), sql.ErrInvalidValue.Is(err):
		return mysql.NewSQLError(mysql.ERTruncatedWrongValueForField, "HY000", "Incorrect %s value: '%v' for column '%s' at row %d", typeWord(w.c.Type), shorten(v), w.c.Name, row)
	}
	e := sql.CastSQLError(SQLError(err))
	if e.Num == mysql.ERUnknownError {
		e = mysql.NewSQLError(mysql.ERTruncatedWrongValueForField, "HY000", "Incorrect %s value: '%v': %s", typeWord(w.c.Type), shorten(v), err.Error())
	}
	return mysql.NewSQLError(e.Num, e.State, "%s for column '%s' at row %d", e.Message, w.c.Name, row)
}

// typeWord is how MySQL calls a type in messages.
func typeWord(t sql.Type) string {
	switch {
	case types.IsInteger(t):
		return "integer"
	case types.IsDecimal(t):
		return "decimal"
	case types.IsFloat(t):
		return "double"
	case types.IsDateType(t):
		return "date"
	case types.IsTime(t):
		return "datetime"
	case types.IsTimespan(t):
		return "time"
	}
	return "string"
}

// shorten keeps values in messages readable.
func shorten(v any) string {
	s := fmt.Sprint(v)
	if b, ok := v.([]byte); ok {
		s = string(b)
	}
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}

func warn(ctx *sql.Context, err error) {
	e := sql.CastSQLError(SQLError(err))
	ctx.Session.Warn(&sql.Warning{Level: "Warning", Code: e.Num, Message: e.Message})
}
