package sqltable

import (
	"fmt"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// Table is one table as one statement sees it: a snapshot, and what the statement wants of it. It
// is immutable; the With… methods return changed copies.
type Table struct {
	db       *Database
	t        *engine.Table
	snap     *engine.Snapshot
	schema   sql.Schema // all columns the statement may name
	keys     []string   // record key columns
	projects []string   // nil: not projected
	out      sql.Schema // the columns rows have: schema, or the projected part

	predicate *predicate.Predicate // rows for which it is not true are left out; nil: none
	pushed    []sql.Expression     // what predicate was made from
}

var (
	_ sql.ProjectedTable   = (*Table)(nil)
	_ sql.FilteredTable    = (*Table)(nil)
	_ sql.PrimaryKeyTable  = (*Table)(nil)
	_ sql.StatisticsTable  = (*Table)(nil)
	_ sql.CommentedTable   = (*Table)(nil)
	_ sql.InsertableTable  = (*Table)(nil)
	_ sql.IndexAddressable = (*listedTable)(nil)
)

// newTable presents a snapshot. With meta the meta columns are part of the schema (I5).
func newTable(d *Database, t *engine.Table, snap *engine.Snapshot, meta bool) sql.Table {
	cfg := snap.Config()
	tab := &Table{db: d, t: t, snap: snap, keys: keyColumns(snap.Schema(), cfg.RecordKeyFields)}
	tab.schema = sqlColumns(d.name, t.Name(), snap.Schema(), tab.keys, cfg.Props.Map())
	if meta {
		tab.schema = append(tab.schema, metaColumns(d.name, t.Name())...)
	}
	tab.out = tab.schema
	if d.listing {
		return &listedTable{tab}
	}
	return tab
}

// keyColumns are the record key fields that are columns of their own; a nested field ("a.b") is not.
func keyColumns(s *column.Schema, fields []string) []string {
	var out []string
	for _, f := range fields {
		if s.Index(f) >= 0 {
			out = append(out, f)
		}
	}
	return out
}

// Engine is the engine's table.
func (t *Table) Engine() *engine.Table { return t.t }

// Snapshot is what the statement sees.
func (t *Table) Snapshot() *engine.Snapshot { return t.snap }

// Name implements sql.Table.
func (t *Table) Name() string { return t.t.Name() }

func (t *Table) String() string { return t.t.Name() }

// Schema implements sql.Table: the columns that rows have.
func (t *Table) Schema(*sql.Context) sql.Schema { return t.out }

// Collation implements sql.Table: strings compare by their bytes.
func (t *Table) Collation() sql.CollationID { return sql.Collation_Default }

// Comment implements sql.CommentedTable.
func (t *Table) Comment() string { return t.snap.Config().Props.Map()[propComment] }

// PrimaryKeySchema implements sql.PrimaryKeyTable: every column and no key (I3). The keys are
// marked in the columns for those who show them.
func (t *Table) PrimaryKeySchema(*sql.Context) sql.PrimaryKeySchema {
	return sql.PrimaryKeySchema{Schema: t.schema}
}

// RowCount implements sql.StatisticsTable.
func (t *Table) RowCount(*sql.Context) (uint64, bool, error) {
	if t.predicate != nil {
		return 0, false, nil
	}
	n, exact := t.snap.Rows()
	return uint64(n), exact, nil
}

// DataLength implements sql.StatisticsTable: the size of the base files in bytes.
func (t *Table) DataLength(*sql.Context) (uint64, error) { return uint64(t.snap.Bytes()), nil }

// WithProjections implements sql.ProjectedTable. Nil means all columns, empty means rows without
// columns, which is how rows are counted.
func (t *Table) WithProjections(_ *sql.Context, names []string) (sql.Table, error) {
	n := *t
	n.projects = names
	if names == nil {
		n.out = t.schema
		return &n, nil
	}
	n.out = make(sql.Schema, 0, len(names))
	for _, name := range names {
		i := t.schema.IndexOfColName(name)
		if i < 0 {
			return nil, sql.ErrTableColumnNotFound.New(t.Name(), name)
		}
		n.out = append(n.out, t.schema[i])
	}
	return &n, nil
}

// Projections implements sql.ProjectedTable.
func (t *Table) Projections() []string {
	if t.projects == nil {
		return nil
	}
	shown := make([]string, len(t.projects))
	for i, p := range t.projects {
		shown[i] = engineColumn(p)
	}
	return shown
}

// Filters implements sql.FilteredTable: what is handed to the scan, for EXPLAIN.
func (t *Table) Filters() []sql.Expression { return t.pushed }

// HandledFilters implements sql.FilteredTable: none, filters stay in the plan (I2).
func (t *Table) HandledFilters(*sql.Context, []sql.Expression) []sql.Expression { return nil }

// WithFilters implements sql.FilteredTable; predicates come through WithPredicate.
func (t *Table) WithFilters(*sql.Context, []sql.Expression) sql.Table { return t }

// WithPredicate returns the table with a predicate for its scans, made from the given filters.
func (t *Table) WithPredicate(p *predicate.Predicate, from []sql.Expression) *Table {
	n := *t
	n.predicate, n.pushed = p, from
	return &n
}

// onePartition is the whole table: the scan does its own splitting.
type onePartition struct{}

func (onePartition) Key() []byte { return []byte("table") }

// Partitions implements sql.Table.
func (t *Table) Partitions(*sql.Context) (sql.PartitionIter, error) {
	return sql.PartitionsToPartitionIter(onePartition{}), nil
}

// PartitionRows implements sql.Table.
func (t *Table) PartitionRows(ctx *sql.Context, _ sql.Partition) (sql.RowIter, error) {
	columns := make([]string, len(t.out))
	for i, c := range t.out {
		columns[i] = engineColumn(c.Name)
	}
	scan, err := t.snap.Scan(ctx, engine.ScanOptions{Columns: columns, Predicate: t.predicate, Ordered: true})
	if err != nil {
		return nil, fmt.Errorf("read %s.%s: %w", t.db.name, t.Name(), err)
	}
	return &scanIter{scan: scan, reader: newRowReader(t.out), session: sessionOf(ctx)}, nil
}

// tableOf finds the Table behind what a plan holds, or nil when it is somebody else's.
func tableOf(t sql.Table) *Table {
	for {
		switch v := t.(type) {
		case *Table:
			return v
		case *listedTable:
			return v.Table
		case sql.TableWrapper:
			t = v.Underlying()
		default:
			return nil
		}
	}
}
