package basefile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/shoaldb/shoal/layout/column"
)

// The encodings DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY and
// BYTE_STREAM_SPLIT (Parquet format: encodings).

var errDelta = errors.New("delta encoding: malformed or cut short")

// decodeDelta reads exactly n values and returns what follows them. Sums wrap, so values of 32 bits
// come out right when cut to 32.
func decodeDelta(dst []int64, src []byte, n int) (values []int64, rest []byte, err error) {
	pos := 0
	uvarint := func() uint64 {
		u, k := binary.Uvarint(src[pos:])
		if k <= 0 {
			err = errDelta
			return 0
		}
		pos += k
		return u
	}
	zigzag := func() uint64 {
		u := uvarint()
		return u>>1 ^ -(u & 1)
	}
	blockSize, minis, total, value := uvarint(), uvarint(), uvarint(), zigzag()
	if err != nil {
		return nil, nil, err
	}
	if total != uint64(n) {
		return nil, nil, fmt.Errorf("delta encoding: %d values, want %d", total, n)
	}
	if blockSize == 0 || blockSize > 1<<20 || minis == 0 || minis > blockSize || blockSize%minis != 0 || blockSize/minis%8 != 0 {
		return nil, nil, errDelta
	}
	if n == 0 {
		return dst[:0], src[pos:], nil
	}
	if cap(dst) < n {
		dst = make([]int64, n)
	}
	dst = dst[:n]
	dst[0] = int64(value)
	perMini := int(blockSize / minis)
	for at := 1; at < n; {
		minDelta := zigzag()
		if err != nil || uint64(len(src)-pos) < minis {
			return nil, nil, errDelta
		}
		widths := src[pos : pos+int(minis)]
		pos += int(minis)
		for m := 0; m < int(minis) && at < n; m++ {
			w := int(widths[m])
			if w > 64 {
				return nil, nil, errDelta
			}
			size := perMini * w / 8
			count := min(perMini, n-at)
			if need := (count*w + 7) / 8; need > len(src)-pos {
				return nil, nil, errDelta
			}
			packed := src[pos:min(pos+size, len(src))]
			pos += len(packed)
			out := dst[at : at+count]
			if w == 0 {
				for i := range out {
					value += minDelta
					out[i] = int64(value)
				}
			} else {
				for i := range out {
					value += minDelta + bitsAt(packed, i*w, w)
					out[i] = int64(value)
				}
			}
			at += count
		}
	}
	return dst, src[pos:], nil
}

// bitsAt reads w <= 64 bits at a bit offset, lowest first.
func bitsAt(b []byte, bit, w int) uint64 {
	i, s := bit>>3, uint(bit)&7
	var lo uint64
	if i+8 <= len(b) {
		lo = binary.LittleEndian.Uint64(b[i:])
	} else {
		for k, x := range b[i:] {
			lo |= uint64(x) << (8 * k)
		}
	}
	lo >>= s
	if int(s)+w > 64 && i+8 < len(b) {
		lo |= uint64(b[i+8]) << (64 - s)
	}
	if w < 64 {
		lo &= 1<<w - 1
	}
	return lo
}

// decodeDeltaLengths appends n values in DELTA_LENGTH_BYTE_ARRAY.
func decodeDeltaLengths(dst *column.Strings, src []byte, n int, scratch *[]int64) error {
	lengths, rest, err := decodeDelta(*scratch, src, n)
	if err != nil {
		return err
	}
	*scratch = lengths
	for _, l := range lengths {
		if l < 0 || l > int64(len(rest)) {
			return errDelta
		}
		dst.Append(rest[:l])
		rest = rest[l:]
	}
	return nil
}

// decodeDeltaStrings appends n values in DELTA_BYTE_ARRAY: each shares a prefix with the one before.
func decodeDeltaStrings(dst *column.Strings, src []byte, n int, scratch *[]int64) error {
	prefixes, rest, err := decodeDelta(nil, src, n)
	if err != nil {
		return err
	}
	lengths, rest, err := decodeDelta(*scratch, rest, n)
	if err != nil {
		return err
	}
	*scratch = lengths
	if len(dst.Offsets) == 0 {
		dst.Offsets = append(dst.Offsets, 0)
	}
	start, length := len(dst.Bytes), 0 // of the value before
	for i, l := range lengths {
		p := prefixes[i]
		if p < 0 || p > int64(length) || l < 0 || l > int64(len(rest)) {
			return errDelta
		}
		at := len(dst.Bytes)
		if int64(at)+p+l > maxDecodedBytes { // prefixes repeat without taking room in the file
			return errTooLarge
		}
		dst.Bytes = append(dst.Bytes, dst.Bytes[start:start+int(p)]...)
		dst.Bytes = append(dst.Bytes, rest[:l]...)
		dst.Offsets = append(dst.Offsets, uint32(len(dst.Bytes)))
		rest = rest[l:]
		start, length = at, int(p+l)
	}
	return nil
}

// splitBytes undoes BYTE_STREAM_SPLIT for n values of width bytes.
func splitBytes(dst, src []byte, n, width int) ([]byte, error) {
	if len(src) != n*width {
		return nil, fmt.Errorf("byte streams of %d bytes, want %d", len(src), n*width)
	}
	dst = room(dst, len(src))
	for s := range width {
		stream := src[s*n : (s+1)*n]
		for i, b := range stream {
			dst[i*width+s] = b
		}
	}
	return dst, nil
}
