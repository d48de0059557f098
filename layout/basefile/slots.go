package basefile

import (
	"errors"
	"hash/maphash"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
)

// How a page's values get into the rows, where nulls are between them.

// presence says for each slot among the entries of a page whether it has a value.
func (d *chunkDecoder) presence(def []uint8) (present []bool, slots, count int) {
	d.present = d.present[:0]
	top := uint8(d.leaf.Def)
	p := grow(&d.present, len(def))
	for _, l := range def {
		if l < d.slotDef {
			continue
		}
		has := l == top
		p[slots] = has
		slots++
		if has {
			count++
		}
	}
	return p[:slots], slots, count
}

// reserve makes room for the whole chunk, within reason: the count is only the footer's word.
func (d *chunkDecoder) reserve() {
	n := int(min(d.entries, 1<<20))
	switch d.dec.form {
	case formBool:
		d.vals.bools = make([]bool, 0, n)
	case formI32:
		d.vals.i32 = make([]int32, 0, n)
	case formI64:
		d.vals.i64 = make([]int64, 0, n)
	case formF32:
		d.vals.f32 = make([]float32, 0, n)
	case formF64:
		d.vals.f64 = make([]float64, 0, n)
	case formDec:
		d.vals.dec = make([]column.Int128, 0, n)
	case formStr:
		if d.hasDict {
			d.out.Codes = make([]uint32, 0, n)
		}
	}
}

// markNulls records the validity of the slots from base to d.n; present nil means all are valid.
func (d *chunkDecoder) markNulls(base int, present []bool) {
	words := (d.n + 63) / 64
	if d.out.Valid == nil { // the first null: all slots before are valid
		d.out.Valid = make(column.Bitmap, words, max(words, int(min(d.entries, 1<<20)+63)/64))
		setBits(d.out.Valid, 0, base)
	}
	for len(d.out.Valid) < words {
		d.out.Valid = append(d.out.Valid, 0)
	}
	if present == nil {
		setBits(d.out.Valid, base, d.n)
		return
	}
	for i, p := range present {
		if p {
			d.out.Valid.Set(base + i)
		}
	}
}

// setBits sets the bits from lo to hi-1.
func setBits(b column.Bitmap, lo, hi int) {
	for ; lo < hi && lo&63 != 0; lo++ {
		b.Set(lo)
	}
	for ; lo+64 <= hi; lo += 64 {
		b[lo>>6] = ^uint64(0)
	}
	for ; lo < hi; lo++ {
		b.Set(lo)
	}
}

// codePage takes a page of dictionary codes.
func (d *chunkDecoder) codePage(base, slots, count int, present []bool, data []byte) error {
	if !d.hasDict {
		return errors.New("dictionary codes without a dictionary")
	}
	d.codes = d.codes[:0]
	codes := grow(&d.codes, count)
	if count > 0 {
		if len(data) == 0 {
			return errRunsShort
		}
		if d.dictLen == 0 {
			return errors.New("codes into an empty dictionary")
		}
		if _, err := decodeHybrid(codes, data[1:], int(data[0])); err != nil {
			return err
		}
		if err := checkMax(codes, uint32(d.dictLen-1), "dictionary code"); err != nil {
			return err
		}
	}
	v := &d.vals
	switch d.dec.form {
	case formBool:
		gather(&v.bools, d.dict.bools, codes)
	case formI32:
		gather(&v.i32, d.dict.i32, codes)
	case formI64:
		gather(&v.i64, d.dict.i64, codes)
	case formF32:
		gather(&v.f32, d.dict.f32, codes)
	case formF64:
		gather(&v.f64, d.dict.f64, codes)
	case formDec:
		gather(&v.dec, d.dict.dec, codes)
	case formStr:
		for i, c := range codes {
			if d.remap != nil {
				codes[i] = d.remap[c]
			}
		}
		if d.plain {
			return d.appendText(base, slots, present, func(i int) []byte { return d.dict.str.At(int(codes[i])) })
		}
		d.out.Codes = append(d.out.Codes, codes...)
		spread(&d.out.Codes, base, slots, count, present)
		return nil
	}
	d.spreadFixed(base, slots, count, present)
	return nil
}

func gather[T any](dst *[]T, dict []T, codes []uint32) {
	out := grow(dst, len(codes))
	for i, c := range codes {
		out[i] = dict[c]
	}
}

// valuePage takes a page of values as they are.
func (d *chunkDecoder) valuePage(base, slots, count int, present []bool, enc format.Encoding, data []byte) error {
	if d.dec.form != formStr {
		if err := d.dec.decode(&d.vals, enc, data, count); err != nil {
			return err
		}
		d.spreadFixed(base, slots, count, present)
		return nil
	}
	if count == 0 && d.hasDict && !d.plain { // nulls only: codes will do
		d.out.Codes = append(d.out.Codes, make([]uint32, slots)...)
		return nil
	}
	if err := d.toText(base); err != nil {
		return err
	}
	if count == slots {
		return d.dec.decode(&d.vals, enc, data, count)
	}
	var page values
	if err := d.dec.decode(&page, enc, data, count); err != nil {
		return err
	}
	return d.appendText(base, slots, present, page.str.At)
}

