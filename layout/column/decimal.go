package column

import (
	"errors"
	"fmt"
	"math/bits"
)

// MaxPrecision is the largest number of digits of a Decimal.
const MaxPrecision = 38

// ErrDecimal is wrapped by the errors of ParseDecimal.
var ErrDecimal = errors.New("not a decimal of the type")

// pow10 holds 10^0 to 10^38.
var pow10 = func() (p [MaxPrecision + 1]Int128) {
	p[0] = Int128{Lo: 1}
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].mulSmall(10)
	}
	return p
}()

// Sign returns -1, 0 or 1.
func (a Int128) Sign() int {
	switch {
	case a.Hi < 0:
		return -1
	case a.Hi == 0 && a.Lo == 0:
		return 0
	}
	return 1
}

// Int64 returns the value as int64; ok is false when it does not fit.
func (a Int128) Int64() (v int64, ok bool) {
	v = int64(a.Lo)
	return v, a.Hi == v>>63
}

// abs returns the magnitude as an unsigned 128-bit number.
func (a Int128) abs() (hi, lo uint64) {
	if a.Hi < 0 {
		a = a.Neg()
	}
	return uint64(a.Hi), a.Lo
}

// fromMagnitude is the inverse of abs; ok is false when the number does not fit.
func fromMagnitude(neg bool, hi, lo uint64) (a Int128, ok bool) {
	a = Int128{Hi: int64(hi), Lo: lo}
	if neg {
		a = a.Neg()
		return a, hi>>63 == 0 || hi == 1<<63 && lo == 0
	}
	return a, hi>>63 == 0
}

// mulSmall multiplies by m; ok is false on overflow.
func (a Int128) mulSmall(m uint64) (Int128, bool) {
	hi, lo := a.abs()
	over, hi := bits.Mul64(hi, m)
	carry, lo := bits.Mul64(lo, m)
	hi, c := bits.Add64(hi, carry, 0)
	if over != 0 || c != 0 {
		return Int128{}, false
	}
	return fromMagnitude(a.Hi < 0, hi, lo)
}

// divSmall returns quotient and remainder of the magnitude, both with the sign of a left out.
func divSmall(hi, lo, d uint64) (qhi, qlo, rem uint64) {
	qhi, rem = bits.Div64(0, hi, d)
	qlo, rem = bits.Div64(rem, lo, d)
	return qhi, qlo, rem
}

// Rescale turns an unscaled value of one scale into that of another. It is exact: ok is false when
// digits would be lost or the result does not fit 128 bits.
func (a Int128) Rescale(from, to int) (b Int128, ok bool) {
	if a.Sign() == 0 {
		return a, true
	}
	for from < to {
		step := min(to-from, 19)
		if a, ok = a.mulSmall(pow10[step].Lo); !ok {
			return Int128{}, false
		}
		from += step
	}
	for from > to {
		step := min(from-to, 19)
		hi, lo := a.abs()
		hi, lo, rem := divSmall(hi, lo, pow10[step].Lo)
		if rem != 0 {
			return Int128{}, false
		}
		if a, ok = fromMagnitude(a.Hi < 0, hi, lo); !ok {
			return Int128{}, false
		}
		from -= step
	}
	return a, true
}

// FitsPrecision reports whether the unscaled value has at most precision digits.
func (a Int128) FitsPrecision(precision int) bool {
	if precision >= len(pow10) {
		precision = len(pow10) - 1
	}
	if a.Hi < 0 {
		a = a.Neg()
		if a.Hi < 0 {
			return false
		}
	}
	return a.Cmp(pow10[precision]) < 0
}

// Int128FromBigEndian reads a two's complement number, most significant byte first, as Parquet and
// Avro store decimals. Of more than 16 bytes the last 16 count; no bytes are zero.
func Int128FromBigEndian(b []byte) Int128 {
	if len(b) == 0 {
		return Int128{}
	}
	if len(b) > 16 {
		b = b[len(b)-16:]
	}
	a := Int128From(int64(int8(b[0])))
	for _, c := range b[1:] {
		a.Hi = a.Hi<<8 | int64(a.Lo>>56)
		a.Lo = a.Lo<<8 | uint64(c)
	}
	return a
}

