package predicate

import (
	"math"
	"math/big"
	"slices"

	"github.com/shoaldb/shoal/layout/column"
)

// A comparison with a constant is turned, once, into a set of stored values that satisfy it, in the
// unit of the column: an interval, or the points of an IN list. The loops over rows then compare
// stored values only. The constants are neither null nor NaN here.

// intervals of the stored forms; both ends belong to them.
type intSet struct {
	lo, hi int64 // empty when lo > hi
	points []int64
	many   bool // the set is points, sorted, and not lo..hi
}

type wideSet struct {
	lo, hi column.Int128
	points []column.Int128
	many   bool
}

type floatSet struct {
	lo, hi float64
	points []float64
	many   bool
}

func (s *intSet) has(x int64) bool {
	if s.many {
		_, ok := slices.BinarySearch(s.points, x)
		return ok
	}
	return x >= s.lo && x <= s.hi
}

func (s *wideSet) has(x column.Int128) bool {
	if s.many {
		_, ok := slices.BinarySearchFunc(s.points, x, column.Int128.Cmp)
		return ok
	}
	return x.Cmp(s.lo) >= 0 && x.Cmp(s.hi) <= 0
}

func (s *floatSet) has(x float64) bool {
	if s.many {
		_, ok := slices.BinarySearch(s.points, x)
		return ok
	}
	return x >= s.lo && x <= s.hi
}

// storedUnit is the value of one stored unit of a type whose values are stored as integers: in µs
// for times, else as a number.
func storedUnit(t column.Type) *big.Rat {
	switch t.Kind {
	case column.Decimal:
		return powerOfTen(-t.Scale)
	case column.Date:
		return new(big.Rat).SetInt64(microsPerDay)
	case column.TimestampMilli:
		return new(big.Rat).SetInt64(microsPerMilli)
	}
	return new(big.Rat).SetInt64(1)
}

var (
	minWide = new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127))
	maxWide = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))
	one     = big.NewInt(1)
)

// storedRange returns the least and greatest stored 128-bit integer that satisfies op with v; ok is
// false when none does. op is one of Eq, Lt, Le, Gt, Ge.
func storedRange(t column.Type, op Op, v Value) (lo, hi *big.Int, ok bool) {
	if isFloat(v.Kind) && math.IsInf(v.F, 0) {
		above := v.F > 0 // all values are below the constant
		if (op == Lt || op == Le) && above || (op == Gt || op == Ge) && !above {
			return minWide, maxWide, true
		}
		return nil, nil, false
	}
	q := v.rat()
	q.Quo(q, storedUnit(t))
	// The denominator of a Rat is positive, so that Euclidean division is floor.
	floor, rem := new(big.Int).DivMod(q.Num(), q.Denom(), new(big.Int))
	exact := rem.Sign() == 0
	lo, hi = minWide, maxWide
	switch {
	case op == Eq && !exact:
		return nil, nil, false
	case op == Eq:
		lo, hi = floor, floor
	case op == Lt && exact:
		hi = new(big.Int).Sub(floor, one)
	case op == Lt || op == Le:
		hi = floor
	case op == Ge && exact:
		lo = floor
	default: // the next one is the least that is greater
		lo = new(big.Int).Add(floor, one)
	}
	return lo, hi, lo.Cmp(maxWide) <= 0 && hi.Cmp(minWide) >= 0 && lo.Cmp(hi) <= 0
}

func newIntSet(t column.Type, op Op, values []Value) intSet {
	if op == In {
		s := intSet{many: true}
		for _, v := range values {
			if p := newIntSet(t, Eq, []Value{v}); p.lo == p.hi {
				s.points = append(s.points, p.lo)
			}
		}
		slices.Sort(s.points)
		return s
	}
	none := intSet{lo: 1, hi: 0}
	lo, hi, ok := storedRange(t, op, values[0])
	if !ok {
		return none
	}
	s := intSet{lo: math.MinInt64, hi: math.MaxInt64}
	switch {
	case lo.IsInt64():
		s.lo = lo.Int64()
	case lo.Sign() > 0:
		return none
	}
	switch {
	case hi.IsInt64():
		s.hi = hi.Int64()
	case hi.Sign() < 0:
		return none
	}
	return s
}

func newWideSet(t column.Type, op Op, values []Value) wideSet {
	if op == In {
		s := wideSet{many: true}
		for _, v := range values {
			if p := newWideSet(t, Eq, []Value{v}); p.lo == p.hi {
				s.points = append(s.points, p.lo)
			}
		}
		slices.SortFunc(s.points, column.Int128.Cmp)
		return s
	}
	none := wideSet{lo: column.Int128{Lo: 1}}
	lo, hi, ok := storedRange(t, op, values[0])
	if !ok {
		return none
	}
	return wideSet{lo: wide(lo), hi: wide(hi)}
}

// wide cuts b, which lies beyond one end of the range at most, to 128 bits.
func wide(b *big.Int) column.Int128 {
	if b.Cmp(minWide) < 0 {
		b = minWide
	} else if b.Cmp(maxWide) > 0 {
		b = maxWide
	}
	hi := new(big.Int).Rsh(b, 64) // rounds down, as two's complement does
	lo := new(big.Int).Sub(b, new(big.Int).Lsh(hi, 64))
	return column.Int128{Hi: hi.Int64(), Lo: lo.Uint64()}
}

func newFloatSet(op Op, values []Value) floatSet {
	if op == In {
		s := floatSet{many: true}
		for _, v := range values {
			if p := newFloatSet(Eq, []Value{v}); p.lo == p.hi {
				s.points = append(s.points, p.lo)
			}
		}
		slices.Sort(s.points)
		return s
	}
	none := floatSet{lo: 1, hi: 0}
	f, exact := floorFloat(values[0])
	all := floatSet{lo: math.Inf(-1), hi: math.Inf(1)}
	switch {
	case op == Eq && !exact:
		return none
	case op == Eq:
		return floatSet{lo: f, hi: f}
	case op == Lt && exact:
		if f == all.lo {
			return none
		}
		all.hi = math.Nextafter(f, all.lo)
	case op == Lt || op == Le:
		all.hi = f
	case op == Ge && exact:
		all.lo = f
	default:
		if f == all.hi {
			return none
		}
		all.lo = math.Nextafter(f, all.hi)
	}
	return all
}

// floorFloat returns the greatest float64 that is not above a number.
func floorFloat(v Value) (f float64, exact bool) {
	if isFloat(v.Kind) {
		return v.F, true
	}
	q := v.rat()
	f, exact = q.Float64()
	if exact {
		return f, true
	}
	if math.IsInf(f, 1) || !math.IsInf(f, -1) && new(big.Rat).SetFloat64(f).Cmp(q) > 0 {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return f, false
}
