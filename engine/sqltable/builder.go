package sqltable

import (
	"errors"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/shoaldb/shoal/engine"
)

// builder executes what go-mysql-server would do row by row, or without knowing of table
// properties: it is asked before every node and leaves those alone that are not about our tables.
type builder struct {
	base sql.NodeExecBuilder
	w    *engine.Warehouse
}

var _ sql.NodeExecBuilder = (*builder)(nil)

// Build implements sql.NodeExecBuilder; nil means that the base builder is to build the node.
func (b *builder) Build(ctx *sql.Context, n sql.Node, row sql.Row) (sql.RowIter, error) {
	switch n := n.(type) {
	case *insertNode:
		return b.insert(ctx, n.InsertInto, destination(n.Destination), row)
	case *plan.InsertInto:
		if t := destination(n.Destination); t != nil {
			return b.insert(ctx, n, t, row)
		}
	case *plan.CreateTable:
		if d := databaseOf(n.Database()); d != nil {
			return okIter(0), b.create(ctx, d, n)
		}
	case *plan.TableCopier:
		if d := databaseOf(n.Database()); d != nil {
			return b.createSelect(ctx, d, n, row)
		}
	case *plan.ShowCreateTable:
		if t := tableBelow(n.Child); t != nil {
			return sql.RowsToRowIter(sql.NewRow(t.Name(), showCreate(t, n.TargetSchema()))), nil
		}
	case *plan.ShowIndexes:
		if t := tableBelow(n.Child); t != nil {
			return sql.RowsToRowIter(indexRows(t)...), nil
		}
	case *plan.ShowTableStatus:
		if d := databaseOf(n.Database()); d != nil {
			names, err := n.Database().GetTableNames(ctx)
			if err != nil {
				return nil, err
			}
			return tableStatus(ctx, d, names)
		}
	}
	return nil, nil
}

// destination is the table an INSERT goes to, or nil when it is not ours.
func destination(n sql.Node) *Table {
	for {
		switch d := n.(type) {
		case *plan.InsertDestination:
			n = d.Child
		case *plan.ResolvedTable:
			return tableOf(d.Table)
		default:
			return nil
		}
	}
}

func tableBelow(n sql.Node) *Table {
	rt, ok := n.(*plan.ResolvedTable)
	if !ok {
		return nil
	}
	return tableOf(rt.Table)
}

// okIter is the result of a statement that changed rows.
func okIter(rows uint64) sql.RowIter {
	return sql.RowsToRowIter(sql.NewRow(types.NewOkResult(int(rows))))
}

// create runs CREATE TABLE.
func (b *builder) create(ctx *sql.Context, d *Database, n *plan.CreateTable) error {
	if n.Temporary() {
		return sql.ErrTemporaryTableNotSupported.New()
	}
	options := n.TableOpts
	if kept := sessionOf(ctx).takeOptions(d.name, n.Name()); options == nil {
		options = kept
	}
	err := d.createTable(ctx, definition{name: n.Name(), schema: n.PkSchema(), options: options,
		indexes: n.Indexes(), foreign: n.ForeignKeys(), checks: n.Checks()})
	if errors.Is(err, engine.ErrTableExists) {
		if n.IfNotExists() {
			ctx.Session.Warn(&sql.Warning{Level: "Note", Code: 1050, Message: "Table '" + n.Name() + "' already exists"})
			return nil
		}
		return sql.ErrTableAlreadyExists.New(n.Name())
	}
	return err
}

// createSelect runs CREATE TABLE … SELECT. If the rows cannot be written, the table goes again.
func (b *builder) createSelect(ctx *sql.Context, d *Database, n *plan.TableCopier, row sql.Row) (sql.RowIter, error) {
	ct, ok := n.Destination.(*plan.CreateTable)
	if !ok {
		return nil, nil
	}
	if _, err := d.p.w.Table(ctx, d.name, ct.Name()); err == nil && ct.IfNotExists() {
		sessionOf(ctx).takeOptions(d.name, ct.Name())
		ctx.Session.Warn(&sql.Warning{Level: "Note", Code: 1050, Message: "Table '" + ct.Name() + "' already exists"})
		return okIter(0), nil
	}
	if err := b.create(ctx, d, ct); err != nil {
		return nil, err
	}
	written, err := b.fill(ctx, d, ct.Name(), n.Source, row)
	if err != nil {
		if drop := d.p.w.DropTable(ctx.WithContext(detached(ctx)), d.name, ct.Name()); drop != nil {
			err = errors.Join(err, drop)
		}
		sessionOf(ctx).release()
		return nil, err
	}
	return okIter(written), nil
}

// fill inserts a query's rows into a table that was just created for them.
func (b *builder) fill(ctx *sql.Context, d *Database, name string, source sql.Node, row sql.Row) (uint64, error) {
	t, ok, err := d.table(ctx, name, "")
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, sql.ErrTableNotFound.New(name)
	}
	rows, err := b.base.Build(ctx, source, row)
	if err != nil {
		return 0, err
	}
	tab := tableOf(t)
	res, err := writeRows(ctx, tab, rows, insertOf{schema: tab.schema})
	return uint64(res.RowsWritten), err
}
