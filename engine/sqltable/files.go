package sqltable

import (
	"fmt"
	"os"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/shoaldb/shoal/engine"
)

// Statements reach files of the server in three ways: LOAD DATA without LOCAL and LOAD_FILE()
// read those that Warehouse.ResolvePath allows, and SELECT … INTO OUTFILE writes none.

// allowFile checks that the file of a LOAD DATA without LOCAL is one that users may name.
func (b *builder) allowFile(ctx *sql.Context, source sql.Node) (sql.Node, error) {
	n, _, err := transform.Node(ctx, source, func(_ *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
		load, ok := n.(*plan.LoadData)
		if !ok || load.Local {
			return n, transform.SameTree, nil
		}
		path, err := b.w.ResolvePath(load.File)
		if err != nil {
			return nil, transform.SameTree, err
		}
		c := *load
		c.File = path
		return &c, transform.NewTree, nil
	})
	return n, err
}

// refuseOutfile rejects a SELECT that writes a file.
func refuseOutfile(n *plan.Into) error {
	if n.Outfile == "" && n.Dumpfile == "" {
		return nil
	}
	return mysql.NewSQLError(erOptionPreventsStatement, "HY000",
		"SELECT … INTO OUTFILE is not allowed: the server writes no files for users; redirect the client's output")
}

var _ sql.FunctionProvider = (*Provider)(nil)

// Function implements sql.FunctionProvider: functions that go before the built-in ones.
func (p *Provider) Function(_ *sql.Context, name string) (sql.Function, bool) {
	if !sameName(name, "load_file") {
		return nil, false
	}
	return sql.Function1{Name: "load_file", Fn: func(_ *sql.Context, e sql.Expression) sql.Expression {
		return &loadFile{UnaryExpressionStub: expression.UnaryExpressionStub{Child: e}, w: p.w}
	}}, true
}

// loadFile is LOAD_FILE(). As in MySQL, a file that may not or cannot be read gives NULL.
type loadFile struct {
	expression.UnaryExpressionStub
	w *engine.Warehouse
}

var (
	_ sql.FunctionExpression         = (*loadFile)(nil)
	_ sql.CollationCoercible         = (*loadFile)(nil)
	_ sql.NonDeterministicExpression = (*loadFile)(nil)
)

// FunctionName implements sql.FunctionExpression.
func (l *loadFile) FunctionName() string { return "load_file" }

// Description implements sql.FunctionExpression.
func (l *loadFile) Description() string { return "the contents of a file of the server" }

// Type implements sql.Expression.
func (l *loadFile) Type(*sql.Context) sql.Type { return types.LongBlob }

// IsNullable implements sql.Expression.
func (l *loadFile) IsNullable(*sql.Context) bool { return true }

// IsNonDeterministic implements sql.NonDeterministicExpression.
func (l *loadFile) IsNonDeterministic() bool { return true }

// CollationCoercibility implements sql.CollationCoercible.
func (l *loadFile) CollationCoercibility(*sql.Context) (sql.CollationID, byte) {
	return sql.Collation_binary, 5
}

func (l *loadFile) String() string { return fmt.Sprintf("load_file(%s)", l.Child) }

// WithChildren implements sql.Expression.
func (l *loadFile) WithChildren(_ *sql.Context, kids ...sql.Expression) (sql.Expression, error) {
	if len(kids) != 1 {
		return nil, sql.ErrInvalidChildrenNumber.New(l, len(kids), 1)
	}
	return &loadFile{UnaryExpressionStub: expression.UnaryExpressionStub{Child: kids[0]}, w: l.w}, nil
}

// Eval implements sql.Expression.
func (l *loadFile) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := l.Child.Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	name, _, err := types.LongText.Convert(ctx, v)
	if err != nil {
		return nil, err
	}
	text, ok := name.(string)
	if !ok {
		return nil, nil
	}
	path, err := l.w.ResolvePath(text)
	if err != nil {
		return nil, nil
	}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > maxPacket(ctx) {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	return data, nil
}

// maxPacket is the longest value that a client takes, in bytes.
func maxPacket(ctx *sql.Context) int64 {
	if v, err := ctx.GetSessionVariable(ctx, "max_allowed_packet"); err == nil {
		if n, ok := wholeNumber(v); ok {
			return n
		}
	}
	return 64 << 20
}
