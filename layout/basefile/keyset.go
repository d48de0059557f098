package basefile

import (
	"bytes"
	"fmt"

	"github.com/shoaldb/shoal/layout/column"
)

// maxKeyBytes bounds the keys held to size the bloom filter. Past it the size is settled for twice the
// keys seen, and later ones are hashed as they come.
const maxKeyBytes = 64 << 20

// keySet gathers the record keys of a file for its footer. The range is in the order of bytes, which is
// that of Java's strings but for characters beyond the basic plane.
type keySet struct {
	column  string
	entries int // room in the filter; negative: no filter
	fpp     float64

	held     column.Strings
	filter   *BloomFilter
	n        int
	min, max []byte
}

// add takes the keys of a batch; row is the file's number of its first row, for the error.
func (k *keySet) add(v *column.Vector, row int64) error {
	if v.Valid != nil && v.NullCount() > 0 {
		for i := range v.Len {
			if v.Null(i) {
				return fmt.Errorf("column %q: null record key in row %d", k.column, row+int64(i))
			}
		}
	}
	for i := range v.Len {
		b := v.Bytes(i)
		if k.n == 0 || bytes.Compare(b, k.min) < 0 {
			k.min = append(k.min[:0], b...)
		}
		if k.n == 0 || bytes.Compare(b, k.max) > 0 {
			k.max = append(k.max[:0], b...)
		}
		k.n++
		switch {
		case k.entries < 0:
		case k.filter != nil:
			k.filter.Add(b)
		default:
			k.held.Append(b)
			if len(k.held.Bytes) > maxKeyBytes {
				k.build(2 * k.n)
			}
		}
	}
	return nil
}

func (k *keySet) build(keys int) {
	k.filter = NewBloomFilter(keys, k.entries, k.fpp)
	for i := range k.held.Len() {
		k.filter.Add(k.held.At(i))
	}
	k.held = column.Strings{}
}

// footer adds the file's key-value pairs.
func (k *keySet) footer(kv map[string]string) {
	if k.n == 0 {
		return
	}
	kv[KeyMinRecordKey], kv[KeyMaxRecordKey] = string(k.min), string(k.max)
	if k.entries < 0 {
		return
	}
	if k.filter == nil {
		k.build(k.n)
	}
	kv[KeyBloom], kv[KeyBloomTypeCode] = k.filter.Marshal(), BloomSimple
}
