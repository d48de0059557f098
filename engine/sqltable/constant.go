package sqltable

import (
	"strconv"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"
)

// A constant is the value of an expression that is the same for every row of a statement.
type constant struct {
	v any // nil: NULL
	t sql.Type
}

// stableFunctions are functions of constants that give the same value throughout a statement.
var stableFunctions = map[string]bool{
	"now": true, "current_timestamp": true, "curdate": true, "current_date": true, "utc_timestamp": true,
	"date": true, "timestamp": true, "str_to_date": true, "date_add": true, "date_sub": true,
	"adddate": true, "subdate": true, "from_unixtime": true, "makedate": true, "last_day": true,
}

// constantOf evaluates an expression made of literals alone.
func constantOf(ctx *sql.Context, e sql.Expression) (constant, bool) {
	if l, ok := e.(*expression.Literal); ok {
		return constant{l.Value(), l.Type(ctx)}, true
	}
	if !isConstant(ctx, e) {
		return constant{}, false
	}
	v, err := e.Eval(ctx, nil)
	if err != nil {
		return constant{}, false // the filter reports it
	}
	if v, err = sql.UnwrapAny(ctx, v); err != nil {
		return constant{}, false
	}
	return constant{v, e.Type(ctx)}, true
}

func isConstant(ctx *sql.Context, e sql.Expression) bool {
	ok := true
	sql.Inspect(ctx, e, func(_ *sql.Context, e sql.Expression) bool {
		if e == nil {
			return false
		}
		if n, is := e.(sql.NonDeterministicExpression); is && n.IsNonDeterministic() {
			ok = false
		}
		switch f := e.(type) {
		case *expression.Literal, *expression.UnaryMinus, *expression.Convert, *expression.Interval:
		case sql.FunctionExpression:
			ok = ok && stableFunctions[strings.ToLower(f.FunctionName())]
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// datetime is the point in time that MySQL compares a temporal column with, for a constant that
// is a point in time or its text.
func (c constant) datetime(ctx *sql.Context) (time.Time, bool) {
	switch v := c.v.(type) {
	case time.Time:
		return v.UTC().Round(time.Microsecond), true
	case string:
		if !types.IsTextOnly(c.t) {
			return time.Time{}, false
		}
		d, inRange, err := types.DatetimeMaxPrecision.Convert(ctx, v)
		if err != nil || inRange != sql.InRange {
			return time.Time{}, false
		}
		m, ok := d.(time.Time)
		return m, ok && !m.Equal(types.ZeroTime)
	}
	return time.Time{}, false
}

// double is a decimal constant as MySQL compares it with a DOUBLE.
func (c constant) double() (float64, bool) {
	d, ok := c.v.(decimal.Decimal)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(d.String(), 64)
	return f, err == nil
}

// foldConstants rewrites the comparisons of a filter so that a constant is converted once and not
// once a row: text or a function against a temporal column to a DATETIME, a decimal against a
// FLOAT or DOUBLE to a DOUBLE, and against a DECIMAL to its type. These are the conversions MySQL
// makes.
func foldConstants(ctx *sql.Context, e sql.Expression) (sql.Expression, error) {
	switch e := e.(type) {
	case *expression.And, *expression.Or, *expression.Not:
		return foldChildren(ctx, e, e.Children(), func(i int) sql.Type { return nil })
	case *expression.Equals, *expression.NullSafeEquals, *expression.GreaterThan, *expression.GreaterThanOrEqual,
		*expression.LessThan, *expression.LessThanOrEqual:
		kids := e.Children()
		return foldChildren(ctx, e, kids, func(i int) sql.Type { return columnOperand(ctx, kids[1-i]) })
	case *expression.Between:
		kids := e.Children()
		return foldChildren(ctx, e, kids, func(i int) sql.Type {
			if i == 0 {
				return nil
			}
			return columnOperand(ctx, kids[0])
		})
	case *expression.InTuple:
		t, ok := e.Right().(expression.Tuple)
		col := columnOperand(ctx, e.Left())
		if !ok || col == nil {
			return e, nil
		}
		list := make([]sql.Expression, len(t))
		for i, item := range t {
			list[i] = foldOne(ctx, item, col)
		}
		return expression.NewInTuple(e.Left(), expression.NewTuple(list...)), nil
	}
	return e, nil
}

func columnOperand(ctx *sql.Context, e sql.Expression) sql.Type {
	if g, ok := e.(*expression.GetField); ok {
		return g.Type(ctx)
	}
	return nil
}

// foldChildren folds the operands of a comparison, or recurs where against gives no type.
func foldChildren(ctx *sql.Context, e sql.Expression, kids []sql.Expression, against func(i int) sql.Type) (sql.Expression, error) {
	changed := false
	out := make([]sql.Expression, len(kids))
	for i, k := range kids {
		out[i] = k
		if t := against(i); t != nil {
			out[i] = foldOne(ctx, k, t)
		} else {
			var err error
			if out[i], err = foldConstants(ctx, k); err != nil {
				return nil, err
			}
		}
		changed = changed || out[i] != k
	}
	if !changed {
		return e, nil
	}
	return e.WithChildren(ctx, out...)
}

// foldDecimal is a constant in the column's own type, which compares fastest, or in one that keeps
// all its digits.
func foldDecimal(d decimal.Decimal, column sql.DecimalType) sql.Expression {
	scale := int32(column.Scale())
	if digitsAfterPoint(d) <= int(scale) && d.Abs().LessThan(column.ExclusiveUpperBound()) {
		return expression.NewLiteral(d.Truncate(scale), column)
	}
	return expression.NewLiteral(d.Truncate(int32(digitsAfterPoint(d))), types.InternalDecimalType)
}

func foldOne(ctx *sql.Context, e sql.Expression, column sql.Type) sql.Expression {
	c, ok := constantOf(ctx, e)
	if !ok || c.v == nil {
		return e
	}
	switch {
	case types.IsTime(column):
		if m, ok := c.datetime(ctx); ok {
			return expression.NewLiteral(m, types.DatetimeMaxPrecision)
		}
	case types.IsFloat(column):
		if f, ok := c.double(); ok {
			return expression.NewLiteral(f, types.Float64)
		}
	case types.IsDecimal(column):
		if d, ok := c.v.(decimal.Decimal); ok {
			return foldDecimal(d, column.(sql.DecimalType))
		}
	}
	return e
}
