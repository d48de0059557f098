package basefile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
)

// leafData is one decoded column chunk.
type leafData struct {
	// vec has a row for every slot: every entry whose definition level reaches slotDef, that is, one
	// for each row of the file or for each entry of the innermost list around the leaf.
	vec *column.Vector
	// def and rep are the levels of all entries, for a leaf inside a nested column only.
	def, rep []uint8
}

// chunkDecoder decodes the pages of one leaf's column chunk.
type chunkDecoder struct {
	leaf    *schema.ParquetField
	nested  bool
	slotDef uint8
	codec   format.CompressionCodec
	entries int64 // that the footer promises

	out  *column.Vector
	vals values // of out
	n    int    // slots so far
	def  []uint8
	rep  []uint8

	dec       valueDecoder
	hasDict   bool
	dict      values
	dictLen   int
	remap     []uint32 // of a string dictionary that repeats entries, else nil
	plain     bool     // strings are text because a page without codes came
	codes     []uint32 // scratch
	pageBuf   []byte   // scratch
	levels    []uint8  // scratch
	repLevels []uint8
	present   []bool // scratch: which slots of the page have a value
}

// decodeChunk decodes the pages in b. slotDef is the definition level of an entry of the innermost
// list around the leaf, 0 outside of lists.
func decodeChunk(leaf *schema.ParquetField, nested bool, slotDef int, md *columnMetaData, b []byte) (leafData, error) {
	d := &chunkDecoder{leaf: leaf, nested: nested, slotDef: uint8(slotDef), codec: md.Codec, entries: md.NumValues}
	d.out = &column.Vector{Type: leaf.Type}
	d.dec = valueDecoder{leaf: leaf, form: formOf(leaf.Type)}
	if d.entries > maxDecodedBytes/d.dec.form.width() {
		return leafData{}, errTooLarge
	}
	for left := d.entries; left > 0; {
		h, n, err := parsePageHeader(b)
		if err != nil {
			return leafData{}, err
		}
		b = b[n:]
		if int64(h.compressed) > int64(len(b)) {
			return leafData{}, errors.New("a page is longer than the column chunk")
		}
		if h.uncompressed > maxDecodedBytes {
			return leafData{}, errTooLarge
		}
		body := b[:h.compressed]
		b = b[h.compressed:]
		if h.hasCRC && crc32.ChecksumIEEE(body) != h.crc {
			return leafData{}, errors.New("checksum of a page does not match")
		}
		switch format.PageType(h.kind) {
		case format.DictionaryPage:
			err = d.dictionaryPage(&h, body)
		case format.DataPage:
			left -= int64(h.values)
			err = d.pageV1(&h, body, left)
		case format.DataPageV2:
			left -= int64(h.values)
			err = d.pageV2(&h, body, left)
		}
		if err != nil {
			return leafData{}, err
		}
	}
	d.finish()
	return leafData{vec: d.out, def: d.def, rep: d.rep}, nil
}

func (d *chunkDecoder) dictionaryPage(h *pageHeader, body []byte) error {
	if d.hasDict {
		return errors.New("a second dictionary page")
	}
	if enc := format.Encoding(h.encoding); enc != format.Plain && enc != format.PlainDictionary {
		return unsupported(fmt.Sprintf("encoding %s of a dictionary", enc))
	}
	if int64(h.values)*d.dec.form.width() > maxDecodedBytes {
		return errTooLarge
	}
	b, err := decompress(d.codec, nil, body, int(h.uncompressed))
	if err != nil {
		return err
	}
	d.hasDict, d.dictLen = true, int(h.values)
	if err := d.dec.decode(&d.dict, format.Plain, b, d.dictLen); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	if d.dec.form == formStr {
		d.remap = distinct(&d.dict.str)
	}
	return nil
}

func (d *chunkDecoder) pageV1(h *pageHeader, body []byte, left int64) error {
	if left < 0 {
		return errTooManyValues
	}
	b, err := decompress(d.codec, d.pageBuf, body, int(h.uncompressed))
	if err != nil {
		return err
	}
	if d.codec != format.Uncompressed {
		d.pageBuf = b
	}
	n := int(h.values)
	rep, b, err := levelsV1(&d.repLevels, b, n, maxRep(d.leaf), h.repEncoding)
	if err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	if d.leaf.Def > 0 && h.defEncoding == int32(format.RLE) && !d.nested {
		if runs, _, err := prefixed(b); err == nil {
			if v, ok := oneRun(runs, n, bits.Len(uint(d.leaf.Def))); ok && v == uint32(d.leaf.Def) {
				return d.page(n, nil, nil, format.Encoding(h.encoding), b[4+len(runs):])
			}
		}
	}
	def, b, err := levelsV1(&d.levels, b, n, d.leaf.Def, h.defEncoding)
	if err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	return d.page(n, def, rep, format.Encoding(h.encoding), b)
}

