package column

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func bigOf(a Int128) *big.Int {
	b := new(big.Int).Lsh(big.NewInt(a.Hi), 64)
	return b.Add(b, new(big.Int).SetUint64(a.Lo))
}

var int128s = rapid.Custom(func(t *rapid.T) Int128 {
	return Int128{Hi: smallInts.Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
})

func TestParseDecimal(t *testing.T) {
	tests := []struct {
		in               string
		precision, scale int
		want             string // unscaled; empty: error
	}{
		{"0", 1, 0, "0"}, {"-0.00", 3, 2, "0"}, {"1", 3, 2, "100"}, {"-0.01", 13, 2, "-1"},
		{"999999999.99", 11, 2, "99999999999"}, {"9999999999", 11, 2, ""},
		{"1234567890123456789012345678.0123456789", 38, 10, "12345678901234567890123456780123456789"},
		{"99999999999999999999999999999999999999", 38, 0, "99999999999999999999999999999999999999"},
		{"100000000000000000000000000000000000000", 38, 0, ""},
		{"1.2300000000000000000000000000000000000000000000000000", 5, 2, "123"},
		{"0000000000000000000000000000000000000000000000000001", 1, 0, "1"},
		{"1e3", 5, 1, "10000"}, {"1.5E-1", 5, 2, "15"}, {"125e-2", 3, 2, "125"}, {"1e-3", 5, 2, ""},
		{"1e999999999999", 38, 0, ""}, {"0e999999999999", 38, 0, "0"}, {"1e-999999999999", 38, 38, ""},
		{"1.005", 5, 2, ""}, {"", 5, 2, ""}, {".", 5, 2, ""}, {".5", 2, 1, "5"}, {"5.", 2, 1, "50"}, {"1.2.3", 9, 3, ""},
		{"+7", 1, 0, "7"}, {"--7", 1, 0, ""}, {"7e", 1, 0, ""}, {" 7", 1, 0, ""}, {"NaN", 9, 0, ""},
	}
	for _, c := range tests {
		got, err := ParseDecimal(c.in, c.precision, c.scale)
		switch {
		case c.want == "" && !errors.Is(err, ErrDecimal):
			t.Errorf("%q as decimal(%d,%d) = %s, %v; want an error", c.in, c.precision, c.scale, bigOf(got), err)
		case c.want != "" && (err != nil || bigOf(got).String() != c.want):
			t.Errorf("%q as decimal(%d,%d) = %s, %v; want %s", c.in, c.precision, c.scale, bigOf(got), err, c.want)
		}
	}
}

func TestAppendDecimal(t *testing.T) {
	for _, c := range []struct {
		v     Int128
		scale int
		want  string
	}{
		{Int128{}, 0, "0"}, {Int128{}, 2, "0.00"}, {Int128From(-5), 2, "-0.05"}, {Int128From(12345), 2, "123.45"},
		{Int128From(-7), 0, "-7"}, {Int128From(1e18), 0, "1000000000000000000"}, {Int128{Hi: 1}, 0, "18446744073709551616"},
		{Int128{Hi: -1 << 63}, 0, "-170141183460469231731687303715884105728"},
		{Int128From(3), 38, "0.00000000000000000000000000000000000003"},
	} {
		if got := string(AppendDecimal(nil, c.v, c.scale)); got != c.want {
			t.Errorf("AppendDecimal(%v, %d) = %s, want %s", c.v, c.scale, got, c.want)
		}
	}
}

func TestDecimalTextMatchesBigInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := int128s.Draw(t, "v")
		if got := string(AppendDecimal(nil, v, 0)); got != bigOf(v).String() {
			t.Fatalf("%s, want %s", got, bigOf(v))
		}
		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		text := string(AppendDecimal(nil, v, scale))
		back, err := ParseDecimal(text, 38, scale)
		if fits := len(strings.TrimPrefix(bigOf(v).String(), "-")) <= 38; fits != (err == nil) || fits && back != v {
			t.Fatalf("%s read back: %v, %v", text, back, err)
		}
	})
}

func TestRescaleMatchesBigInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := int128s.Draw(t, "v")
		if rapid.Bool().Draw(t, "round") { // else hardly any divides
			v, _ = Int128From(v.Hi).mulSmall(pow10[rapid.IntRange(0, 19).Draw(t, "zeros")].Lo)
		}
		from, to := rapid.IntRange(0, 60).Draw(t, "from"), rapid.IntRange(0, 60).Draw(t, "to")
		got, ok := v.Rescale(from, to)
		want, rem := bigOf(v), new(big.Int)
		ten := big.NewInt(10)
		if to >= from {
			want.Mul(want, ten.Exp(ten, big.NewInt(int64(to-from)), nil))
		} else {
			want.QuoRem(want, ten.Exp(ten, big.NewInt(int64(from-to)), nil), rem)
		}
		top := new(big.Int).Lsh(big.NewInt(1), 127)
		fits := want.Cmp(top) < 0 && want.Cmp(new(big.Int).Neg(top)) >= 0 && rem.Sign() == 0
		if ok != fits || ok && bigOf(got).Cmp(want) != 0 {
			t.Fatalf("%s from %d to %d: %s, %v; want %s, %v", bigOf(v), from, to, bigOf(got), ok, want, fits)
		}
	})
}

func TestBigEndian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := int128s.Draw(t, "v")
		width := rapid.IntRange(16, 20).Draw(t, "width")
		b := v.AppendBigEndian(nil, width)
		if len(b) != width || Int128FromBigEndian(b) != v {
			t.Fatalf("%v in %d bytes: %x", v, width, b)
		}
		small := rapid.Int64Range(-1<<39, 1<<39-1).Draw(t, "small")
		if b := Int128From(small).AppendBigEndian(nil, 5); len(b) != 5 || Int128FromBigEndian(b) != Int128From(small) {
			t.Fatalf("%d in 5 bytes: %x", small, b)
		}
	})
	// -1.00 as decimal(10,2), and 256.
	if got := Int128FromBigEndian([]byte{0xff, 0xff, 0xff, 0xff, 0x9c}); got != Int128From(-100) {
		t.Errorf("got %v", got)
	}
	if got := Int128FromBigEndian([]byte{1, 0}); got != Int128From(256) {
		t.Errorf("got %v", got)
	}
}
