package clustering

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// span is a part of a job's rows that stays together in the output: an interval of one sort column
// among rows that are equal in the sort columns before it.
type span struct {
	where *predicate.Predicate // nil: all rows
	// nan are columns in which the rows of the span have NaN, with which nothing compares, so that
	// no predicate can ask for it.
	nan []string
	// equal is the number of leading sort columns in which the rows do not differ.
	equal int
}

// and narrows a span by one more condition.
func (r span) and(p *predicate.Predicate) span {
	if r.where != nil {
		p = &predicate.Predicate{Op: predicate.And, Args: []*predicate.Predicate{r.where, p}}
	}
	r.where = p
	return r
}

// keep leaves of a batch the rows with NaN where the span wants it.
func (r span) keep(b *column.Batch) *column.Batch {
	for _, name := range r.nan {
		v := b.Column(name)
		var rows []uint32
		for i := range v.Len {
			if isNaN(v, i) {
				rows = append(rows, uint32(i))
			}
		}
		if len(rows) < b.Len {
			b = b.Gather(rows)
		}
	}
	return b
}

func isNaN(v *column.Vector, i int) bool {
	switch {
	case v.Null(i):
		return false
	case v.Type.Kind == column.Float64:
		return math.IsNaN(v.F64[i])
	case v.Type.Kind == column.Float32:
		return math.IsNaN(float64(v.F32[i]))
	}
	return false
}

// split cuts a span that is too large into spans of about as many rows as fit, in ascending order:
// null, the intervals between values of a sample, NaN. Rows of one value are never in two.
func (s *rangeSorter) split(ctx context.Context, r span) ([]span, error) {
	name := s.j.Layout.Columns[r.equal]
	values, err := s.sample(ctx, r, name)
	if err != nil {
		return nil, err
	}
	only := func(p *predicate.Predicate) span {
		p2 := r.and(p)
		p2.equal++
		return p2
	}
	isNull := &predicate.Predicate{Op: predicate.IsNull, Column: name}
	compare := func(op predicate.Op, v predicate.Value) *predicate.Predicate {
		return &predicate.Predicate{Op: op, Column: name, Values: []predicate.Value{v}}
	}
	var parts []span
	if values.nulls {
		parts = append(parts, only(isNull))
	}
	// A fifth of the limit is left to chance: sampled ranges are not quite even.
	n := int(min(1+1.25*float64(values.rows)*s.rowBytes/float64(s.limit), sampleRows))
	bounds := values.bounds(max(n, 2))
	rest := r
	for _, b := range bounds {
		parts = append(parts, rest.and(compare(predicate.Lt, b.value)))
		if b.heavy {
			parts = append(parts, only(compare(predicate.Eq, b.value)))
			rest = r.and(compare(predicate.Gt, b.value))
		} else {
			rest = r.and(compare(predicate.Ge, b.value))
		}
	}
	if len(bounds) > 0 {
		parts = append(parts, rest)
	}
	if values.nan {
		p := only(&predicate.Predicate{Op: predicate.Not, Args: []*predicate.Predicate{isNull}})
		p.nan = append(slices.Clip(p.nan), name)
		parts = append(parts, p)
	}
	return parts, nil
}

// sampleRows is how many values decide where a span is cut, at most twice.
const sampleRows = 32 << 10

// sampled is what a look at one column of a span found.
type sampled struct {
	rows       int64 // of the span
	nulls, nan bool  // whether there are any, not by chance
	values     *column.Vector
}

// bound is a value at which a span is cut. A heavy one is so frequent that its rows get a span of
// their own.
type bound struct {
	value predicate.Value
	heavy bool
}

// bounds cuts the sample into n parts of equal size. When it has but one value that is heavy, so
// that every span that is cut becomes smaller.
func (x *sampled) bounds(n int) []bound {
	m := x.values.Len
	if m == 0 {
		return nil
	}
	order := column.SortPermutation([]*column.Vector{x.values}, m)
	var out []bound
	for k := 1; k < n; k++ {
		v, ok := predicate.ValueOf(x.values, int(order[k*m/n]))
		if !ok {
			continue
		}
		if len(out) > 0 {
			if c, ok := predicate.Compare(out[len(out)-1].value, v); ok && c == 0 {
				out[len(out)-1].heavy = true
				continue
			}
		}
		out = append(out, bound{value: v})
	}
	if len(out) == 1 {
		out[0].heavy = true
	}
	return out
}

// sample looks at every value of a column in a span and keeps some, spread over all of it at random
// distances, so that a rhythm in the data does not show. On the way through all rows of a job it
// also tallies them.
func (s *rangeSorter) sample(ctx context.Context, r span, name string) (*sampled, error) {
	j := s.j
	columns := append([]string{name}, r.nan...)
	whole := r.where == nil
	if whole {
		for _, c := range j.tallied {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	typ := j.Schema().Fields[j.Schema().Index(name)].Type
	rnd := rand.New(rand.NewPCG(uint64(j.number), uint64(r.equal)))
	out := &sampled{}
	kept := column.NewBuilder(typ, 0)
	stride := int64(1)
	next, seen := int64(0), int64(0) // among the values that are not null or NaN
	var in tally
	err := j.scan(ctx, columns, r.where, func(b *column.Batch) error {
		if whole {
			in.add(b, j.tallied)
		}
		b = r.keep(b)
		out.rows += int64(b.Len)
		v := b.Cols[0]
		for i := range v.Len {
			switch {
			case v.Null(i):
				out.nulls = true
				continue
			case isNaN(v, i):
				out.nan = true
				continue
			}
			if seen == next {
				kept.AppendFrom(v, i)
				next += 1 + rnd.Int64N(2*stride-1)
			}
			seen++
		}
		if kept.Len() > 2*sampleRows {
			kept = everySecond(kept)
			stride *= 2
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if whole {
		j.in, j.inKnown = in, true
	}
	out.values = kept.Finish()
	return out, nil
}

// everySecond drops half of the values.
func everySecond(b *column.Builder) *column.Builder {
	v := b.Finish()
	half := make([]uint32, 0, v.Len/2)
	for i := 0; i < v.Len; i += 2 {
		half = append(half, uint32(i))
	}
	v = column.Gather(v, half)
	out := column.NewBuilder(v.Type, 2*sampleRows)
	out.AppendVector(v)
	return out
}
