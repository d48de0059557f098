package predicate

import (
	"errors"
	"fmt"

	"github.com/shoaldb/shoal/layout/column"
)

// Op is what a predicate asks.
type Op uint8

// The operators. And, Or and Not have Args, the others a Column.
const (
	And        Op = iota // all Args; true when there are none
	Or                   // any of Args; false when there are none
	Not                  // Args[0]
	Eq                   // = Values[0]
	NullSafeEq           // <=> Values[0]: true for two nulls, false for one; never null
	Ne                   // <> Values[0]
	Lt                   // < Values[0]
	Le                   // <= Values[0]
	Gt                   // > Values[0]
	Ge                   // >= Values[0]
	In                   // equal to one of Values; not false but null when none is and one is null; of none: false
	IsNull               // is null; NaN is not
	Prefix               // text that begins with the bytes of Values[0]
)

// Predicate is a condition on the rows of a table. A nil Predicate is true.
type Predicate struct {
	Op     Op
	Column string       // exact name
	Values []Value      // constants
	Args   []*Predicate // operands of And, Or, Not
}

// ErrPredicate is wrapped by the errors for predicates that cannot be evaluated on a batch.
var ErrPredicate = errors.New("predicate does not fit the data")

// Columns lists the columns the predicate looks at, each once, in order of appearance.
func (p *Predicate) Columns() []string {
	return p.columns(nil)
}

func (p *Predicate) columns(names []string) []string {
	switch {
	case p == nil:
	case p.Op <= Not:
		for _, a := range p.Args {
			names = a.columns(names)
		}
	default:
		for _, n := range names {
			if n == p.Column {
				return names
			}
		}
		names = append(names, p.Column)
	}
	return names
}

// check reports what is wrong with the shape of one predicate, its operands aside.
func (p *Predicate) check() error {
	switch {
	case p.Op > Prefix:
		return fmt.Errorf("%w: operator %d", ErrPredicate, p.Op)
	case p.Op == Not && len(p.Args) != 1:
		return fmt.Errorf("%w: NOT of %d operands", ErrPredicate, len(p.Args))
	case p.Op >= Eq && p.Op != In && p.Op != IsNull && len(p.Values) != 1:
		return fmt.Errorf("%w: column %q compared with %d values", ErrPredicate, p.Column, len(p.Values))
	}
	return nil
}

// fits reports whether a constant can be compared with values of a kind, for the operator.
func (p *Predicate) fits(k column.Kind, v Value) bool {
	if v.Null {
		return true
	}
	c := classOf(k)
	return c != noClass && c == classOf(v.Kind) && (p.Op != Prefix || c == text)
}
