package clustering

import (
	"hash/maphash"

	"github.com/shoaldb/shoal/layout/column"
)

// tally counts rows and sums a hash of each, so that two sets of rows can be compared without
// regard to their order. Sums wrap. Tallies of different processes do not compare.
type tally struct {
	rows int64
	sum  uint64
}

var tallySeed = maphash.MakeSeed()

// tallyColumns are the columns that a row is told by: its record key and what goes with it, or, in
// a table that has no meta fields, everything that is not nested.
func tallyColumns(full *column.Schema, metaFields bool) []string {
	if metaFields {
		return []string{column.MetaCommitTime, column.MetaCommitSeqno, column.MetaRecordKey, column.MetaPartitionPath}
	}
	var names []string
	for _, f := range full.Fields {
		if !column.IsMeta(f.Name) && !f.Type.Kind.Nested() {
			names = append(names, f.Name)
		}
	}
	return names
}

// add counts a batch that has the tally columns. A row with a record key is told by that alone.
func (t *tally) add(b *column.Batch, columns []string) {
	t.rows += int64(b.Len)
	var keys *column.Vector
	cols := make([]*column.Vector, 0, len(columns))
	for _, name := range columns {
		v := b.Column(name)
		if name == column.MetaRecordKey {
			keys = v
		}
		cols = append(cols, v)
	}
	if keys != nil && keys.Dict != nil && keys.Dict.Len() < b.Len && keys.Valid == nil {
		hashes := make([]uint64, keys.Dict.Len())
		for i := range hashes {
			hashes[i] = maphash.Bytes(tallySeed, keys.Dict.At(i))
		}
		for _, c := range keys.Codes {
			t.sum += hashes[c]
		}
		return
	}
	var row []byte
	for i := range b.Len {
		if keys != nil && !keys.Null(i) {
			t.sum += maphash.Bytes(tallySeed, keys.Bytes(i))
			continue
		}
		row = row[:0]
		for _, v := range cols {
			row = column.AppendKey(row, v, i)
		}
		t.sum += maphash.Bytes(tallySeed, row)
	}
}
