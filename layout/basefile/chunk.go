package basefile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
)

// plainDictionary is the older name of dictionary codes in a data page and of plain values in a
// dictionary page; parquet-mr still writes it.
const plainDictionary format.Encoding = 2

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
	if d.entries > min(maxDecodedBytes/d.dec.form.width(), maxEntries) {
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
	if enc := format.Encoding(h.encoding); enc != format.Plain && enc != plainDictionary {
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
	rep, b, err := levelsV1(&d.repLevels, b, n, d.leaf.Rep, h.repEncoding)
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
	rep, err := levelsV2(&d.repLevels, repBytes, n, d.leaf.Rep)
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
	if enc == format.RLEDictionary || enc == plainDictionary {
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
