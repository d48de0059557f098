package basefile

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
)

// bound is the least or greatest of some values; the field that goes with the form is in use.
type bound struct {
	i int64 // bool, i32, i64
	f float64
	d column.Int128
	b []byte
}

func (a bound) cmp(o bound, f form) int {
	switch f {
	case formF32, formF64:
		switch {
		case a.f < o.f:
			return -1
		case a.f > o.f:
			return 1
		}
		return 0
	case formDec:
		return a.d.Cmp(o.d)
	case formStr:
		return bytes.Compare(a.b, o.b)
	}
	switch {
	case a.i < o.i:
		return -1
	case a.i > o.i:
		return 1
	}
	return 0
}

// valueRange bounds values that are neither null nor NaN.
type valueRange struct {
	min, max bound
	has      bool // there is such a value
	nan      bool // NaN was among the values
}

// add widens the range by another. Bounds of strings are shared, not copied.
func (r *valueRange) add(o valueRange, f form) {
	r.nan = r.nan || o.nan
	switch {
	case !o.has:
		return
	case !r.has:
		r.min, r.max, r.has = o.min, o.max, true
		return
	}
	if o.min.cmp(r.min, f) < 0 {
		r.min = o.min
	}
	if o.max.cmp(r.max, f) > 0 {
		r.max = o.max
	}
}

// rangeOf bounds the rows lo to hi-1 of a vector without nulls.
func rangeOf(v *column.Vector, f form, lo, hi int) (r valueRange) {
	if lo == hi {
		return r
	}
	switch f {
	case formBool:
		any, all := false, true
		for _, b := range v.Bools[lo:hi] {
			any, all = any || b, all && b
		}
		r.min.i, r.max.i, r.has = bit(all), bit(any), true
	case formI32:
		mn, mx := extremes(v.I32[lo:hi])
		r.min.i, r.max.i, r.has = int64(mn), int64(mx), true
	case formI64:
		r.min.i, r.max.i = extremes(v.I64[lo:hi])
		r.has = true
	case formF32:
		mn, mx, has, nan := floatExtremes(v.F32[lo:hi])
		r = valueRange{min: bound{f: float64(mn)}, max: bound{f: float64(mx)}, has: has, nan: nan}
	case formF64:
		mn, mx, has, nan := floatExtremes(v.F64[lo:hi])
		r = valueRange{min: bound{f: mn}, max: bound{f: mx}, has: has, nan: nan}
	case formDec:
		r.min.d, r.max.d, r.has = v.Dec[lo], v.Dec[lo], true
		for _, x := range v.Dec[lo:hi] {
			if x.Cmp(r.min.d) < 0 {
				r.min.d = x
			} else if x.Cmp(r.max.d) > 0 {
				r.max.d = x
			}
		}
	case formStr:
		r.min.b, r.has = v.Bytes(lo), true
		r.max.b = r.min.b
		for i := lo + 1; i < hi; i++ {
			r.addBytes(v.Bytes(i))
		}
	}
	return r
}

func (r *valueRange) addBytes(b []byte) {
	switch {
	case !r.has:
		r.min.b, r.max.b, r.has = b, b, true
	case bytes.Compare(b, r.min.b) < 0:
		r.min.b = b
	case bytes.Compare(b, r.max.b) > 0:
		r.max.b = b
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func extremes[T int32 | int64](v []T) (mn, mx T) {
	mn, mx = v[0], v[0]
	for _, x := range v {
		mn, mx = min(mn, x), max(mx, x)
	}
	return mn, mx
}

func floatExtremes[T float32 | float64](v []T) (mn, mx T, has, nan bool) {
	for _, x := range v {
		switch {
		case x != x:
			nan = true
		case !has:
			mn, mx, has = x, x, true
		case x < mn:
			mn = x
		case x > mx:
			mx = x
		}
	}
	return mn, mx, has, nan
}

// maxBoundBytes is the length of string bounds in a file: longer ones are cut, the upper rounded up.
const maxBoundBytes = 32

// encodeRange gives the bounds as statistics hold them. ok is false when the values have no bounds
// that every reader takes for what they are: a NaN among them, since readers disagree on its order.
func encodeRange(f *schema.ParquetField, r valueRange) (lo, hi []byte, loExact, hiExact, ok bool) {
	if !r.has || r.nan {
		return nil, nil, false, false, false
	}
	form := formOf(f.Type)
	switch form {
	case formF32, formF64:
		// Zeros compare equal, so a bound of either sign must cover both (Parquet format, ColumnOrder).
		if r.min.f == 0 {
			r.min.f = math.Copysign(0, -1)
		}
		if r.max.f == 0 {
			r.max.f = 0
		}
	case formStr:
		if f.Physical == format.FixedLenByteArray {
			return r.min.b, r.max.b, true, true, len(r.min.b) <= maxExactBound
		}
		lo, loExact = cutDown(r.min.b, maxBoundBytes, f.Type.Kind == column.String)
		hi, hiExact, ok = cutUp(r.max.b, maxBoundBytes, f.Type.Kind == column.String)
		return lo, hi, loExact, hiExact, ok
	}
	return encodeBound(f, r.min), encodeBound(f, r.max), true, true, true
}

// encodeBound is the PLAIN form of a bound that is not a string.
func encodeBound(f *schema.ParquetField, b bound) []byte {
	switch form := formOf(f.Type); {
	case f.Type.Kind == column.Decimal:
		d := b.d
		if form == formI64 {
			d = column.Int128From(b.i)
		}
		return d.AppendBigEndian(nil, f.Length)
	case form == formBool:
		return []byte{byte(b.i)}
	case form == formI32:
		return binary.LittleEndian.AppendUint32(nil, uint32(b.i))
	case form == formI64:
		return binary.LittleEndian.AppendUint64(nil, uint64(b.i))
	case form == formF32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(b.f)))
	case form == formF64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(b.f))
	}
	return b.b
}

// cutDown shortens a lower bound to n bytes, at a character when it is text.
func cutDown(b []byte, n int, text bool) (out []byte, exact bool) {
	if len(b) <= n {
		return b, true
	}
	if text {
		n = charBoundary(b, n)
	}
	return b[:n:n], false
}

// charBoundary is the greatest position up to n at which b, if it is UTF-8, can be cut.
func charBoundary(b []byte, n int) int {
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return n
}

// cutUp shortens an upper bound to one of at most n bytes that is greater. ok is false when there is none: then
// every byte kept is the greatest there is.
func cutUp(b []byte, n int, text bool) (out []byte, exact, ok bool) {
	if len(b) <= n {
		return b, true, true
	}
	if text && utf8.Valid(b) {
		out = append([]byte(nil), b[:charBoundary(b, n)]...)
		for len(out) > 0 {
			r, size := utf8.DecodeLastRune(out)
			out = out[:len(out)-size]
			r++
			if r == 0xD800 { // no character is a surrogate half
				r = 0xE000
			}
			if r <= utf8.MaxRune {
				return utf8.AppendRune(out, r), false, true
			}
		}
		return nil, false, false
	}
	out = append([]byte(nil), b[:n]...)
	for i := n - 1; i >= 0; i-- {
		if out[i] != 0xff {
			out[i]++
			return out[:i+1], false, true
		}
	}
	return nil, false, false
}

// maxExactBound is the length up to which a Summary's bounds of strings are the values themselves.
const maxExactBound = 256
