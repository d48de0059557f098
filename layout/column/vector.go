package column

import (
	"math/bits"
)

// Int128 is an unscaled decimal of more than 18 digits, two's complement.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Int128From widens a 64-bit value.
func Int128From(v int64) Int128 { return Int128{Hi: v >> 63, Lo: uint64(v)} }

// Cmp returns -1, 0 or 1.
func (a Int128) Cmp(b Int128) int {
	switch {
	case a.Hi < b.Hi:
		return -1
	case a.Hi > b.Hi:
		return 1
	case a.Lo < b.Lo:
		return -1
	case a.Lo > b.Lo:
		return 1
	}
	return 0
}

// Neg returns -a.
func (a Int128) Neg() Int128 {
	lo, borrow := bits.Sub64(0, a.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(a.Hi), borrow)
	return Int128{Hi: int64(hi), Lo: lo}
}

// Bitmap holds one bit a row, row i at bit i%64 of word i/64.
type Bitmap []uint64

// NewBitmap returns a cleared bitmap for n rows.
func NewBitmap(n int) Bitmap { return make(Bitmap, (n+63)/64) }

// Get reports bit i.
func (b Bitmap) Get(i int) bool { return b[i>>6]>>(uint(i)&63)&1 != 0 }

// Set sets bit i.
func (b Bitmap) Set(i int) { b[i>>6] |= 1 << (uint(i) & 63) }

// Clear clears bit i.
func (b Bitmap) Clear(i int) { b[i>>6] &^= 1 << (uint(i) & 63) }

// Count returns the number of set bits among the first n.
func (b Bitmap) Count(n int) int {
	c := 0
	for i := 0; i < n>>6; i++ {
		c += bits.OnesCount64(b[i])
	}
	if r := uint(n) & 63; r != 0 {
		c += bits.OnesCount64(b[n>>6] & (1<<r - 1))
	}
	return c
}

// Strings holds variable-length values back to back: value i is Bytes[Offsets[i]:Offsets[i+1]].
type Strings struct {
	Offsets []uint32 // one more than values; the whole is below 4 GiB
	Bytes   []byte
}

// Len returns the number of values.
func (s *Strings) Len() int {
	if len(s.Offsets) == 0 {
		return 0
	}
	return len(s.Offsets) - 1
}

// At returns value i without copying; the caller must not change or keep it beyond the vector.
func (s *Strings) At(i int) []byte { return s.Bytes[s.Offsets[i]:s.Offsets[i+1]:s.Offsets[i+1]] }

// Append adds a value.
func (s *Strings) Append(v []byte) {
	if len(s.Offsets) == 0 {
		s.Offsets = append(s.Offsets, 0)
	}
	s.Bytes = append(s.Bytes, v...)
	s.Offsets = append(s.Offsets, uint32(len(s.Bytes)))
}

// Dictionary is the set of values that codes refer to. Entries are distinct but in no
// particular order. It is immutable and shared between vectors.
type Dictionary struct {
	Strings
}

// Vector is one column of a batch: Len rows of one Type in one storage form (I1).
// Which field is in use follows from Type.Kind (see the constants); a String or Binary
// uses Dict and Codes when Dict is not nil, else Str.
type Vector struct {
	Type  Type
	Len   int
	Valid Bitmap // nil: no nulls (I2)

	Bools []bool
	I32   []int32
	I64   []int64
	F32   []float32
	F64   []float64
	Dec   []Int128

	Str   Strings
	Dict  *Dictionary
	Codes []uint32

	// Offsets delimit the child rows of a List or Map: row i has Offsets[i]..Offsets[i+1]-1.
	Offsets  []int32
	Children []*Vector
}

// Null reports whether row i is null.
func (v *Vector) Null(i int) bool { return v.Valid != nil && !v.Valid.Get(i) }

// NullCount returns the number of null rows.
func (v *Vector) NullCount() int {
	if v.Valid == nil {
		return 0
	}
	return v.Len - v.Valid.Count(v.Len)
}

// Bytes returns the value of a String or Binary row, without copying. Null rows give nil or empty.
func (v *Vector) Bytes(i int) []byte {
	if v.Dict != nil {
		if v.Null(i) {
			return nil
		}
		return v.Dict.At(int(v.Codes[i]))
	}
	return v.Str.At(i)
}

// Batch is a set of rows: one vector a column, all of Len rows.
type Batch struct {
	Schema *Schema
	Cols   []*Vector
	Len    int
}

// Column returns the vector of the named column, or nil.
func (b *Batch) Column(name string) *Vector {
	if i := b.Schema.Index(name); i >= 0 {
		return b.Cols[i]
	}
	return nil
}
