package clustering

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// SortAndSize is the default execution strategy: the rows of a group in linear order of the sort
// columns, or as they come without any, in files near the target size.
//
// A group that fits in memory is sorted whole. A larger one is cut into ranges of its first sort
// column, found by sampling that column; each range is read by itself, sorted and appended, so
// the output is in order without a merge and every byte is written once.
type SortAndSize struct{}

// Execute implements ExecutionStrategy.
func (SortAndSize) Execute(ctx context.Context, j *Job) error {
	out := j.Output(j.Group.Rows)
	if len(j.Layout.Columns) == 0 {
		err := j.Read(ctx, nil, func(b *column.Batch) error {
			j.in.add(b)
			return out.write(ctx, b)
		})
		if err != nil {
			return err
		}
		return out.close(ctx)
	}
	for _, name := range j.Layout.Columns {
		if j.Schema().Index(name) < 0 {
			return &OrderColumnError{Column: name}
		}
	}
	fits, err := j.sortRange(ctx, interval{}, out, j.MemoryBytes)
	if err != nil {
		return err
	}
	if !fits {
		ranges, err := j.ranges(ctx)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			// A range of one value repeated may be larger than the budget; it goes on all the same,
			// since there is nothing to cut it by.
			if _, err := j.sortRange(ctx, r, out, 0); err != nil {
				return err
			}
		}
	}
	return out.close(ctx)
}

// interval is a range of the first sort column: the rows for which of is true, all if it is nil,
// but those for which but is true.
type interval struct {
	of, but *predicate.Predicate
}

// take leaves out the rows for which but is true.
func (r interval) take(b *column.Batch) (*column.Batch, error) {
	if r.but == nil {
		return b, nil
	}
	drop, err := r.but.Eval(b, nil)
	if err != nil {
		return nil, err
	}
	keep := make([]uint32, 0, b.Len-len(drop))
	for i := range b.Len {
		if len(drop) > 0 && drop[0] == uint32(i) {
			drop = drop[1:]
		} else {
			keep = append(keep, uint32(i))
		}
	}
	return b.Gather(keep), nil
}

// sortRange reads the rows of an interval, sorts and writes them. With a limit in bytes it
// gives up, having written nothing, once the rows take more than that.
func (j *Job) sortRange(ctx context.Context, r interval, out *output, limit int64) (fits bool, err error) {
	// Beside the rows as read, sorting holds one joined column after the other, then the joined
	// rows alone, the permutation and a part gathered for writing.
	limit = limit * 2 / 3
	var batches []*column.Batch
	var in tally
	var size int64
	tooLarge := fmt.Errorf("group exceeds the budget")
	err = j.Read(ctx, r.of, func(b *column.Batch) error {
		b, err := r.take(b)
		if err != nil || b.Len == 0 {
			return err
		}
		size += batchBytes(b)
		if limit > 0 && size > limit {
			return tooLarge
		}
		in.add(b)
		batches = append(batches, b)
		return nil
	})
	if err == tooLarge {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if len(batches) == 0 {
		return true, nil
	}
	all, err := joinBatches(j.Schema(), batches)
	if err != nil {
		return false, err
	}
	batches = nil
	keys := make([]*column.Vector, len(j.Layout.Columns))
	for i, name := range j.Layout.Columns {
		keys[i] = all.Column(name)
	}
	order := column.SortPermutation(keys, all.Len)
	j.in.rows += in.rows
	j.in.sum += in.sum
	const chunk = 64 << 10
	for lo := 0; lo < all.Len; lo += chunk {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		part, err := gather(all, order[lo:min(lo+chunk, all.Len)])
		if err != nil {
			return false, err
		}
		if err := out.write(ctx, part); err != nil {
			return false, err
		}
	}
	return true, nil
}

// eachColumn runs f for every column, as many at a time as there are CPUs.
func eachColumn(n int, f func(i int)) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("column %d: panic: %v", i+1, r)
				}
			}()
			f(i)
			return nil
		})
	}
	return g.Wait()
}

// joinBatches joins batches column by column and lets go of each joined column's parts.
func joinBatches(s *column.Schema, batches []*column.Batch) (*column.Batch, error) {
	all := &column.Batch{Schema: s, Cols: make([]*column.Vector, len(s.Fields))}
	for i, b := range batches {
		all.Len += b.Len
		batches[i] = &column.Batch{Schema: s, Cols: slices.Clone(b.Cols), Len: b.Len} // a batch itself is shared
	}
	err := eachColumn(len(s.Fields), func(i int) {
		parts := make([]*column.Vector, len(batches))
		for k, b := range batches {
			parts[k], b.Cols[i] = b.Cols[i], nil
		}
		all.Cols[i] = column.Concat(s.Fields[i].Type, parts)
	})
	return all, err
}