// AppendBigEndian appends the lowest width bytes of the two's complement, most significant first.
// Widths above 16 are sign-extended.
func (a Int128) AppendBigEndian(dst []byte, width int) []byte {
	for i := width - 1; i >= 0; i-- {
		switch {
		case i >= 16:
			dst = append(dst, byte(a.Hi>>63))
		case i >= 8:
			dst = append(dst, byte(a.Hi>>(8*uint(i-8))))
		default:
			dst = append(dst, byte(a.Lo>>(8*uint(i))))
		}
	}
	return dst
}

// AppendDecimal appends the exact text of an unscaled value: scale digits after the point, no exponent.
func AppendDecimal(dst []byte, v Int128, scale int) []byte {
	var digits [40]byte // 2^127 has 39 digits
	i := len(digits)
	hi, lo := v.abs()
	for hi != 0 || lo != 0 {
		var rem uint64
		hi, lo, rem = divSmall(hi, lo, 1e18)
		last := hi == 0 && lo == 0
		for k := 0; k < 18 && (!last || rem != 0); k++ {
			i--
			digits[i] = byte('0' + rem%10)
			rem /= 10
		}
	}
	if v.Hi < 0 {
		dst = append(dst, '-')
	}
	n := len(digits) - i
	if n <= scale {
		dst = append(dst, '0')
	} else {
		dst = append(dst, digits[i:len(digits)-scale]...)
		i = len(digits) - scale
	}
	if scale > 0 {
		dst = append(dst, '.')
		for ; n < scale; n++ {
			dst = append(dst, '0')
		}
		dst = append(dst, digits[i:]...)
	}
	return dst
}

// ParseDecimal reads a decimal number, with or without point and exponent, as an unscaled value of
// the type. It never rounds: text with more significant digits than precision and scale allow, or
// that is no number, gives an error wrapping ErrDecimal.
func ParseDecimal(s string, precision, scale int) (Int128, error) {
	bad := func(why string) (Int128, error) {
		return Int128{}, fmt.Errorf("%w: %.60q %s", ErrDecimal, s, why)
	}
	i, neg := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	var v Int128
	digits, frac, zeros, point := 0, 0, 0, false
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		if point {
			frac++
		}
		// Zeros wait until a digit follows, so that trailing ones never overflow.
		if zeros++; c == '0' {
			continue
		}
		if v.Sign() == 0 {
			zeros = 1
		}
		for ; zeros > 0; zeros-- {
			var ok bool
			if v, ok = v.mulSmall(10); !ok {
				return bad("has too many digits")
			}
		}
		if v.Lo += uint64(c - '0'); v.Lo < uint64(c-'0') {
			v.Hi++
		}
		if !v.FitsPrecision(MaxPrecision) {
			return bad("has too many digits")
		}
	}
	if digits == 0 {
		return bad("is no number")
	}
	frac -= zeros // the digits of v after the point; negative when zeros before it were held back
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		exp, j, expNeg := 0, i+1, false
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			expNeg = s[j] == '-'
			j++
		}
		start := j
		for ; j < len(s) && s[j] >= '0' && s[j] <= '9'; j++ {
			if exp < 1<<20 {
				exp = exp*10 + int(s[j]-'0')
			}
		}
		if j == start {
			return bad("is no number")
		}
		if expNeg {
			exp = -exp
		}
		frac -= exp
		i = j
	}
	if i < len(s) {
		return bad("is no number")
	}
	if v.Sign() == 0 {
		return v, nil
	}
	if frac > scale { // v ends in a digit other than zero
		return bad(fmt.Sprintf("has more than %d decimal places", scale))
	}
	v, ok := v.Rescale(frac, scale)
	if !ok || !v.FitsPrecision(precision) {
		return bad(fmt.Sprintf("does not fit decimal(%d,%d)", precision, scale))
	}
	if neg {
		v = v.Neg()
	}
	return v, nil
}

// Decimal returns the unscaled value of a row of a Decimal column in either storage form.
func (v *Vector) Decimal(i int) Int128 {
	if v.Type.WideDecimal() {
		return v.Dec[i]
	}
	return Int128From(v.I64[i])
}