// maxRep is the highest repetition level of a leaf.
func maxRep(f *schema.ParquetField) int { return f.Rep }

// prefixed splits off runs that have their length before them.
func prefixed(b []byte) (runs, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errRunsShort
	}
	l := int64(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
	if l > int64(len(b)-4) {
		return nil, nil, errRunsShort
	}
	return b[4 : 4+l], b[4+l:], nil
}

// levelsV1 reads the levels of a v1 page; nil when the highest level is 0 and none are stored.
func levelsV1(buf *[]uint8, b []byte, n, highest int, enc int32) (levels []uint8, rest []byte, err error) {
	if highest == 0 {
		return nil, b, nil
	}
	width := bits.Len(uint(highest))
	*buf = room(*buf, n)
	switch format.Encoding(enc) {
	case format.RLE:
		var runs []byte
		if runs, rest, err = prefixed(b); err == nil {
			_, err = decodeHybrid(*buf, runs, width)
		}
	case format.BitPacked:
		var k int
		if k, err = decodeBitPacked(*buf, b, width); err == nil {
			rest = b[k:]
		}
	default:
		err = unsupported(fmt.Sprintf("encoding %s of levels", format.Encoding(enc)))
	}
	if err == nil {
		err = checkMax(*buf, uint8(highest), "level")
	}
	return *buf, rest, err
}

var errTooManyValues = errors.New("pages hold more values than the column chunk says")

func (d *chunkDecoder) pageV2(h *pageHeader, body []byte, left int64) error {
	if left < 0 {
		return errTooManyValues
	}
	n := int(h.values)
	levels := int64(h.repLength) + int64(h.defLength)
	if levels > int64(len(body)) || levels > int64(h.uncompressed) {
		return errors.New("levels are longer than the page")
	}
	repBytes, defBytes, data := body[:h.repLength], body[h.repLength:levels], body[levels:]
	if h.packed && d.codec != format.Uncompressed && len(data) > 0 {
		b, err := decompress(d.codec, d.pageBuf, data, int(int64(h.uncompressed)-levels))
		if err != nil {
			return err
		}
		data, d.pageBuf = b, b
	}
	rep, err := levelsV2(&d.repLevels, repBytes, n, maxRep(d.leaf))
	if err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	if h.nulls == 0 && !d.nested {
		return d.page(n, nil, nil, format.Encoding(h.encoding), data)
	}
	def, err := levelsV2(&d.levels, defBytes, n, d.leaf.Def)
	if err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	return d.page(n, def, rep, format.Encoding(h.encoding), data)
}

func levelsV2(buf *[]uint8, b []byte, n, highest int) ([]uint8, error) {
	if highest == 0 {
		return nil, nil
	}
	*buf = room(*buf, n)
	if _, err := decodeHybrid(*buf, b, bits.Len(uint(highest))); err != nil {
		return nil, err
	}
	return *buf, checkMax(*buf, uint8(highest), "level")
}

// page takes over the n entries of a data page. def is nil when every entry has a value.
func (d *chunkDecoder) page(n int, def, rep []uint8, enc format.Encoding, data []byte) error {
	if n == 0 {
		return nil
	}
	if d.nested {
		d.def, d.rep = appendLevels(d.def, def, n), appendLevels(d.rep, rep, n)
	}
	slots, count := n, n
	var present []bool
	if def != nil {
		present, slots, count = d.presence(def)
	}
	if int64(d.n+slots) > d.entries {
		return errTooManyValues
	}
	if d.n == 0 {
		d.reserve()
	}
	base := d.n
	d.n += slots
	if present != nil && count < slots {
		d.markNulls(base, present[:slots])
	} else if d.out.Valid != nil {
		d.markNulls(base, nil)
	}
	if enc == format.RLEDictionary || enc == format.PlainDictionary {
		return d.codePage(base, slots, count, present, data)
	}
	return d.valuePage(base, slots, count, present, enc, data)
}

func appendLevels(dst, page []uint8, n int) []uint8 {
	if page == nil {
		return append(dst, make([]uint8, n)...)
	}
	return append(dst, page...)
}

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