// gather is Batch.Gather on all CPUs.
func gather(b *column.Batch, rows []uint32) (*column.Batch, error) {
	out := &column.Batch{Schema: b.Schema, Cols: make([]*column.Vector, len(b.Cols)), Len: len(rows)}
	err := eachColumn(len(b.Cols), func(i int) { out.Cols[i] = column.Gather(b.Cols[i], rows) })
	return out, err
}

func batchBytes(b *column.Batch) int64 {
	var n int64
	for _, c := range b.Cols {
		if c.Dict != nil {
			// A dictionary is shared by many batches; joined, the values may stand alone.
			n += int64(4 * len(c.Codes))
			continue
		}
		n += column.SizeBytes(c)
	}
	return n
}

// sampleRows is how many values of the first sort column decide the ranges.
const sampleRows = 50_000

// ranges cuts the first sort column into intervals of about as many rows as fit the budget. Rows
// of one value are never in two; nulls come first.
func (j *Job) ranges(ctx context.Context) ([]interval, error) {
	name := j.Layout.Columns[0]
	sample, rows, err := j.sample(ctx, name)
	if err != nil {
		return nil, err
	}
	rowBytes, err := j.rowBytes(ctx)
	if err != nil {
		return nil, err
	}
	parts := int(1 + 4*rows*rowBytes/max(j.MemoryBytes, 1))
	isNull := &predicate.Predicate{Op: predicate.IsNull, Column: name}
	notNull := &predicate.Predicate{Op: predicate.Not, Args: []*predicate.Predicate{isNull}}
	var bounds []predicate.Value
	if sample.Len > 0 {
		order := column.SortPermutation([]*column.Vector{sample}, sample.Len)
		var last []byte
		for i := 1; i < parts; i++ {
			at := order[min(i*sample.Len/parts, sample.Len-1)]
			key := column.AppendKey(nil, sample, int(at))
			v, ok := predicate.ValueOf(sample, int(at))
			if !ok || string(key) == string(last) {
				continue // a NaN, or more of the same value
			}
			last = key
			bounds = append(bounds, v)
		}
	}
	cmp := func(op predicate.Op, v predicate.Value) *predicate.Predicate {
		return &predicate.Predicate{Op: op, Column: name, Values: []predicate.Value{v}}
	}
	if len(bounds) == 0 {
		return []interval{{of: isNull}, {of: notNull}}, nil
	}
	out := []interval{{of: isNull}, {of: cmp(predicate.Lt, bounds[0])}}
	for i := 1; i < len(bounds); i++ {
		out = append(out, interval{of: &predicate.Predicate{Op: predicate.And, Args: []*predicate.Predicate{
			cmp(predicate.Ge, bounds[i-1]), cmp(predicate.Lt, bounds[i])}}})
	}
	// The last takes what is not below its bound rather than what is above: no comparison is true
	// for a NaN, which sorts last.
	return append(out, interval{of: notNull, but: cmp(predicate.Lt, bounds[len(bounds)-1])}), nil
}

// sample draws non-null values of a column evenly from the job's rows (reservoir sampling) and
// counts the rows.
func (j *Job) sample(ctx context.Context, name string) (*column.Vector, int64, error) {
	sc, err := j.scan(ctx, []string{name}, nil)
	if err != nil {
		return nil, 0, err
	}
	defer sc.Close()
	rnd := rand.New(rand.NewPCG(uint64(j.number), 1))
	type place struct {
		v *column.Vector
		i int
	}
	var kept []place
	var rows, seen int64
	var t column.Type
	for {
		b, err := sc.Next(ctx)
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, 0, err
		}
		v := b.Cols[0]
		t = v.Type
		rows += int64(v.Len)
		var one *column.Builder // the sampled values of this batch, so that the batch can go
		var at []int
		for i := range v.Len {
			if v.Null(i) {
				continue
			}
			seen++
			slot := len(kept)
			if slot >= sampleRows {
				if k := rnd.Int64N(seen); k < sampleRows {
					slot = int(k)
				} else {
					continue
				}
			}
			if one == nil {
				one = column.NewBuilder(t, 0)
			}
			one.AppendFrom(v, i)
			if slot == len(kept) {
				kept = append(kept, place{})
			}
			kept[slot] = place{i: one.Len() - 1}
			at = append(at, slot)
		}
		if one != nil {
			vec := one.Finish()
			for _, slot := range at {
				kept[slot].v = vec
			}
		}
	}
	out := column.NewBuilder(t, len(kept))
	for _, p := range kept {
		out.AppendFrom(p.v, p.i)
	}
	return out.Finish(), rows, nil
}

// rowBytes measures what a row takes in memory, on the first batch.
func (j *Job) rowBytes(ctx context.Context) (int64, error) {
	sc, err := j.scan(ctx, j.Schema().Names(), nil)
	if err != nil {
		return 0, err
	}
	defer sc.Close()
	b, err := sc.Next(ctx)
	if err == io.EOF {
		return 1, nil
	} else if err != nil {
		return 0, err
	}
	return max(1, batchBytes(b)/int64(b.Len)), nil
}
