package clustering

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shoaldb/shoal/layout/column"
)

// eachColumn calls f for every column, as many at a time as there are CPUs.
func eachColumn(s *column.Schema, f func(i int)) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range s.Fields {
		g.Go(func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("column %s: panic: %v\n%s", s.Fields[i].Name, r, debug.Stack())
				}
			}()
			f(i)
			return nil
		})
	}
	return g.Wait()
}

// joinBatches is column.ConcatBatches, column by column: the parts of a column are let go as soon as
// it is joined, so that the rows are never held twice.
func joinBatches(s *column.Schema, batches []*column.Batch) (*column.Batch, error) {
	all := &column.Batch{Schema: s, Cols: make([]*column.Vector, len(s.Fields))}
	for i, b := range batches {
		all.Len += b.Len
		batches[i] = &column.Batch{Schema: s, Cols: slices.Clone(b.Cols), Len: b.Len} // the batch itself is not ours to change
	}
	err := eachColumn(s, func(i int) {
		parts := make([]*column.Vector, len(batches))
		for k, b := range batches {
			parts[k], b.Cols[i] = b.Cols[i], nil
		}
		all.Cols[i] = column.Concat(s.Fields[i].Type, parts)
	})
	return all, err
}

// gather is column.Batch.Gather on all CPUs.
func gather(b *column.Batch, rows []uint32) (*column.Batch, error) {
	out := &column.Batch{Schema: b.Schema, Cols: make([]*column.Vector, len(b.Cols)), Len: len(rows)}
	err := eachColumn(b.Schema, func(i int) { out.Cols[i] = column.Gather(b.Cols[i], rows) })
	return out, err
}
