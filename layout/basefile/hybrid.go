package basefile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The hybrid of run-length and bit-packed runs that levels, dictionary codes and booleans use, and
// the bit-packed form that levels once had (Parquet format: encodings).

var (
	errRunsShort = errors.New("runs of levels or codes end too early")
	errBitWidth  = errors.New("bit width out of range")
)

// decodeHybrid fills dst and returns the number of bytes of src that it took. Runs beyond dst are cut off.
func decodeHybrid[T uint8 | uint32](dst []T, src []byte, width int) (int, error) {
	if width < 0 || width > 32 {
		return 0, errBitWidth
	}
	pos, valueBytes := 0, (width+7)/8
	for len(dst) > 0 {
		h, n := binary.Uvarint(src[pos:])
		if n <= 0 {
			return 0, errRunsShort
		}
		pos += n
		if h&1 == 0 {
			if len(src)-pos < valueBytes {
				return 0, errRunsShort
			}
			var v uint32
			for i := range valueBytes {
				v |= uint32(src[pos+i]) << (8 * i)
			}
			pos += valueBytes
			run := dst[:min(h>>1, uint64(len(dst)))]
			if len(run) == 0 && pos >= len(src) {
				return 0, errRunsShort
			}
			for i := range run {
				run[i] = T(v)
			}
			dst = dst[len(run):]
			continue
		}
		groups := h >> 1
		if groups > uint64(len(src)) {
			// More than there are bytes for, unless the values take none.
			if width != 0 {
				return 0, errRunsShort
			}
			groups = uint64(len(dst)+7) / 8
		}
		count := min(int(groups)*8, len(dst))
		need := (count*width + 7) / 8 // the last group may be cut short at the end of the values
		if need > len(src)-pos {
			return 0, errRunsShort
		}
		unpack(dst[:count], src[pos:], width)
		pos += min(int(groups)*width, len(src)-pos)
		dst = dst[count:]
		if count == 0 && pos >= len(src) {
			return 0, errRunsShort
		}
	}
	return pos, nil
}

// unpack reads len(dst) values of width bits, lowest bit first. src holds them all.
func unpack[T uint8 | uint32](dst []T, src []byte, width int) {
	switch width {
	case 0:
		clear(dst)
		return
	case 8:
		for i := range dst {
			dst[i] = T(src[i])
		}
		return
	}
	mask := uint64(1)<<width - 1
	bit, i := 0, 0
	for w := uint(width); i < len(dst) && bit>>3+8 <= len(src); i++ {
		dst[i] = T(binary.LittleEndian.Uint64(src[bit>>3:]) >> (uint(bit) & 7) & mask)
		bit += int(w)
	}
	if i == len(dst) {
		return
	}
	var last [16]byte // the tail, where a load of 8 bytes would pass the end
	base := bit >> 3
	copy(last[:], src[base:])
	for ; i < len(dst); i++ {
		if o := bit>>3 - base; o > 8 {
			base = bit >> 3
			last = [16]byte{}
			copy(last[:], src[base:])
		}
		dst[i] = T(binary.LittleEndian.Uint64(last[bit>>3-base:]) >> (uint(bit) & 7) & mask)
		bit += width
	}
}

// oneRun reports whether the hybrid runs begin with one that gives the same value to n entries.
func oneRun(src []byte, n, width int) (value uint32, ok bool) {
	h, k := binary.Uvarint(src)
	if k <= 0 || h&1 != 0 || h>>1 < uint64(n) || width > 8 || len(src) < k+(width+7)/8 {
		return 0, false
	}
	if width == 0 {
		return 0, true
	}
	return uint32(src[k]), true
}

// decodeBitPacked reads levels in the deprecated encoding BIT_PACKED, highest bit first, and returns
// the bytes taken.
func decodeBitPacked(dst []uint8, src []byte, width int) (int, error) {
	n := (len(dst)*width + 7) / 8
	if n > len(src) {
		return 0, errRunsShort
	}
	bit := 0
	for i := range dst {
		var v uint8
		for range width {
			v = v<<1 | src[bit>>3]>>(7-bit&7)&1
			bit++
		}
		dst[i] = v
	}
	return n, nil
}

// checkMax fails when a value is above limit.
func checkMax[T uint8 | uint32](v []T, limit T, what string) error {
	var m T
	for _, x := range v {
		m = max(m, x)
	}
	if m > limit {
		return fmt.Errorf("%s %d is above %d", what, m, limit)
	}
	return nil
}
