package column

import (
	"math/bits"
)

// SortPermutation returns the row numbers 0 to n-1 in ascending order (I7) of the columns, the first
// column counting most. The sort is stable. All columns have n rows.
//
// It sorts by packed keys: the columns of a run of rows, each reduced to the bits it needs within
// the run (values less their minimum, ranks of dictionary entries, string bytes behind the common
// prefix), fill the upper bits of a 64-bit word and the row's place in the run the lower ones. The
// words are sorted by radix; rows whose bits are equal form runs of their own, which are sorted by
// what the words had no room for. It needs 24 bytes a row.
func SortPermutation(cols []*Vector, n int) []uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	if n < 2 || len(cols) == 0 {
		return rows
	}
	s := &rowSorter{
		cols:  make([]sortColumn, len(cols)),
		words: make([]uint64, n),
		spare: make([]uint64, n),
		moved: make([]uint32, n),
	}
	for i, v := range cols {
		s.cols[i] = newSortColumn(v, n)
	}
	s.sort(rows, 0, sortState{})
	return rows
}

// smallRun is the length up to which rows are compared one by one.
const smallRun = 20

// sortState says how far the rows of a run are known to be equal: in all columns before col, and in
// the first depth bytes (for strings) or words (for wide decimals) of col.
type sortState struct{ col, depth int }

type rowSorter struct {
	cols  []sortColumn
	words []uint64
	spare []uint64
	moved []uint32
	block [512]uint64
}

// sort sorts a run of rows whose scratch begins at base.
func (s *rowSorter) sort(rows []uint32, base int, at sortState) {
	if len(rows) <= smallRun {
		s.insertionSort(rows, at.col)
		return
	}
	words := s.words[base : base+len(rows)]
	placeBits := bits.Len(uint(len(rows) - 1))
	clear(words)
	next, used := s.pack(words, rows, at, 64-placeBits)
	if used > 0 {
		for i := range words {
			words[i] = words[i]<<uint(placeBits) | uint64(i)
		}
		sortWords(words, s.spare[base:base+len(rows)], placeBits, placeBits+used)
		moved := s.moved[base : base+len(rows)]
		mask := uint64(1)<<uint(placeBits) - 1
		for i, w := range words {
			moved[i] = rows[w&mask]
		}
		copy(rows, moved)
	}
	if next.col == len(s.cols) {
		return
	}
	if used == 0 { // equal so far
		s.sort(rows, base, next)
		return
	}
	// The scratch of a run is free for its own sort once its end is known.
	for lo := 0; lo < len(rows); {
		key := words[lo] >> uint(placeBits)
		hi := lo + 1
		for hi < len(rows) && words[hi]>>uint(placeBits) == key {
			hi++
		}
		if hi-lo > 1 {
			s.sort(rows[lo:hi], base+lo, next)
		}
		lo = hi
	}
}

// pack shifts the bits that tell the rows apart into the words, at most room of them, and returns
// where it stopped: next.col == len(cols) when the words say everything.
func (s *rowSorter) pack(words []uint64, rows []uint32, at sortState, room int) (next sortState, used int) {
	for at.col < len(s.cols) {
		c := &s.cols[at.col]
		var n int
		var done bool
		if c.text {
			n, at.depth, done = c.packText(words, rows, at.depth, room-used)
		} else {
			n, at.depth, done = s.packWord(c, words, rows, at.depth, room-used)
		}
		used += n
		if !done {
			return at, used
		}
		at = sortState{col: at.col + 1}
	}
	return at, used
}

// packWord packs a column of fixed width. depth is the word of the value, of which a wide decimal
// has two.
func (s *rowSorter) packWord(c *sortColumn, words []uint64, rows []uint32, depth, room int) (used, next int, done bool) {
	for {
		lo, hi, nulls, any := s.bounds(c, rows, depth)
		last := depth == c.depths-1
		if !any || lo == hi && !nulls {
			if !any || last {
				return used, 0, true
			}
			depth++
			continue
		}
		null := uint64(0)
		if nulls {
			null = 1
		}
		// Without enough room the upper bits go first; the run of equal ones has a smaller range.
		shift := uint(0)
		width := neededBits(hi-lo, null)
		for width > room-used {
			if room-used < 2 {
				return used, depth, false
			}
			shift += uint(max(1, width-(room-used)))
			width = neededBits((hi-lo)>>shift, null)
		}
		s.addWords(c, words, rows, depth, lo, shift, null, uint(width))
		used += width
		if shift > 0 {
			return used, depth, false
		}
		if last {
			return used, 0, true
		}
		depth++
		// The second word counts only among equal first words, which the next level sorts out.
		return used, depth, false
	}
}

// neededBits is the width of numbers from 0 to span+null; 65 when they do not fit a word.
func neededBits(span, null uint64) int {
	sum, carry := bits.Add64(span, null, 0)
	if carry != 0 {
		return 65
	}
	return bits.Len64(sum)
}

// bounds returns the least and greatest word among the rows that are not null, whether there are
// nulls, and whether there is anything else.
func (s *rowSorter) bounds(c *sortColumn, rows []uint32, depth int) (lo, hi uint64, nulls, any bool) {
	lo = 1<<64 - 1
	for len(rows) > 0 {
		part := rows[:min(len(rows), len(s.block))]
		rows = rows[len(part):]
		block := s.block[:len(part)]
		c.load(block, part, depth)
		if c.v.Valid == nil {
			any = true
			for _, w := range block {
				lo, hi = min(lo, w), max(hi, w)
			}
			continue
		}
		for i, r := range part {
			if !c.v.Valid.Get(int(r)) {
				nulls = true
				continue
			}
			any = true
			lo, hi = min(lo, block[i]), max(hi, block[i])
		}
	}
	return lo, hi, nulls, any
}

func (s *rowSorter) addWords(c *sortColumn, words []uint64, rows []uint32, depth int, lo uint64, shift uint, null uint64, width uint) {
	for len(rows) > 0 {
		part := rows[:min(len(rows), len(s.block))]
		block := s.block[:len(part)]
		c.load(block, part, depth)
		if c.v.Valid == nil {
			for i, w := range block {
				words[i] = words[i]<<width | (w-lo)>>shift
			}
		} else {
			for i, r := range part {
				w := uint64(0)
				if c.v.Valid.Get(int(r)) {
					w = (block[i]-lo)>>shift + null
				}
				words[i] = words[i]<<width | w
			}
		}
		rows, words = rows[len(part):], words[len(part):]
	}
}

// insertionSort sorts few rows by comparing them, from column col on.
func (s *rowSorter) insertionSort(rows []uint32, col int) {
	for i := 1; i < len(rows); i++ {
		r := rows[i]
		j := i
		for j > 0 && s.after(rows[j-1], r, col) {
			rows[j] = rows[j-1]
			j--
		}
		rows[j] = r
	}
}

func (s *rowSorter) after(a, b uint32, col int) bool {
	for i := col; i < len(s.cols); i++ {
		if c := s.cols[i].compare(a, b); c != 0 {
			return c > 0
		}
	}
	return false
}
