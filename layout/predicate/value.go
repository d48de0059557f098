package predicate

import (
	"bytes"
	"cmp"
	"math"
	"math/big"

	"github.com/shoaldb/shoal/layout/column"
)

// Value is a constant, or a bound of a column's values. Which field holds it follows from Kind.
type Value struct {
	Kind column.Kind
	Null bool
	// I holds Bool (0 or 1), Int32, Int64, Date (days since 1970-01-01), Time (µs since midnight), and
	// Timestamp and TimestampMilli, both in µs since the epoch.
	I int64
	F float64 // Float32, Float64
	// D is the unscaled value of a Decimal with Scale digits after the point.
	D     column.Int128
	Scale int
	B     []byte // String, Binary
}

// class groups the kinds whose values compare with one another.
type class uint8

const (
	noClass class = iota
	numeric
	text
	temporal // points in time; a date is its midnight
	timeOfDay
)

func classOf(k column.Kind) class {
	switch k {
	case column.Bool, column.Int32, column.Int64, column.Float32, column.Float64, column.Decimal:
		return numeric
	case column.String, column.Binary:
		return text
	case column.Date, column.Timestamp, column.TimestampMilli:
		return temporal
	case column.Time:
		return timeOfDay
	}
	return noClass
}

func isFloat(k column.Kind) bool { return k == column.Float32 || k == column.Float64 }

func (v Value) isNaN() bool { return isFloat(v.Kind) && v.F != v.F }

// Compare returns the order of two values: -1, 0 or 1. Numbers compare exactly whatever their kinds,
// a date compares as its midnight, text and binaries by their bytes. ok is false when a value is null
// or NaN or the kinds do not compare.
func Compare(a, b Value) (order int, ok bool) {
	c := classOf(a.Kind)
	if a.Null || b.Null || c == noClass || c != classOf(b.Kind) || a.isNaN() || b.isNaN() {
		return 0, false
	}
	switch {
	case c == text:
		return bytes.Compare(a.B, b.B), true
	case isFloat(a.Kind) && isFloat(b.Kind):
		return cmp.Compare(a.F, b.F), true
	case a.wholeUnit() && b.wholeUnit() && (a.Kind == column.Date) == (b.Kind == column.Date):
		return cmp.Compare(a.I, b.I), true
	}
	if isFloat(a.Kind) && math.IsInf(a.F, 0) {
		return sign(a.F), true
	}
	if isFloat(b.Kind) && math.IsInf(b.F, 0) {
		return -sign(b.F), true
	}
	if a.Kind == column.Decimal && b.Kind == column.Decimal {
		// Equal scales, or digits to spare, need no big numbers.
		s := max(a.Scale, b.Scale)
		x, xOK := a.D.Rescale(a.Scale, s)
		y, yOK := b.D.Rescale(b.Scale, s)
		if xOK && yOK {
			return x.Cmp(y), true
		}
	}
	return a.rat().Cmp(b.rat()), true
}

// wholeUnit reports a value held in I.
func (v Value) wholeUnit() bool {
	return !isFloat(v.Kind) && v.Kind != column.Decimal && classOf(v.Kind) != text
}

func sign(f float64) int {
	if f < 0 {
		return -1
	}
	return 1
}

const (
	microsPerDay   = 24 * 60 * 60 * 1_000_000
	microsPerMilli = 1000
)

// rat is the exact value of a number, or of a time in µs. The value is finite.
func (v Value) rat() *big.Rat {
	switch {
	case isFloat(v.Kind):
		return new(big.Rat).SetFloat64(v.F)
	case v.Kind == column.Decimal:
		return new(big.Rat).Mul(new(big.Rat).SetInt(bigInt(v.D)), powerOfTen(-v.Scale))
	case v.Kind == column.Date:
		return new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(v.I), big.NewInt(microsPerDay)))
	}
	return new(big.Rat).SetInt64(v.I)
}

func bigInt(a column.Int128) *big.Int {
	b := new(big.Int).Lsh(big.NewInt(a.Hi), 64)
	return b.Add(b, new(big.Int).SetUint64(a.Lo))
}

// powerOfTen is 10^n; scales are small.
func powerOfTen(n int) *big.Rat {
	neg := n < 0
	if neg {
		n = -n
	}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	r := new(big.Rat).SetInt(p)
	if neg {
		return r.Inv(r)
	}
	return r
}
