package predicate

import (
	"fmt"

	"github.com/shoaldb/shoal/layout/column"
)

// Eval returns the rows of sel, ascending, for which p is true; a nil sel means all rows. The result
// is never nil and does not share memory with sel. Evaluating batch after batch is cheaper with an
// Evaluator.
func (p *Predicate) Eval(b *column.Batch, sel []uint32) ([]uint32, error) {
	return NewEvaluator(p).Eval(b, sel)
}

// An Evaluator evaluates one predicate on batches of one schema. It keeps what it has found out of
// constants and of dictionaries, so that each entry of a dictionary that batches share is looked at
// once. It is for one goroutine.
type Evaluator struct {
	root *Predicate
	leaf map[*Predicate]*leaf
}

// NewEvaluator prepares the evaluation of a predicate.
func NewEvaluator(p *Predicate) *Evaluator {
	return &Evaluator{root: p, leaf: map[*Predicate]*leaf{}}
}

// Eval is Predicate.Eval. It fails, with an error wrapping ErrPredicate and naming the column, when a
// column is missing or a constant does not compare with it.
func (e *Evaluator) Eval(b *column.Batch, sel []uint32) ([]uint32, error) {
	if sel == nil {
		sel = make([]uint32, b.Len)
		for i := range sel {
			sel[i] = uint32(i)
		}
	}
	if e.root == nil {
		return append(make([]uint32, 0, len(sel)), sel...), nil
	}
	return e.rows(e.root, b, sel, true)
}

