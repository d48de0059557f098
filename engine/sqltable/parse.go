package sqltable

import (
	"fmt"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/predicate"
)

// ParsePredicate reads a SQL condition over one table's columns, such as a procedure's predicate
// argument. All of it has to be typed exactly; what cannot be is an error that names it.
func ParsePredicate(ctx *sql.Context, t *engine.Table, text string) (*predicate.Predicate, error) {
	bad := func(err error) error { return fmt.Errorf("%w: predicate %q: %w", engine.ErrBadArgument, text, err) }
	stmt, err := sqlparser.Parse("SELECT 1 FROM `t` WHERE " + text)
	if err != nil {
		return nil, bad(err)
	}
	sel, ok := stmt.(*sqlparser.Select)
	if !ok || sel.Where == nil || sel.GroupBy != nil || sel.Having != nil || sel.OrderBy != nil || sel.Limit != nil ||
		sel.Into != nil || len(sel.Window) > 0 || len(sel.From) != 1 {
		return nil, bad(fmt.Errorf("not a single condition"))
	}
	snap, err := t.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if name, ok := sel.From[0].(*sqlparser.AliasedTableExpr); ok {
		name.Expr = sqlparser.TableName{Name: sqlparser.NewTableIdent(t.Name()), DbQualifier: sqlparser.NewTableIdent(t.Database())}
	}
	one := &oneTable{name: t.Database(), table: newTable(&Database{name: t.Database()}, t, snap, false)}
	cat := analyzer.NewCatalog(sql.NewDatabaseProvider(one), sql.EngineOverrides{})
	node, _, err := planbuilder.New(ctx, cat, nil).BindOnly(sel, text, nil)
	if err != nil {
		return nil, bad(err)
	}
	var filter *plan.Filter
	transform.Inspect(node, func(n sql.Node) bool {
		if f, ok := n.(*plan.Filter); ok {
			filter = f
		}
		return filter == nil
	})
	if filter == nil {
		return nil, bad(fmt.Errorf("not a condition"))
	}
	cond, err := foldConstants(ctx, filter.Expression)
	if err != nil {
		return nil, bad(err)
	}
	tab := tableOf(one.table)
	c := &filterCompiler{ctx: ctx, schema: snap.FullSchema(), column: columnsOf(ctx, tab, filter.Child)}
	for _, part := range expression.SplitConjunction(ctx, cond) {
		if _, ok := c.compile(part); !ok {
			return nil, bad(fmt.Errorf("%s is not a comparison of a column with constants of its type", part))
		}
	}
	p, _ := c.conjuncts(cond)
	return p, nil
}

// oneTable is a database of a single table.
type oneTable struct {
	name  string
	table sql.Table
}

// Name implements sql.Database.
func (o *oneTable) Name() string { return o.name }

// GetTableInsensitive implements sql.Database.
func (o *oneTable) GetTableInsensitive(_ *sql.Context, name string) (sql.Table, bool, error) {
	if !sameName(name, o.table.Name()) {
		return nil, false, nil
	}
	return o.table, true, nil
}

// GetTableNames implements sql.Database.
func (o *oneTable) GetTableNames(*sql.Context) ([]string, error) {
	return []string{o.table.Name()}, nil
}
