package basefile

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Type codes of bloom filters (docs/format.md: bloom filter).
const (
	BloomSimple  = "SIMPLE"
	BloomDynamic = "DYNAMIC_V0"
)

// DefaultBloomEntries and DefaultBloomFPP size a filter when nothing else is asked for.
const (
	DefaultBloomEntries = 60000
	DefaultBloomFPP     = 1e-9
)

// maxBloomHashes bounds the work that a filter read from a file can ask for a lookup.
const maxBloomHashes = 512

// BloomFilter is the set of record keys of a base file, with false positives, in Hudi's format
// (docs/format.md: bloom filter). It is safe for concurrent use unless Add is called.
type BloomFilter struct {
	rows []bloomRow // one, but for filters of type BloomDynamic
}

type bloomRow struct {
	hashes int
	size   uint32 // bits
	bits   []byte // bit i at byte i/8, lowest first
}

// NewBloomFilter returns an empty filter whose size is that for the given number of entries at the
// given probability of a false positive, and whose number of hashes is the best for keys keys in that
// size. Readers take both from the filter's bytes.
//
// A file may hold more keys than entries allow for: then the filter stays at its size and gives up
// precision, where hashing as if it had room would fill it up and cost most.
func NewBloomFilter(keys, entries int, fpp float64) *BloomFilter {
	keys, entries = max(keys, 1), max(entries, 1)
	if !(fpp > 0 && fpp < 1) {
		fpp = DefaultBloomFPP
	}
	size := math.Ceil(float64(min(keys, entries)) * -math.Log(fpp) / (math.Ln2 * math.Ln2))
	size = min(max(size, 64), math.MaxInt32-63)
	hashes := int(math.Ceil(math.Ln2 * size / float64(keys)))
	// At least one, and no more than the probability asked for needs.
	hashes = min(max(hashes, 1), max(1, int(math.Ceil(-math.Log2(fpp)))))
	return &BloomFilter{rows: []bloomRow{{hashes: hashes, size: uint32(size), bits: make([]byte, (int(size)+7)/8)}}}
}

// Add puts a key into the filter.
func (f *BloomFilter) Add(key []byte) {
	r := &f.rows[len(f.rows)-1]
	h := uint32(0)
	for range r.hashes {
		h = murmur2(key, h)
		p := r.position(h)
		r.bits[p>>3] |= 1 << (p & 7)
	}
}

// Contains reports false only when the key was never added.
func (f *BloomFilter) Contains(key []byte) bool {
	for i := range f.rows {
		if f.rows[i].contains(key) {
			return true
		}
	}
	return false
}

func (r *bloomRow) contains(key []byte) bool {
	h := uint32(0)
	for range r.hashes {
		h = murmur2(key, h)
		if p := r.position(h); r.bits[p>>3]>>(p&7)&1 == 0 {
			return false
		}
	}
	return true
}

// position maps a hash, as a signed number, to a bit: the absolute value of the truncated remainder.
func (r *bloomRow) position(h uint32) uint32 {
	p := int64(int32(h)) % int64(r.size)
	if p < 0 {
		p = -p
	}
	return uint32(p)
}

// murmur2 is MurmurHash 2 in 32 bits, with trailing bytes sign-extended as the Java original does.
func murmur2(b []byte, seed uint32) uint32 {
	const m = 0x5bd1e995
	h := seed ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k ^= k >> 24
		h = h*m ^ k*m
	}
	if n := len(b); n > 0 {
		if n == 3 {
			h ^= uint32(int32(int8(b[n-3]))) << 16
		}
		if n >= 2 {
			h ^= uint32(int32(int8(b[n-2]))) << 8
		}
		h ^= uint32(int32(int8(b[n-1])))
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

const bloomHeader = 13 // version, number of hashes, kind of hash, bits

// Marshal returns the filter as a footer holds it, base64 of type BloomSimple.
func (f *BloomFilter) Marshal() string {
	r := f.rows[len(f.rows)-1]
	b := make([]byte, 0, bloomHeader+len(r.bits))
	b = binary.BigEndian.AppendUint32(b, math.MaxUint32) // version -1
	b = binary.BigEndian.AppendUint32(b, uint32(r.hashes))
	b = append(b, 1) // murmur
	b = binary.BigEndian.AppendUint32(b, r.size)
	return base64.StdEncoding.EncodeToString(append(b, r.bits...))
}

// ParseBloomFilter reads a filter of the given type code; an empty code means BloomSimple, as files
// of before the code have it.
func ParseBloomFilter(text, typeCode string) (*BloomFilter, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("bloom filter: %w", err)
	}
	switch typeCode {
	case "", BloomSimple:
		r, _, err := parseBloomRow(b)
		if err != nil {
			return nil, err
		}
		return &BloomFilter{rows: []bloomRow{r}}, nil
	case BloomDynamic:
		return parseDynamicBloom(b)
	}
	return nil, fmt.Errorf("bloom filter: unknown type code %q", typeCode)
}

var errBloomShort = errors.New("bloom filter: cut short")

func parseBloomHeader(b []byte) (r bloomRow, rest []byte, err error) {
	if len(b) < bloomHeader {
		return r, nil, errBloomShort
	}
	version, hashes := int32(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint32(b[4:])
	kind, size := b[8], binary.BigEndian.Uint32(b[9:])
	switch {
	case version != -1:
		return r, nil, fmt.Errorf("bloom filter: unknown version %d", version)
	case kind != 1:
		return r, nil, fmt.Errorf("bloom filter: unknown kind of hash %d", kind)
	case hashes < 1 || hashes > maxBloomHashes:
		return r, nil, fmt.Errorf("bloom filter: %d hashes", hashes)
	case size < 1 || size > math.MaxInt32:
		return r, nil, fmt.Errorf("bloom filter: %d bits", size)
	}
	return bloomRow{hashes: int(hashes), size: size}, b[bloomHeader:], nil
}

func parseBloomRow(b []byte) (r bloomRow, rest []byte, err error) {
	r, b, err = parseBloomHeader(b)
	if err != nil {
		return r, nil, err
	}
	n := (int(r.size) + 7) / 8
	if len(b) < n {
		return r, nil, errBloomShort
	}
	r.bits = b[:n:n]
	return r, b[n:], nil
}

func parseDynamicBloom(b []byte) (*BloomFilter, error) {
	_, b, err := parseBloomHeader(b)
	if err != nil {
		return nil, err
	}
	if len(b) < 12 { // entries of a row, entries in the last row, rows
		return nil, errBloomShort
	}
	n := binary.BigEndian.Uint32(b[8:])
	b = b[12:]
	if n < 1 || int64(n) > int64(len(b)/bloomHeader) {
		return nil, fmt.Errorf("bloom filter: %d rows", n)
	}
	f := &BloomFilter{rows: make([]bloomRow, n)}
	for i := range f.rows {
		if f.rows[i], b, err = parseBloomRow(b); err != nil {
			return nil, err
		}
	}
	return f, nil
}
