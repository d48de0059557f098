package sqltable

import (
	"github.com/dolthub/go-mysql-server/sql"
)

// listedTable is a Table as information_schema sees it: its record key is an index named PRIMARY.
type listedTable struct{ *Table }

// GetIndexes implements sql.IndexAddressable.
func (t *listedTable) GetIndexes(*sql.Context) ([]sql.Index, error) {
	if len(t.keys) == 0 {
		return nil, nil
	}
	return []sql.Index{&keyIndex{t.Table}}, nil
}

// IndexedAccess implements sql.IndexAddressable. Nothing plans over listed tables.
func (t *listedTable) IndexedAccess(*sql.Context, sql.IndexLookup) sql.IndexedTable { return nil }

// PreciseMatch implements sql.IndexAddressable.
func (t *listedTable) PreciseMatch() bool { return false }

// keyIndex describes a record key to those who list indexes. It supports no lookup.
type keyIndex struct{ t *Table }

var _ sql.Index = (*keyIndex)(nil)

func (k *keyIndex) ID() string       { return "PRIMARY" }
func (k *keyIndex) Database() string { return k.t.db.name }
func (k *keyIndex) Table() string    { return k.t.Name() }

func (k *keyIndex) Expressions() []string {
	out := make([]string, len(k.t.keys))
	for i, c := range k.t.keys {
		out[i] = k.t.Name() + "." + c
	}
	return out
}

func (k *keyIndex) UnderlyingIndexExpressions(*sql.Context) ([]sql.Expression, error) {
	return nil, nil
}

func (k *keyIndex) IsUnique() bool          { return true }
func (k *keyIndex) IsSpatial() bool         { return false }
func (k *keyIndex) IsFullText() bool        { return false }
func (k *keyIndex) IsVector() bool          { return false }
func (k *keyIndex) IsGenerated() bool       { return false }
func (k *keyIndex) Comment() string         { return k.t.keyComment() }
func (k *keyIndex) IndexType() string       { return "BLOOM" }
func (k *keyIndex) PrefixLengths() []uint16 { return nil }

func (k *keyIndex) ColumnExpressionTypes(*sql.Context) []sql.ColumnExpressionType {
	out := make([]sql.ColumnExpressionType, len(k.t.keys))
	for i, c := range k.t.keys {
		out[i] = sql.ColumnExpressionType{Expression: k.t.Name() + "." + c, Type: k.t.schema[k.t.schema.IndexOfColName(c)].Type}
	}
	return out
}

func (k *keyIndex) CanSupport(*sql.Context, ...sql.Range) bool { return false }
func (k *keyIndex) CanSupportOrderBy(sql.Expression) bool      { return false }

// keyComment says where a key is unique.
func (t *Table) keyComment() string {
	if len(t.snap.Config().PartitionFields) > 0 {
		return "unique within a partition"
	}
	return ""
}

// brokenTable stands for a table that cannot be opened wherever tables are only listed (I6).
type brokenTable struct {
	name string
	err  error
}

var (
	_ sql.CommentedTable  = (*brokenTable)(nil)
	_ sql.StatisticsTable = (*brokenTable)(nil)
)

// Name implements sql.Table.
func (b *brokenTable) Name() string { return b.name }

func (b *brokenTable) String() string { return b.name }

// Schema implements sql.Table: no column is known.
func (b *brokenTable) Schema(*sql.Context) sql.Schema { return nil }

// Collation implements sql.Table.
func (b *brokenTable) Collation() sql.CollationID { return sql.Collation_Default }

// Comment implements sql.CommentedTable: what is wrong with the table.
func (b *brokenTable) Comment() string { return b.err.Error() }

// RowCount implements sql.StatisticsTable.
func (b *brokenTable) RowCount(*sql.Context) (uint64, bool, error) { return 0, false, nil }

// DataLength implements sql.StatisticsTable.
func (b *brokenTable) DataLength(*sql.Context) (uint64, error) { return 0, nil }

// Partitions implements sql.Table with the table's error.
func (b *brokenTable) Partitions(*sql.Context) (sql.PartitionIter, error) { return nil, b.err }

// PartitionRows implements sql.Table with the table's error.
func (b *brokenTable) PartitionRows(*sql.Context, sql.Partition) (sql.RowIter, error) {
	return nil, b.err
}
