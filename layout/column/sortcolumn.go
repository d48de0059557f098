package column

import (
	"bytes"
	"cmp"
)

// A sortColumn shows SortPermutation one column: as words of a fixed width, or as text.
type sortColumn struct {
	v      *Vector
	text   bool
	depths int      // words a value has, unless text
	narrow bool     // all values of a wide decimal fit the lower word
	ranks  []uint32 // of dictionary entries
	keys   []byte   // of nested values, back to back, with their ends
	ends   []int
}

func newSortColumn(v *Vector, n int) sortColumn {
	c := sortColumn{v: v, depths: 1}
	switch {
	case v.Type.Kind.Nested():
		c.text = true
		c.ends = make([]int, n+1)
		for i := 0; i < n; i++ {
			c.keys = AppendKey(c.keys, v, i)
			c.ends[i+1] = len(c.keys)
		}
	case v.Type.Kind == String || v.Type.Kind == Binary:
		// Ranking a dictionary pays unless the rows are a small part of what it was made for.
		if v.Dict != nil && v.Dict.Len() <= 2*n {
			c.ranks = rankEntries(v.Dict)
		} else {
			c.text = true
		}
	case v.Type.WideDecimal():
		c.narrow = true
		for _, d := range v.Dec[:n] {
			if _, ok := d.Int64(); !ok {
				c.narrow, c.depths = false, 2
				break
			}
		}
	}
	return c
}

// rankEntries numbers the entries of a dictionary in their order.
func rankEntries(d *Dictionary) []uint32 {
	n := d.Len()
	entries := &Vector{Type: Type{Kind: Binary}, Len: n, Str: d.Strings}
	ranks := make([]uint32, n)
	var last []byte
	rank := uint32(0)
	for i, e := range SortPermutation([]*Vector{entries}, n) {
		x := d.At(int(e))
		if i > 0 && !bytes.Equal(x, last) { // a malformed file may repeat an entry
			rank++
		}
		ranks[e], last = rank, x
	}
	return ranks
}

// load writes the word of each row; what it writes for nulls means nothing.
func (c *sortColumn) load(dst []uint64, rows []uint32, depth int) {
	v := c.v
	dst = dst[:len(rows)]
	switch v.Type.Kind {
	case Bool:
		for i, r := range rows {
			dst[i] = 0
			if v.Bools[r] {
				dst[i] = 1
			}
		}
	case Int32, Date:
		for i, r := range rows {
			dst[i] = uint64(orderInt32(v.I32[r]))
		}
	case Float32:
		for i, r := range rows {
			dst[i] = uint64(orderFloat32(v.F32[r]))
		}
	case Float64:
		for i, r := range rows {
			dst[i] = orderFloat64(v.F64[r])
		}
	case String, Binary:
		if len(c.ranks) == 0 { // nothing but nulls
			clear(dst)
			return
		}
		for i, r := range rows {
			dst[i] = uint64(c.ranks[v.Codes[r]])
		}
	default:
		switch {
		case !v.Type.WideDecimal():
			for i, r := range rows {
				dst[i] = orderInt64(v.I64[r])
			}
		case c.narrow:
			for i, r := range rows {
				dst[i] = orderInt64(int64(v.Dec[r].Lo))
			}
		case depth == 0:
			for i, r := range rows {
				dst[i] = orderInt64(v.Dec[r].Hi)
			}
		default:
			for i, r := range rows {
				dst[i] = v.Dec[r].Lo
			}
		}
	}
}

// at returns the text of a row; of a null row nil.
func (c *sortColumn) at(r uint32) []byte {
	if c.ends != nil {
		return c.keys[c.ends[r]:c.ends[r+1]]
	}
	if c.v.Null(int(r)) {
		return nil
	}
	return c.v.Bytes(int(r))
}

// null reports a null row. Keys of nested values tell nulls apart themselves.
func (c *sortColumn) null(r uint32) bool { return c.ends == nil && c.v.Null(int(r)) }

func (c *sortColumn) compare(a, b uint32) int {
	switch {
	case c.ends != nil:
		return bytes.Compare(c.at(a), c.at(b))
	case c.ranks != nil && !c.v.Null(int(a)) && !c.v.Null(int(b)):
		return cmp.Compare(c.ranks[c.v.Codes[a]], c.ranks[c.v.Codes[b]])
	}
	return Compare(c.v, int(a), c.v, int(b))
}

// packText packs the bytes that follow the common prefix of the rows, whose first depth bytes are
// equal. A value takes whole bytes, zeros where it has ended, and then four bits: 0 for null, else
// one more than the number of its bytes that are left, cut to one more than there is room for.
func (c *sortColumn) packText(words []uint64, rows []uint32, depth, room int) (used, next int, done bool) {
	const lengthBits = 4
	var first []byte
	prefix, longest := 0, 0
	nulls, any := false, false
	for _, r := range rows {
		if c.null(r) {
			nulls = true
			continue
		}
		x := c.at(r)
		x = x[min(depth, len(x)):]
		longest = max(longest, len(x))
		if !any {
			any, first, prefix = true, x, len(x)
			continue
		}
		prefix = commonPrefix(first[:prefix], x)
	}
	if !any || longest == prefix && !nulls { // all null, or all equal
		return 0, 0, true
	}
	left := longest - prefix
	depth += prefix
	if room < lengthBits || left > 0 && room < lengthBits+8 {
		return 0, depth, false
	}
	width := min(left, (room-lengthBits)/8, 7)
	for i, r := range rows {
		words[i] <<= uint(8*width + lengthBits)
		if c.null(r) {
			continue
		}
		x := c.at(r)
		x = x[min(depth, len(x)):]
		var w uint64
		for _, b := range x[:min(width, len(x))] {
			w = w<<8 | uint64(b)
		}
		w <<= uint(8 * (width - min(width, len(x))))
		words[i] |= w<<lengthBits | uint64(min(len(x), width+1)+1)
	}
	return 8*width + lengthBits, depth + width, left <= width
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := 0; i < n; i++ {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
