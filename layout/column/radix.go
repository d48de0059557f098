package column

import "math/bits"

const (
	digitBits = 11
	// lsdLimit is the number of words up to which they are sorted from the lowest digit up: as many
	// as stay in the second-level cache with their copy. More are first split by their top digit.
	lsdLimit = 1 << 16
)

// sortWords sorts words by their bits from..to-1; all bits from to on are equal, and bits below
// from ascend with the place, so that a stable sort by the upper ones sorts the whole words. spare
// is scratch of the same length.
func sortWords(words, spare []uint64, from, to int) {
	if len(words) <= 32 {
		insertWords(words, len(words)*len(words))
		return
	}
	// Rows often arrive nearly in order: a bounded number of moves may do.
	if insertWords(words, 2*len(words)) {
		return
	}
	if len(words) > lsdLimit && to-from > digitBits {
		splitWords(words, spare, from, to)
		return
	}
	src, dst := words, spare
	for shift := from; shift < to; shift += digitBits {
		if scatter(src, dst, uint(shift), min(digitBits, to-shift)) {
			src, dst = dst, src
		}
	}
	if &src[0] != &words[0] {
		copy(words, src)
	}
}

// insertWords sorts by insertion with at most budget moves; it reports whether that was enough. If
// not, the words are still the same words, and words of equal upper bits are still in order.
func insertWords(words []uint64, budget int) bool {
	for i := 1; i < len(words); i++ {
		w := words[i]
		if words[i-1] <= w {
			continue
		}
		j := i
		for j > 0 && words[j-1] > w {
			words[j] = words[j-1]
			j--
		}
		words[j] = w
		if budget -= i - j; budget < 0 {
			return false
		}
	}
	return true
}

// scatter moves words to dst, stably ordered by one digit. It does nothing and returns false when
// all have the same digit.
func scatter(src, dst []uint64, shift uint, width int) bool {
	var counts [1 << digitBits]uint32
	mask := uint64(1)<<uint(width) - 1
	for _, w := range src {
		counts[w>>shift&mask]++
	}
	if counts[src[0]>>shift&mask] == uint32(len(src)) {
		return false
	}
	sum := uint32(0)
	for i := range counts[:mask+1] {
		counts[i], sum = sum, sum+counts[i]
	}
	for _, w := range src {
		d := w >> shift & mask
		dst[counts[d]] = w
		counts[d]++
	}
	return true
}

// splitWords sorts by the top digit, then each part by the rest.
func splitWords(words, spare []uint64, from, to int) {
	var or, and uint64 = 0, 1<<64 - 1
	for _, w := range words {
		or |= w
		and &= w
	}
	to = min(to, bits.Len64(or^and)) // upper bits that all share tell nothing
	low := max(from, to-digitBits)
	if !scatter(words, spare, uint(low), to-low) {
		sortWords(words, spare, from, low)
		return
	}
	copy(words, spare)
	for lo := 0; lo < len(words); {
		d := words[lo] >> uint(low)
		hi := lo + 1
		for hi < len(words) && words[hi]>>uint(low) == d {
			hi++
		}
		if low > from && hi-lo > 1 {
			sortWords(words[lo:hi], spare[lo:hi], from, low)
		}
		lo = hi
	}
}