// rows returns the rows of sel for which p is true, or those for which it is false.
func (e *Evaluator) rows(p *Predicate, b *column.Batch, sel []uint32, want bool) ([]uint32, error) {
	if p == nil {
		p = &Predicate{Op: And}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	switch p.Op {
	case Not:
		return e.rows(p.Args[0], b, sel, !want)
	case And, Or:
		if (p.Op == And) == want {
			return e.all(p.Args, b, sel, want)
		}
		return e.any(p.Args, b, sel, want)
	}
	l := e.leaf[p]
	if l == nil {
		l = &leaf{p: p}
		e.leaf[p] = l
	}
	return l.rows(b, sel, want)
}

// all returns the rows for which every operand is want.
func (e *Evaluator) all(args []*Predicate, b *column.Batch, sel []uint32, want bool) ([]uint32, error) {
	if len(args) == 0 {
		return append(make([]uint32, 0, len(sel)), sel...), nil
	}
	for _, a := range args {
		var err error
		if sel, err = e.rows(a, b, sel, want); err != nil {
			return nil, err
		}
	}
	return sel, nil
}

// any returns the rows for which at least one operand is want.
func (e *Evaluator) any(args []*Predicate, b *column.Batch, sel []uint32, want bool) ([]uint32, error) {
	found := []uint32{}
	for _, a := range args {
		more, err := e.rows(a, b, sel, want)
		if err != nil {
			return nil, err
		}
		sel = without(sel, more)
		found = merge(found, more)
	}
	return found, nil
}

// without returns the rows of a that are not in b; both ascend, and b is part of a.
func without(a, b []uint32) []uint32 {
	out := make([]uint32, 0, len(a)-len(b))
	for _, r := range a {
		if len(b) > 0 && b[0] == r {
			b = b[1:]
			continue
		}
		out = append(out, r)
	}
	return out
}

// merge joins two ascending lists that share no row.
func merge(a, b []uint32) []uint32 {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// A leaf evaluates one comparison. The set of values that satisfy it is made for the type of the
// first batch, and again should another batch have another.
type leaf struct {
	p     *Predicate
	ready bool
	typ   column.Type
	// For a comparison, satisfied when the value is in the set, or not in it for invert.
	ints   intSet
	wide   wideSet
	floats floatSet
	text   textSet
	invert bool
	// A comparison with null or NaN is neither; an IN list that holds one is never false.
	neverTrue, neverFalse bool

	dict    *column.Dictionary
	verdict []uint8 // by code: entryUnknown, entryOut, entryIn
}

const (
	entryUnknown = iota
	entryOut
	entryIn
)

func (l *leaf) rows(b *column.Batch, sel []uint32, want bool) ([]uint32, error) {
	p := l.p
	v := b.Column(p.Column)
	if v == nil {
		return nil, fmt.Errorf("%w: no column %q", ErrPredicate, p.Column)
	}
	if p.Op == IsNull || p.Op == NullSafeEq && p.Values[0].Null {
		return nullRows(v, sel, want), nil
	}
	if p.Op == In && len(p.Values) == 0 { // false whatever the row
		if want {
			return []uint32{}, nil
		}
		return append(make([]uint32, 0, len(sel)), sel...), nil
	}
	if !l.ready || !l.typ.Equal(v.Type) {
		if err := l.prepare(v.Type); err != nil {
			return nil, err
		}
	}
	out := make([]uint32, 0, len(sel))
	if p.Op == NullSafeEq {
		equal := out
		if !l.neverTrue {
			equal = l.present(v, sel, out, true)
		}
		if want {
			return equal, nil
		}
		return without(sel, equal), nil
	}
	if want && l.neverTrue || !want && l.neverFalse {
		return out, nil
	}
	return l.present(v, sel, out, want != l.invert), nil
}

func nullRows(v *column.Vector, sel []uint32, want bool) []uint32 {
	out := make([]uint32, 0, len(sel))
	if v.Valid == nil {
		if !want {
			out = append(out, sel...)
		}
		return out
	}
	for _, r := range sel {
		if v.Valid.Get(int(r)) != want {
			out = append(out, r)
		}
	}
	return out
}

// prepare makes the set of stored values for a type.
func (l *leaf) prepare(t column.Type) error {
	p, op := l.p, l.p.Op
	if classOf(t.Kind) == noClass {
		return fmt.Errorf("%w: column %q of type %s has no order", ErrPredicate, p.Column, t)
	}
	l.typ, l.ready, l.invert = t, false, false
	l.dict, l.verdict = nil, nil
	values := make([]Value, 0, len(p.Values))
	for _, v := range p.Values {
		if !p.fits(t.Kind, v) {
			return fmt.Errorf("%w: column %q of type %s compared with a value of type %s", ErrPredicate, p.Column, t, v.Kind)
		}
		if !v.Null && !v.isNaN() {
			values = append(values, v)
		}
	}
	l.ready = true
	l.neverFalse = len(values) < len(p.Values)
	if l.neverTrue = l.neverFalse && op != In; l.neverTrue {
		return nil
	}
	switch op {
	case NullSafeEq:
		op = Eq
	case Ne:
		op, l.invert = Eq, true
	}
	switch {
	case t.Kind == column.String || t.Kind == column.Binary:
		l.text = newTextSet(op, values)
	case isFloat(t.Kind):
		l.floats = newFloatSet(op, values)
	case t.WideDecimal():
		l.wide = newWideSet(t, op, values)
	default:
		l.ints = newIntSet(t, op, values)
	}
	return nil
}

// present appends the rows whose value, not null and not NaN, is in the set, or not in it.
func (l *leaf) present(v *column.Vector, sel, out []uint32, in bool) []uint32 {
	switch v.Type.Kind {
	case column.Bool:
		yes, no := l.ints.has(1) == in, l.ints.has(0) == in
		for _, r := range sel {
			if x := v.Bools[r]; (x && yes || !x && no) && !v.Null(int(r)) {
				out = append(out, r)
			}
		}
		return out
	case column.Int32, column.Date:
		return selectInts(v.I32, v.Valid, sel, out, &l.ints, in)
	case column.Float32:
		return selectFloats(v.F32, v.Valid, sel, out, &l.floats, in)
	case column.Float64:
		return selectFloats(v.F64, v.Valid, sel, out, &l.floats, in)
	case column.String, column.Binary:
		if v.Dict != nil {
			return l.selectCodes(v, sel, out, in)
		}
		for _, r := range sel {
			if !v.Null(int(r)) && l.text.has(v.Str.At(int(r))) == in {
				out = append(out, r)
			}
		}
		return out
	}
	if v.Type.WideDecimal() {
		for _, r := range sel {
			if !v.Null(int(r)) && l.wide.has(v.Dec[r]) == in {
				out = append(out, r)
			}
		}
		return out
	}
	return selectInts(v.I64, v.Valid, sel, out, &l.ints, in)
}

// selectInts writes every row and keeps it by advancing, so that the loop has no branch that data
// could make hard to predict.
func selectInts[T int32 | int64](x []T, valid column.Bitmap, sel, out []uint32, s *intSet, in bool) []uint32 {
	if s.many {
		for _, r := range sel {
			if (valid == nil || valid.Get(int(r))) && s.has(int64(x[r])) == in {
				out = append(out, r)
			}
		}
		return out
	}
	lo, hi, empty := s.lo, s.hi, s.lo > s.hi
	if empty {
		if in {
			return out
		}
		return appendPresent(valid, sel, out)
	}
	out = out[:len(sel)]
	n := 0
	span := uint64(hi) - uint64(lo)
	for _, r := range sel {
		out[n] = r
		if (uint64(int64(x[r]))-uint64(lo) <= span) == in {
			n++
		}
	}
	return keepPresent(valid, out[:n])
}

func selectFloats[T float32 | float64](x []T, valid column.Bitmap, sel, out []uint32, s *floatSet, in bool) []uint32 {
	if s.many || !in {
		for _, r := range sel {
			if f := float64(x[r]); f == f && (valid == nil || valid.Get(int(r))) && s.has(f) == in {
				out = append(out, r)
			}
		}
		return out
	}
	lo, hi := s.lo, s.hi
	out = out[:len(sel)]
	n := 0
	for _, r := range sel {
		out[n] = r
		if f := float64(x[r]); f >= lo && f <= hi {
			n++
		}
	}
	return keepPresent(valid, out[:n])
}

// keepPresent drops, in place, the rows that are null.
func keepPresent(valid column.Bitmap, rows []uint32) []uint32 {
	if valid == nil {
		return rows
	}
	n := 0
	for _, r := range rows {
		rows[n] = r
		if valid.Get(int(r)) {
			n++
		}
	}
	return rows[:n]
}

func appendPresent(valid column.Bitmap, sel, out []uint32) []uint32 {
	return keepPresent(valid, append(out, sel...))
}

// selectCodes looks at an entry of the dictionary when the first row has it.
func (l *leaf) selectCodes(v *column.Vector, sel, out []uint32, in bool) []uint32 {
	if l.dict != v.Dict {
		l.dict, l.verdict = v.Dict, make([]uint8, v.Dict.Len())
	}
	want := uint8(entryOut)
	if in {
		want = entryIn
	}
	for _, r := range sel {
		if v.Null(int(r)) {
			continue
		}
		c := v.Codes[r]
		known := l.verdict[c]
		if known == entryUnknown {
			known = entryOut
			if l.text.has(v.Dict.At(int(c))) {
				known = entryIn
			}
			l.verdict[c] = known
		}
		if known == want {
			out = append(out, r)
		}
	}
	return out
}
