package basefile

import (
	"hash/maphash"
	"math"
	"math/bits"

	"github.com/shoaldb/shoal/layout/column"
)

const (
	// maxDictEntries and maxDictBytes bound a dictionary of numbers and one of strings: beyond them
	// random access costs a reader more than the smaller pages save.
	maxDictEntries = 1 << 15
	maxDictBytes   = 2 << 20
	// A dictionary that takes in more than this share of the first page's values is given up there.
	maxFirstPageDistinct = 0.4
	// dictOverhead is what a dictionary page costs beside its entries.
	dictOverhead = 64
)

// coded is a chunk's values as codes into a dictionary of those that occur. It is good until the
// builder's next call.
type coded struct {
	codes []int32
	first []uint32 // for each entry a row that holds it
}

// dictionaryBuilder makes dictionaries. Its tables are reused.
type dictionaryBuilder struct {
	codes []int32
	first []uint32
	table []uint32 // code+1 by hash
	keys  []uint64
	local []int32
	seed  maphash.Seed
}

func (d *dictionaryBuilder) reset(n, tableSize int) {
	if cap(d.codes) < n {
		d.codes = make([]int32, n)
	}
	d.codes = d.codes[:n]
	d.first = d.first[:0]
	d.keys = d.keys[:0]
	if cap(d.table) < tableSize {
		d.table = make([]uint32, tableSize)
	}
	d.table = d.table[:tableSize]
	clear(d.table)
}

// numbers codes n numbers, given by their bits, of width bytes each. ok is false when a dictionary
// would not be smaller, or large. bitsOf must be cheap: it is called for each row.
func numberCodes[T any](d *dictionaryBuilder, v []T, width int, bitsOf func(T) uint64, pageRows int) (c coded, ok bool) {
	const logSize = 17
	d.reset(len(v), 1<<logSize)
	for at := 0; at < len(v); {
		end := min(at+pageRows, len(v))
		for i := at; i < end; i++ {
			x := bitsOf(v[i])
			h := x * 0x9E3779B97F4A7C15 >> (64 - logSize)
			for {
				t := d.table[h]
				if t == 0 {
					if len(d.keys) == maxDictEntries {
						return coded{}, false
					}
					d.keys = append(d.keys, x)
					d.first = append(d.first, uint32(i))
					t = uint32(len(d.keys))
					d.table[h] = t
				}
				if d.keys[t-1] == x {
					d.codes[i] = int32(t - 1)
					break
				}
				h = (h + 1) & (1<<logSize - 1)
			}
		}
		if at == 0 && float64(len(d.keys)) > maxFirstPageDistinct*float64(end) && end > 16 {
			return coded{}, false
		}
		at = end
	}
	if !smaller(len(d.keys)*width, len(d.keys), len(v), len(v)*width) {
		return coded{}, false
	}
	return coded{codes: d.codes, first: d.first}, true
}

// smaller reports whether a dictionary of the given size with n codes takes less than plain bytes.
func smaller(dictBytes, entries, n, plain int) bool {
	codeBytes := n * bits.Len(uint(max(entries-1, 1))) / 8
	return dictBytes+codeBytes+dictOverhead < plain
}

// encodeNumbers codes the values of a numeric vector.
func (d *dictionaryBuilder) numbers(v *column.Vector, f form, pageRows int) (coded, bool) {
	switch f {
	case formI32:
		return numberCodes(d, v.I32, 4, func(x int32) uint64 { return uint64(uint32(x)) }, pageRows)
	case formI64:
		return numberCodes(d, v.I64, 8, func(x int64) uint64 { return uint64(x) }, pageRows)
	case formF32:
		return numberCodes(d, v.F32, 4, func(x float32) uint64 { return uint64(math.Float32bits(x)) }, pageRows)
	case formF64:
		return numberCodes(d, v.F64, 8, math.Float64bits, pageRows)
	}
	return coded{}, false
}

// strings codes the values of a String or Binary vector.
func (d *dictionaryBuilder) strings(v *column.Vector, pageRows int) (coded, bool) {
	if v.Len == 0 {
		return coded{}, false
	}
	if v.Dict != nil {
		return d.recode(v)
	}
	if d.seed == (maphash.Seed{}) {
		d.seed = maphash.MakeSeed()
	}
	size := 1 << 10
	d.reset(v.Len, size)
	dictBytes := 0
	for i := range v.Len {
		x := v.Str.At(i)
		h := maphash.Bytes(d.seed, x)
		p := h & uint64(size-1)
		for {
			t := d.table[p]
			if t == 0 {
				if dictBytes += len(x) + 4; dictBytes > maxDictBytes {
					return coded{}, false
				}
				d.first = append(d.first, uint32(i))
				d.keys = append(d.keys, h)
				t = uint32(len(d.first))
				d.table[p] = t
			}
			if d.keys[t-1] == h && string(v.Str.At(int(d.first[t-1]))) == string(x) {
				d.codes[i] = int32(t - 1)
				break
			}
			p = (p + 1) & uint64(size-1)
		}
		if 2*len(d.first) > size {
			size *= 4
			d.rehash(size)
		}
		if i+1 == pageRows && float64(len(d.first)) > maxFirstPageDistinct*float64(pageRows) {
			return coded{}, false
		}
	}
	if !smaller(dictBytes, len(d.first), v.Len, len(v.Str.Bytes)+4*v.Len) {
		return coded{}, false
	}
	return coded{codes: d.codes, first: d.first}, true
}

func (d *dictionaryBuilder) rehash(size int) {
	if cap(d.table) < size {
		d.table = make([]uint32, size)
	}
	d.table = d.table[:size]
	clear(d.table)
	for c, h := range d.keys {
		p := h & uint64(size-1)
		for d.table[p] != 0 {
			p = (p + 1) & uint64(size-1)
		}
		d.table[p] = uint32(c) + 1
	}
}

// recode takes the codes of a vector and leaves out the entries that do not occur.
func (d *dictionaryBuilder) recode(v *column.Vector) (coded, bool) {
	d.reset(v.Len, 0)
	n := v.Dict.Len()
	if cap(d.local) < n {
		d.local = make([]int32, n)
	}
	local := d.local[:n]
	for i := range local {
		local[i] = -1
	}
	dictBytes, plain := 0, 0
	for i, g := range v.Codes[:v.Len] {
		c := local[g]
		l := int(v.Dict.Offsets[g+1] - v.Dict.Offsets[g])
		if c < 0 {
			c = int32(len(d.first))
			local[g] = c
			d.first = append(d.first, uint32(i))
			dictBytes += l + 4
		}
		plain += l + 4
		d.codes[i] = c
	}
	if dictBytes > maxDictBytes || !smaller(dictBytes, len(d.first), v.Len, plain) {
		return coded{}, false
	}
	return coded{codes: d.codes, first: d.first}, true
}
