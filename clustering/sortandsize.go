package clustering

import (
	"context"
	"errors"

	"github.com/shoaldb/shoal/layout/column"
)

// SortAndSize is the default execution strategy: the rows of a group in linear order of the sort
// columns, or as they come where there are none, in files near the target size.
//
// Rows that fit in memory are sorted whole. More are cut into ranges of the first sort column, whose
// bounds are drawn from a sample; each range is read by itself, sorted and written, so that the
// output is in order without merging and every byte is written once. A value that fills a range
// alone is cut by the next sort column, and rows that are equal in all of them need no sort.
type SortAndSize struct{}

// Execute implements ExecutionStrategy.
func (SortAndSize) Execute(ctx context.Context, j *Job) error {
	out := j.Output()
	if len(j.Layout.Columns) == 0 {
		if err := j.Read(ctx, func(b *column.Batch) error { return out.Write(ctx, b) }); err != nil {
			return err
		}
		return out.Close(ctx)
	}
	for _, name := range j.Layout.Columns {
		if j.Schema().Index(name) < 0 {
			return &OrderColumnError{Column: name}
		}
	}
	// Beside the rows as read, sorting holds one column after the other joined; then the joined rows
	// and their permutation. The file being written holds a row group that is not encoded yet.
	limit := max(j.MemoryBytes-flushedBytes, j.MemoryBytes/2) / 3 * 2
	s := &rangeSorter{j: j, out: out, limit: max(limit, 1)}
	if err := s.sort(ctx, span{}); err != nil {
		return err
	}
	return out.Close(ctx)
}

// rangeSorter writes the rows of a job in order, holding no more than limit bytes of rows as read.
type rangeSorter struct {
	j        *Job
	out      *Output
	limit    int64
	rowBytes float64 // in memory, measured
}

// sort writes the rows of a span in order.
func (s *rangeSorter) sort(ctx context.Context, r span) error {
	if r.equal == len(s.j.Layout.Columns) {
		return s.read(ctx, r, func(b *column.Batch) error { return s.out.Write(ctx, b) })
	}
	fits, err := s.inMemory(ctx, r)
	if err != nil || fits {
		return err
	}
	parts, err := s.split(ctx, r)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := s.sort(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// errTooLarge stops the reading of a span that exceeds the limit.
var errTooLarge = errors.New("span exceeds the memory limit")

// inMemory sorts and writes a span, or gives up, having written nothing, once its rows take more
// than the limit or are sure to.
func (s *rangeSorter) inMemory(ctx context.Context, r span) (fits bool, err error) {
	var batches []*column.Batch
	var rows, size int64
	seen := map[*column.Dictionary]bool{}
	err = s.read(ctx, r, func(b *column.Batch) error {
		rows += int64(b.Len)
		size += memoryOf(b, seen)
		s.rowBytes = float64(size) / float64(rows)
		// Of the whole group the rows to come are known, which spares reading half of it in vain.
		if size > s.limit || r.where == nil && s.rowBytes*float64(s.j.Group.Rows) > 2*float64(s.limit) {
			return errTooLarge
		}
		batches = append(batches, b)
		return nil
	})
	if errors.Is(err, errTooLarge) {
		return false, nil
	} else if err != nil || len(batches) == 0 {
		return err == nil, err
	}
	all, err := joinBatches(s.j.Schema(), batches)
	if err != nil {
		return false, err
	}
	batches = nil
	keys := make([]*column.Vector, len(s.j.Layout.Columns))
	for i, name := range s.j.Layout.Columns {
		keys[i] = all.Column(name)
	}
	order := column.SortPermutation(keys, all.Len)
	for lo := 0; lo < all.Len; lo += readRows {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		part, err := gather(all, order[lo:min(lo+readRows, all.Len)])
		if err != nil {
			return false, err
		}
		if err := s.out.Write(ctx, part); err != nil {
			return false, err
		}
	}
	return true, nil
}

// read hands over the rows of a span.
func (s *rangeSorter) read(ctx context.Context, r span, batch func(*column.Batch) error) error {
	if r.where == nil {
		return s.j.Read(ctx, batch)
	}
	return s.j.scan(ctx, s.j.Schema().Names(), r.where, func(b *column.Batch) error {
		if b = r.keep(b); b.Len == 0 {
			return nil
		}
		return batch(b)
	})
}
