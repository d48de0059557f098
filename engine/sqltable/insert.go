package sqltable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// Rows are handed to the engine in batches of insertRows rows or insertBytes bytes of text and
// binary values, whichever is reached first.
const (
	insertRows  = 8192
	insertBytes = 16 << 20
)

// insertOf says how rows go into a table.
type insertOf struct {
	schema   sql.Schema     // of the rows, with the table's columns in order
	deferred sql.FastIntSet // columns the statement gave no value for
	ignore   bool           // INSERT IGNORE
	// defaulted reports whether a column's value is its default; nil: none is.
	defaulted func(i int) bool
}

// insertNode is an INSERT into a table of ours. It differs from go-mysql-server's in what it gives
// back: the number of rows, not the rows.
type insertNode struct{ *plan.InsertInto }

var _ sql.Node = (*insertNode)(nil)

// Schema implements sql.Node.
func (n *insertNode) Schema(*sql.Context) sql.Schema { return types.OkResultSchema }

// WithChildren implements sql.Node.
func (n *insertNode) WithChildren(ctx *sql.Context, children ...sql.Node) (sql.Node, error) {
	in, err := n.InsertInto.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	return &insertNode{in.(*plan.InsertInto)}, nil
}

// WithExpressions implements sql.Expressioner.
func (n *insertNode) WithExpressions(ctx *sql.Context, exprs ...sql.Expression) (sql.Node, error) {
	in, err := n.InsertInto.WithExpressions(ctx, exprs...)
	if err != nil {
		return nil, err
	}
	return &insertNode{in.(*plan.InsertInto)}, nil
}

// insert runs INSERT … VALUES, INSERT … SELECT and LOAD DATA as one commit (I4).
func (b *builder) insert(ctx *sql.Context, n *plan.InsertInto, t *Table, row sql.Row) (sql.RowIter, error) {
	if n.IsReplace {
		return nil, notYet("REPLACE")
	}
	if n.OnDupExprs.HasUpdates() {
		return nil, notYet("INSERT … ON DUPLICATE KEY UPDATE")
	}
	source, err := b.allowFile(ctx, n.Source)
	if err != nil {
		return nil, err
	}
	o := insertOf{schema: n.Destination.Schema(ctx), deferred: n.DeferredDefaults, ignore: n.Ignore}
	if p, ok := source.(*plan.Project); ok && len(p.Projections) == len(o.schema) {
		o.defaulted = func(i int) bool { _, ok := p.Projections[i].(*sql.ColumnDefaultValue); return ok }
	}
	return &insertIter{run: func(ctx *sql.Context) (engine.CommitResult, error) {
		rows, err := b.base.Build(ctx, source, row)
		if err != nil {
			return engine.CommitResult{}, err
		}
		return writeRows(ctx, t, rows, o)
	}}, nil
}

// insertIter writes when its one row, the result, is asked for: while it runs the statement can
// be killed.
type insertIter struct {
	run  func(*sql.Context) (engine.CommitResult, error)
	done bool
}

// Next implements sql.RowIter.
func (i *insertIter) Next(ctx *sql.Context) (sql.Row, error) {
	if i.done {
		return nil, io.EOF
	}
	i.done = true
	res, err := i.run(ctx)
	if err != nil {
		return nil, err
	}
	ctx.GetLastQueryInfo().RowCount.Store(res.RowsWritten)
	ok := types.NewOkResult(int(res.RowsWritten))
	ok.Info = insertInfo{records: res.RowsWritten + res.RowsDropped, duplicates: res.RowsDropped, warnings: ctx.WarningCount()}
	return sql.NewRow(ok), nil
}

// insertInfo is the line that clients print below the number of rows.
type insertInfo struct {
	records, duplicates int64
	warnings            uint16
}

func (i insertInfo) String() string {
	return fmt.Sprintf("Records: %d  Duplicates: %d  Warnings: %d", i.records, i.duplicates, i.warnings)
}

// Close implements sql.RowIter.
func (i *insertIter) Close(*sql.Context) error { i.done = true; return nil }

// writeRows drains rows into a table as one commit and closes them. On any error, and on a panic,
// nothing is written.
func writeRows(ctx *sql.Context, t *Table, rows sql.RowIter, o insertOf) (res engine.CommitResult, err error) {
	w := newRowWriter(t, o)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("insert into %s.%s: internal error: %v\n%s", t.db.name, t.Name(), r, debug.Stack())
		}
		if cerr := rows.Close(ctx); err == nil && cerr != nil && res.Instant == "" {
			err = cerr
		}
		if err != nil {
			err = w.abort(ctx, err)
		}
	}()
	for {
		row, err := rows.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return res, err
		}
		if err := w.add(ctx, row); err != nil {
			return res, err
		}
	}
	return w.commit(ctx)
}

// rowWriter turns rows into batches of one engine.Write. The write begins with the first batch.
type rowWriter struct {
	t        *Table
	o        insertOf
	cells    []*cellWriter
	builders []*column.Builder
	n        int   // rows in builders
	bytes    int   // of text and binary values in builders
	row      int64 // rows so far, for messages
	w        *engine.Write
}

