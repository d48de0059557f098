package column

import (
	"bytes"
	"hash/maphash"
)

// smallDictionary is the number of entries up to which a dictionary is kept however few rows
// there are.
const smallDictionary = 1024

// interner gives equal byte strings equal codes, numbered by first appearance.
type interner struct {
	values Strings
	hashes []uint32 // of the values, by code
	table  []uint32 // open addressing: code+1, 0 is free; its length is a power of two
	seed   maphash.Seed
}

func newInterner(capacity int) *interner {
	size := 64
	for size < 2*capacity {
		size *= 2
	}
	return &interner{table: make([]uint32, size), seed: maphash.MakeSeed(), values: Strings{Offsets: []uint32{0}}}
}

func (t *interner) code(x []byte) uint32 {
	h := uint32(maphash.Bytes(t.seed, x))
	mask := uint32(len(t.table) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		c := t.table[i]
		if c == 0 {
			return t.add(x, h, i)
		}
		if c--; t.hashes[c] == h && bytes.Equal(t.values.At(int(c)), x) {
			return c
		}
	}
}

func (t *interner) add(x []byte, h, slot uint32) uint32 {
	checkStringBytes(len(t.values.Bytes) + len(x))
	c := uint32(t.values.Len())
	t.values.Append(x)
	t.hashes = append(t.hashes, h)
	t.table[slot] = c + 1
	if 2*len(t.hashes) > len(t.table) {
		t.table = make([]uint32, 2*len(t.table))
		mask := uint32(len(t.table) - 1)
		for c, h := range t.hashes {
			i := h & mask
			for t.table[i] != 0 {
				i = (i + 1) & mask
			}
			t.table[i] = uint32(c) + 1
		}
	}
	return c
}

// remapper translates codes of one dictionary into those of an interner, looking at an entry
// only when a row uses it.
type remapper struct {
	from  *Dictionary
	to    *interner
	codes []uint32 // code+1 in the interner, 0 where not looked up yet
}

func (m *remapper) bind(to *interner, from *Dictionary) {
	if m.from == from && m.to == to {
		return
	}
	m.from, m.to = from, to
	m.codes = append(m.codes[:0], make([]uint32, from.Len())...)
}

func (m *remapper) one(to *interner, from *Dictionary, code uint32) uint32 {
	m.bind(to, from)
	if c := m.codes[code]; c != 0 {
		return c - 1
	}
	c := to.code(from.At(int(code)))
	m.codes[code] = c + 1
	return c
}