// appendText appends the strings of a page's slots; value(i) is the i-th that is not null.
func (d *chunkDecoder) appendText(base, slots int, present []bool, value func(int) []byte) error {
	s := &d.vals.str
	if len(s.Offsets) == 0 {
		s.Offsets = append(s.Offsets, 0)
	}
	k := 0
	for i := range slots {
		var b []byte
		if present == nil || present[i] {
			b = value(k)
			k++
		}
		if len(s.Bytes)+len(b) > maxDecodedBytes {
			return errTooLarge
		}
		s.Append(b)
	}
	return nil
}

// toText turns a string column of codes into one of text, since a page of plain values follows.
func (d *chunkDecoder) toText(n int) error {
	if d.plain {
		return nil
	}
	d.plain = true
	codes := d.out.Codes[:n:n]
	d.out.Codes = nil
	d.vals.str.Offsets = append(make([]uint32, 0, min(d.entries, 1<<20)+1), 0)
	for i, c := range codes {
		var b []byte
		if d.out.Valid == nil || d.out.Valid.Get(i) {
			b = d.dict.str.At(int(c))
		}
		if len(d.vals.str.Bytes)+len(b) > maxDecodedBytes {
			return errTooLarge
		}
		d.vals.str.Append(b)
	}
	return nil
}

func (d *chunkDecoder) spreadFixed(base, slots, count int, present []bool) {
	if count == slots {
		return
	}
	v := &d.vals
	switch d.dec.form {
	case formBool:
		spread(&v.bools, base, slots, count, present)
	case formI32:
		spread(&v.i32, base, slots, count, present)
	case formI64:
		spread(&v.i64, base, slots, count, present)
	case formF32:
		spread(&v.f32, base, slots, count, present)
	case formF64:
		spread(&v.f64, base, slots, count, present)
	case formDec:
		spread(&v.dec, base, slots, count, present)
	}
}

// spread moves the count values that stand from base on to the slots that are present, and zeroes the rest.
func spread[T any](s *[]T, base, slots, count int, present []bool) {
	if count == slots {
		return
	}
	grow(s, slots-count)
	v := (*s)[base:]
	var zero T
	k := count
	for i := slots - 1; i >= 0; i-- {
		if present[i] {
			k--
			v[i] = v[k]
		} else {
			v[i] = zero
		}
	}
}

// finish puts the values into the vector.
func (d *chunkDecoder) finish() {
	o, v := d.out, &d.vals
	o.Len = d.n
	o.Bools, o.I32, o.I64, o.F32, o.F64, o.Dec = v.bools, v.i32, v.i64, v.f32, v.f64, v.dec
	if d.dec.form != formStr {
		return
	}
	// Without entries there are only nulls; text keeps code 0 from pointing nowhere.
	if !d.plain && d.hasDict && d.dict.str.Len() > 0 {
		o.Dict = &column.Dictionary{Strings: d.dict.str}
		return
	}
	o.Codes = nil
	o.Str = v.str
	if len(o.Str.Offsets) == 0 {
		o.Str.Offsets = make([]uint32, d.n+1)
	}
}

// distinct removes repeated entries from a dictionary: operators take codes for values. It returns
// what each old code becomes, or nil when nothing was repeated, as good writers have it.
func distinct(s *column.Strings) []uint32 {
	n := s.Len()
	if n < 2 {
		return nil
	}
	seed := maphash.MakeSeed()
	size := 1 << bits.Len(uint(2*n))
	table := make([]uint32, size) // code+1
	var remap []uint32
	var out column.Strings
	for i := range n {
		v := s.At(i)
		h := int(maphash.Bytes(seed, v)) & (size - 1)
		found := -1
		for table[h] != 0 {
			c := int(table[h] - 1)
			at := s
			if remap != nil {
				at = &out
			}
			if string(at.At(c)) == string(v) {
				found = c
				break
			}
			h = (h + 1) & (size - 1)
		}
		switch {
		case found < 0 && remap == nil:
			table[h] = uint32(i) + 1
		case found < 0:
			table[h] = uint32(out.Len()) + 1
			remap[i] = uint32(out.Len())
			out.Append(v)
		default:
			if remap == nil { // the first repetition: what came before keeps its code
				remap = make([]uint32, n)
				for k := range i {
					remap[k] = uint32(k)
					out.Append(s.At(k))
				}
			}
			remap[i] = uint32(found)
		}
	}
	if remap != nil {
		*s = out
	}
	return remap
}
