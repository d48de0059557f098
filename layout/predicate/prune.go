package predicate

import (
	"bytes"
)

// ColumnStats is what is known of one column in a set of rows.
type ColumnStats struct {
	Rows     int64
	Nulls    int64 // -1: unknown
	Min, Max Value // bounds, not necessarily values, of everything but nulls and NaN
	HasRange bool  // Min and Max are set
	MayNaN   bool  // NaN may be among the values
	Bytes    int64 // compressed
}

// Stats is what is known of a set of rows: of a file, a row group, a page, a partition.
type Stats interface {
	// Rows is the number of rows.
	Rows() int64
	// Column returns the statistics of a column; false when nothing is known.
	Column(name string) (ColumnStats, bool)
}

// Answer is what statistics say of a predicate.
type Answer uint8

// The answers.
const (
	Unknown Answer = iota
	No             // no row satisfies it
	Yes            // every row satisfies it
)

func (a Answer) String() string { return [...]string{"unknown", "no", "yes"}[a] }

// truths is the set of truth values that a predicate may have among the rows.
type truths uint8

const (
	mayBeTrue truths = 1 << iota
	mayBeFalse
	mayBeNull
	mayBeAny = mayBeTrue | mayBeFalse | mayBeNull
)

// Prune answers a predicate from statistics alone. Of no rows at all the answer is No.
func (p *Predicate) Prune(s Stats) Answer {
	switch t := p.truths(s); {
	case s.Rows() == 0 || t&mayBeTrue == 0:
		return No
	case t == mayBeTrue:
		return Yes
	}
	return Unknown
}

func (p *Predicate) truths(s Stats) truths {
	if p == nil {
		return mayBeTrue
	}
	if p.check() != nil {
		return mayBeAny
	}
	switch p.Op {
	case And, Or:
		// The value that decides alone, and the one that all operands must have otherwise.
		decisive, other := mayBeFalse, mayBeTrue
		if p.Op == Or {
			decisive, other = mayBeTrue, mayBeFalse
		}
		sum := other
		for _, a := range p.Args {
			t := a.truths(s)
			sum = combine(sum, t, decisive, other)
		}
		return sum
	case Not:
		t := p.Args[0].truths(s)
		return t&mayBeNull | t&mayBeTrue<<1 | t&mayBeFalse>>1
	}
	st, ok := s.Column(p.Column)
	if !ok {
		return mayBeAny
	}
	if st.Rows == 0 {
		st.Rows = s.Rows()
	}
	return p.leafTruths(st)
}

// combine returns the values that a conjunction (or, with the roles swapped, a disjunction) of
// operands with these sets may have.
func combine(a, b, decisive, other truths) truths {
	sum := (a | b) & decisive
	if a&other != 0 && b&other != 0 {
		sum |= other
	}
	if a&mayBeNull != 0 && b&(other|mayBeNull) != 0 || b&mayBeNull != 0 && a&(other|mayBeNull) != 0 {
		sum |= mayBeNull
	}
	return sum
}

// leafTruths is truths of an operator on a column.
func (p *Predicate) leafTruths(st ColumnStats) truths {
	nulls := st.Nulls != 0                           // there may be nulls
	others := st.Nulls != st.Rows || st.Rows == 0    // there may be other values
	isNull := p.Op == NullSafeEq && p.Values[0].Null // x <=> NULL is x IS NULL
	if p.Op == IsNull || isNull {
		return when(nulls, mayBeTrue) | when(others, mayBeFalse)
	}
	if p.Op == In && len(p.Values) == 0 {
		return mayBeFalse
	}
	t := when(nulls, mayBeNull)
	if others {
		t |= p.presentTruths(st)
	}
	if p.Op == NullSafeEq && t&mayBeNull != 0 {
		t = t&^mayBeNull | mayBeFalse
	}
	return t
}

func when(c bool, t truths) truths {
	if c {
		return t
	}
	return 0
}

// presentTruths is truths for the values that are not null.
func (p *Predicate) presentTruths(st ColumnStats) truths {
	if p.Op != In {
		return p.compareTruths(st, p.Values[0])
	}
	// IN is a disjunction of equalities of one value, so that all being false at once is the only
	// way to be false.
	sum := mayBeFalse
	for _, v := range p.Values {
		sum = combine(sum, (&Predicate{Op: Eq, Column: p.Column, Values: []Value{v}}).compareTruths(st, v), mayBeTrue, mayBeFalse)
	}
	return sum
}

func (p *Predicate) compareTruths(st ColumnStats, v Value) truths {
	switch {
	case v.Null || v.isNaN() && p.Op != Prefix:
		return mayBeNull
	case !st.HasRange:
		return mayBeAny
	}
	if !p.fits(st.Min.Kind, v) {
		return mayBeAny
	}
	lo, ok1 := Compare(st.Min, v)
	hi, ok2 := Compare(st.Max, v)
	if order, ok := Compare(st.Min, st.Max); !ok || !ok1 || !ok2 || order > 0 {
		return mayBeAny
	}
	nan := when(st.MayNaN, mayBeNull)
	// whole says that all values satisfy the comparison, some that one may.
	truth := func(some, whole bool) truths {
		return nan | when(some, mayBeTrue) | when(!whole, mayBeFalse)
	}
	switch p.Op {
	case Eq, NullSafeEq:
		return truth(lo <= 0 && hi >= 0, lo == 0 && hi == 0)
	case Ne:
		return truth(lo != 0 || hi != 0, lo > 0 || hi < 0)
	case Lt:
		return truth(lo < 0, hi < 0)
	case Le:
		return truth(lo <= 0, hi <= 0)
	case Gt:
		return truth(hi > 0, lo > 0)
	case Ge:
		return truth(hi >= 0, lo >= 0)
	case Prefix:
		// Texts with the prefix are an interval that begins with the prefix itself.
		first, last := bytes.HasPrefix(st.Min.B, v.B), bytes.HasPrefix(st.Max.B, v.B)
		return truth((lo <= 0 || first) && hi >= 0, first && last)
	}
	return mayBeAny
}