func newRowWriter(t *Table, o insertOf) *rowWriter {
	w := &rowWriter{t: t, o: o}
	fields := t.snap.Schema().Fields
	for i, f := range fields {
		w.cells = append(w.cells, newCellWriter(o.schema[i], f.Type, o, i))
	}
	w.reset()
	return w
}

func (w *rowWriter) reset() {
	w.builders = make([]*column.Builder, len(w.cells))
	for i, f := range w.t.snap.Schema().Fields {
		w.builders[i] = column.NewBuilder(f.Type, 64)
	}
	w.n, w.bytes = 0, 0
}

// add takes one row, with the values of an enclosing query in front, if there is one.
func (w *rowWriter) add(ctx *sql.Context, row sql.Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.row++
	if extra := len(row) - len(w.o.schema); extra > 0 {
		row = row[extra:]
	}
	if len(row) < len(w.cells) {
		return fmt.Errorf("%w: a row of %d values for %d columns", engine.ErrBadArgument, len(row), len(w.cells))
	}
	for i, c := range w.cells {
		size, err := c.write(ctx, w.builders[i], row[i], w.row)
		if err != nil {
			return err
		}
		w.bytes += size
	}
	if w.n++; w.n >= insertRows || w.bytes >= insertBytes {
		return w.flush(ctx)
	}
	return nil
}

func (w *rowWriter) flush(ctx *sql.Context) error {
	if w.n == 0 {
		return nil
	}
	if w.w == nil {
		o := engine.InsertOptions{Config: w.t.t.Options(sessionOf(ctx).Options())}
		if w.o.ignore {
			o.Duplicates, o.SetDuplicates = engine.DuplicatesDrop, true
		}
		var err error
		if w.w, err = w.t.t.BeginInsert(ctx, o); err != nil {
			return err
		}
	}
	b := &column.Batch{Schema: w.t.snap.Schema(), Len: w.n}
	for _, c := range w.builders {
		b.Cols = append(b.Cols, c.Finish())
	}
	w.reset()
	return w.w.Insert(ctx, b)
}

// commit writes what is left and commits. It drops the statement's snapshots, so that the session
// sees its own write next.
func (w *rowWriter) commit(ctx *sql.Context) (engine.CommitResult, error) {
	if err := w.flush(ctx); err != nil {
		return engine.CommitResult{}, err
	}
	if w.w == nil {
		return engine.CommitResult{}, nil
	}
	res, err := w.w.Commit(ctx)
	if err != nil {
		return res, err
	}
	w.w = nil
	sessionOf(ctx).noteWrite()
	if res.RowsDropped > 0 {
		ctx.Session.Warn(&sql.Warning{Level: "Warning", Code: mysql.ERDupEntry,
			Message: fmt.Sprintf("%d rows with a duplicate entry for key 'PRIMARY' were ignored", res.RowsDropped)})
	}
	return res, nil
}

// abort drops everything. It works for a cancelled statement too and gives cause back, with what
// went wrong while aborting.
func (w *rowWriter) abort(ctx *sql.Context, cause error) error {
	if w.w == nil {
		return cause
	}
	err := w.w.Abort(detached(ctx))
	w.w = nil
	if err != nil {
		return errors.Join(cause, fmt.Errorf("abort: %w", err))
	}
	return cause
}

// detached is a context that outlives the statement's cancellation.
func detached(ctx *sql.Context) context.Context { return context.WithoutCancel(ctx.Context) }

// inserter is the row-at-a-time way in that go-mysql-server knows. INSERT does not take it, see
// builder; it serves whoever asks the table itself.
type inserter struct {
	t *Table
	w *rowWriter
}

var _ sql.RowInserter = (*inserter)(nil)

// Inserter implements sql.InsertableTable.
func (t *Table) Inserter(*sql.Context) sql.RowInserter { return &inserter{t: t} }

// StatementBegin implements sql.EditOpenerCloser.
func (i *inserter) StatementBegin(*sql.Context) {
	i.w = newRowWriter(i.t, insertOf{schema: i.t.schema})
}

// Insert implements sql.RowInserter.
func (i *inserter) Insert(ctx *sql.Context, row sql.Row) error {
	if i.w == nil {
		i.StatementBegin(ctx)
	}
	return i.w.add(ctx, row)
}

// StatementComplete implements sql.EditOpenerCloser: it commits.
func (i *inserter) StatementComplete(ctx *sql.Context) error {
	if i.w == nil {
		return nil
	}
	if _, err := i.w.commit(ctx); err != nil {
		return i.DiscardChanges(ctx, err)
	}
	i.w = nil
	return nil
}

// DiscardChanges implements sql.EditOpenerCloser.
func (i *inserter) DiscardChanges(ctx *sql.Context, cause error) error {
	if i.w == nil {
		return cause
	}
	w := i.w
	i.w = nil
	return w.abort(ctx, cause)
}

// Close implements sql.Closer: what was not completed is dropped.
func (i *inserter) Close(ctx *sql.Context) error { return i.DiscardChanges(ctx, nil) }
