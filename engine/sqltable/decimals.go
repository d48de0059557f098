package sqltable

import (
	"bytes"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// go-mysql-server compares a DECIMAL column with a constant of more digits after the point by
// rounding the constant to the column's scale, so that 5.00 = 5.004 and 0.06 > 0.055 is false.
// Two things undo that: columns have decimal types that do not round what they are compared with,
// and constants stand in a cast, which the binder, unlike a bare literal, does not round.

// exactDecimal is a decimal type for a column that compares exactly.
func exactDecimal(t sql.Type) sql.Type {
	d, ok := t.(sql.DecimalType)
	if !ok || !types.IsDecimal(t) {
		return t
	}
	exact, err := types.CreateDecimalType(d.Precision(), d.Scale())
	if err != nil {
		return t
	}
	return exact
}

// castDecimals puts the decimal literals of comparisons into casts.
func castDecimals(stmt sqlparser.Statement) {
	visit := func(n sqlparser.SQLNode) (bool, error) {
		if c, ok := n.(*sqlparser.ComparisonExpr); ok && c != nil {
			c.Left, c.Right = castDecimal(c.Left), castDecimal(c.Right)
		}
		return true, nil
	}
	// Walk's only error is the visitor's, and this one has none.
	_ = sqlparser.Walk(visit, stmt)
	if ddl, ok := stmt.(*sqlparser.DDL); ok && ddl.OptSelect != nil {
		_ = sqlparser.Walk(visit, ddl.OptSelect.Select)
	}
}

// The digits that DECIMAL(65,30), the widest type with the longest fraction, has on each side.
const (
	castWhole    = 35
	castFraction = 30
)

func castDecimal(e sqlparser.Expr) sqlparser.Expr {
	v, ok := e.(*sqlparser.SQLVal)
	if !ok || v.Type != sqlparser.FloatVal || bytes.ContainsAny(v.Val, "eE") {
		return e
	}
	whole, fraction, ok := bytes.Cut(v.Val, []byte("."))
	if !ok || len(whole) > castWhole || len(fraction) > castFraction {
		return e
	}
	return &sqlparser.ConvertExpr{Name: "cast", Expr: v, Type: &sqlparser.ConvertType{Type: "decimal",
		Length: sqlparser.NewIntVal([]byte("65")), Scale: sqlparser.NewIntVal([]byte("30"))}}
}

// hasPoint reports whether a query can have a decimal literal.
func hasPoint(query string) bool {
	for i := 0; i+1 < len(query); i++ {
		if query[i] == '.' && query[i+1] >= '0' && query[i+1] <= '9' {
			return true
		}
	}
	return false
}
