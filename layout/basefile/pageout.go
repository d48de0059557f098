package basefile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
)

// chunkOut is an encoded column chunk. Offsets in it count from its own start.
type chunkOut struct {
	buf      []byte
	meta     columnMetaData
	index    *format.ColumnIndex // nil when a page has no bounds that every reader understands
	offsets  format.OffsetIndex
	dictSize int // bytes of the dictionary page with its header
	values   valueRange
	nulls    int64 // entries without a value
}

// chunkEncoder encodes column chunks, one at a time. Its scratch is reused.
//
// Data pages are version 1. Spark's and parquet-mr's readers, arrow-rs, DuckDB, Trino and older readers
// alike take them; version 2 would let a reader skip decompressing levels, which for columns without
// nulls are six bytes, and is refused or read without its gains by some. For the same reason numbers
// are PLAIN or dictionary coded: vectorised Parquet readers fall back to slow paths, or fail, on
// the delta encodings of numbers.
type chunkEncoder struct {
	comp   compressor
	dict   dictionaryBuilder
	body   []byte
	levels []uint8
	runs   []byte
	stamp  []int32
}

// encode writes a leaf's values into pages that end at the given rows.
func (e *chunkEncoder) encode(l *leafColumn, pageEnds []int) (*chunkOut, error) {
	f := l.field
	form := formOf(f.Type)
	out := &chunkOut{index: &format.ColumnIndex{}}
	out.meta = columnMetaData{Type: f.Physical, Codec: e.comp.codec.format(), NumValues: int64(l.n)}
	if l.rows != nil {
		out.meta.NumValues = int64(len(l.def))
	}
	if f.Physical == format.FixedLenByteArray && form == formStr {
		for i := range l.dense.Len {
			if n := len(l.dense.Bytes(i)); n != f.Length {
				return nil, fmt.Errorf("column %q: a value of %d bytes where all have %d", l.name, n, f.Length)
			}
		}
	}
	pageRows := l.n
	if len(pageEnds) > 0 {
		pageRows = pageEnds[0]
	}
	var c coded
	var useDict bool
	switch {
	case form != formStr:
		c, useDict = e.dict.numbers(l.dense, form, pageRows)
	case f.Physical == format.ByteArray:
		c, useDict = e.dict.strings(l.dense, pageRows)
	}
	if useDict {
		if err := e.dictionaryPage(out, l, c); err != nil {
			return nil, err
		}
	}
	lo, value := 0, 0
	var ranges []valueRange
	for _, hi := range pageEnds {
		first, end, count := l.entries(lo, hi)
		var r valueRange
		if useDict && form == formStr {
			r = e.codeRange(l.dense, c, value, value+count)
		} else {
			r = rangeOf(l.dense, form, value, value+count)
		}
		if err := e.dataPage(out, l, first, end, value, count, useDict, c, lo); err != nil {
			return nil, err
		}
		nulls := int64(end - first - count)
		out.nulls += nulls
		out.values.add(r, form)
		ranges = append(ranges, r)
		out.addIndex(l, r, count, nulls)
		lo, value = hi, value+count
	}
	out.finish(l, form, ranges, useDict)
	return out, nil
}

// codeRange is rangeOf for dictionary codes: each entry is looked at once.
func (e *chunkEncoder) codeRange(v *column.Vector, c coded, lo, hi int) (r valueRange) {
	if cap(e.stamp) < len(c.first) {
		e.stamp = make([]int32, len(c.first))
	}
	stamp := e.stamp[:len(c.first)]
	clear(stamp)
	for _, code := range c.codes[lo:hi] {
		if stamp[code] == 0 {
			stamp[code] = 1
			r.addBytes(v.Bytes(int(c.first[code])))
		}
	}
	return r
}

func (e *chunkEncoder) dictionaryPage(out *chunkOut, l *leafColumn, c coded) error {
	e.body = e.body[:0]
	e.body = appendValues(e.body, l.field, column.Gather(l.dense, c.first), 0, len(c.first))
	size := len(e.body)
	packed, err := e.comp.compress(nil, e.body)
	if err != nil {
		return err
	}
	b := appendPageHeader(out.buf, format.DictionaryPage, size, packed, len(c.first), format.Plain)
	out.dictSize = len(b) + len(packed)
	out.meta.TotalUncompressedSize += int64(len(b) + size)
	out.buf = append(b, packed...)
	return nil
}

func (e *chunkEncoder) dataPage(out *chunkOut, l *leafColumn, first, end, value, count int, useDict bool, c coded, row int) error {
	f := l.field
	e.body = e.body[:0]
	if f.Rep > 0 {
		if err := e.appendLevels(l.rep[first:end], f.Rep); err != nil {
			return err
		}
	}
	if f.Def > 0 {
		if err := e.appendDef(l, first, end, count); err != nil {
			return err
		}
	}
	enc := format.Plain
	if useDict {
		enc = format.RLEDictionary
		runs, err := parquet.RLEDictionary.EncodeInt32(e.runs[:0], c.codes[value:value+count])
		if err != nil {
			return err
		}
		e.runs = runs
		e.body = append(e.body, runs...)
	} else {
		e.body = appendValues(e.body, f, l.dense, value, count)
	}
	if len(e.body) > math.MaxInt32/2 {
		return fmt.Errorf("column %q: a page of %d bytes", l.name, len(e.body))
	}
	packed, err := e.comp.compress(nil, e.body)
	if err != nil {
		return err
	}
	at := len(out.buf)
	out.buf = appendPageHeader(out.buf, format.DataPage, len(e.body), packed, end-first, enc)
	out.meta.TotalUncompressedSize += int64(len(out.buf) - at + len(e.body))
	out.buf = append(out.buf, packed...)
	out.offsets.PageLocations = append(out.offsets.PageLocations, format.PageLocation{
		Offset: int64(at), CompressedPageSize: int32(len(out.buf) - at), FirstRowIndex: int64(row)})
	return nil
}

// appendDef appends the definition levels of a page.
func (e *chunkEncoder) appendDef(l *leafColumn, first, end, count int) error {
	if l.rows != nil {
		return e.appendLevels(l.def[first:end], l.field.Def)
	}
	if n := end - first; count == n || count == 0 { // one run
		var run [binary.MaxVarintLen64 + 1]byte
		k := binary.PutUvarint(run[:], uint64(n)<<1)
		if count > 0 {
			run[k] = 1
		}
		e.body = binary.LittleEndian.AppendUint32(e.body, uint32(k+1))
		e.body = append(e.body, run[:k+1]...)
		return nil
	}
	e.levels = room(e.levels, end-first)
	for i := range e.levels {
		e.levels[i] = uint8(bit(l.valid.Get(first + i)))
	}
	return e.appendLevels(e.levels, 1)
}

func (e *chunkEncoder) appendLevels(levels []uint8, highest int) error {
	enc := rle.Encoding{BitWidth: bits.Len(uint(highest))}
	runs, err := enc.EncodeLevels(e.runs[:0], levels)
	if err != nil {
		return err
	}
	e.runs = runs
	e.body = binary.LittleEndian.AppendUint32(e.body, uint32(len(runs)))
	e.body = append(e.body, runs...)
	return nil
}

// appendValues appends the PLAIN form of the n values from row lo on of a vector without nulls.
func appendValues(dst []byte, f *schema.ParquetField, v *column.Vector, lo, n int) []byte {
	hi := lo + n
	if f.Type.Kind == column.Decimal {
		for i := lo; i < hi; i++ {
			dst = v.Decimal(i).AppendBigEndian(dst, f.Length)
		}
		return dst
	}
	switch formOf(f.Type) {
	case formBool:
		out := grow(&dst, (n+7)/8)
		clear(out)
		for i, b := range v.Bools[lo:hi] {
			out[i>>3] |= byte(bit(b)) << (i & 7)
		}
	case formI32:
		out := grow(&dst, 4*n)
		for i, x := range v.I32[lo:hi] {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(x))
		}
	case formI64:
		out := grow(&dst, 8*n)
		for i, x := range v.I64[lo:hi] {
			binary.LittleEndian.PutUint64(out[8*i:], uint64(x))
		}
	case formF32:
		out := grow(&dst, 4*n)
		for i, x := range v.F32[lo:hi] {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(x))
		}
	case formF64:
		out := grow(&dst, 8*n)
		for i, x := range v.F64[lo:hi] {
			binary.LittleEndian.PutUint64(out[8*i:], math.Float64bits(x))
		}
	case formStr:
		for i := lo; i < hi; i++ {
			b := v.Bytes(i)
			if f.Physical == format.ByteArray {
				dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
			}
			dst = append(dst, b...)
		}
	}
	return dst
}

// appendPageHeader appends the thrift form of a page header with checksum.
func appendPageHeader(b []byte, kind format.PageType, size int, packed []byte, values int, enc format.Encoding) []byte {
	num := func(v int64) { b = binary.AppendVarint(append(b, 0x15), v) } // the next field, an i32
	num(int64(kind))
	num(int64(size))
	num(int64(len(packed)))
	num(int64(int32(crc32.ChecksumIEEE(packed))))
	if kind == format.DictionaryPage {
		b = append(b, 0x3c) // field 7, a struct
		num(int64(values))
		num(int64(enc))
	} else {
		b = append(b, 0x1c) // field 5, a struct
		num(int64(values))
		num(int64(enc))
		num(int64(format.RLE))
		num(int64(format.RLE))
	}
	return append(b, 0, 0)
}

// addIndex notes a page in the column index.
func (o *chunkOut) addIndex(l *leafColumn, r valueRange, count int, nulls int64) {
	if o.index == nil {
		return
	}
	lo, hi, _, _, ok := encodeRange(l.field, r)
	if count > 0 && !ok {
		o.index = nil // the index has no way to leave out one page's bounds
		return
	}
	x := o.index
	if lo == nil {
		lo, hi = []byte{}, []byte{}
	}
	x.NullPages = append(x.NullPages, count == 0)
	x.MinValues = append(x.MinValues, lo)
	x.MaxValues = append(x.MaxValues, hi)
	x.NullCounts = append(x.NullCounts, nulls)
}

// finish fills in what is known after the last page.
func (o *chunkOut) finish(l *leafColumn, f form, ranges []valueRange, useDict bool) {
	m := &o.meta
	m.TotalCompressedSize = int64(len(o.buf))
	m.Encoding = thrift.Slice[format.Encoding]{format.RLE, format.Plain}
	data := format.PageEncodingStats{PageType: format.DataPage, Encoding: format.Plain, Count: int32(len(ranges))}
	if useDict {
		m.Encoding = append(m.Encoding, format.RLEDictionary)
		data.Encoding = format.RLEDictionary
		m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1})
	}
	m.EncodingStats = append(m.EncodingStats, data)
	m.Statistics.NullCount = thrift.New(o.nulls)
	if lo, hi, loExact, hiExact, ok := encodeRange(l.field, o.values); ok {
		m.Statistics.MinValue, m.Statistics.MaxValue = thrift.New(lo), thrift.New(hi)
		m.Statistics.MinValueExact, m.Statistics.MaxValueExact = thrift.New(loExact), thrift.New(hiExact)
	}
	if o.index != nil {
		o.index.BoundaryOrder = boundaryOrder(ranges, f)
	}
}

// boundaryOrder says whether the pages' bounds, null pages left out, ascend or descend. Bounds that
// were cut keep the order.
func boundaryOrder(ranges []valueRange, f form) format.BoundaryOrder {
	up, down := true, true
	var last *valueRange
	for i := range ranges {
		r := &ranges[i]
		if !r.has {
			continue
		}
		if last != nil {
			a, b := last.min.cmp(r.min, f), last.max.cmp(r.max, f)
			up, down = up && a <= 0 && b <= 0, down && a >= 0 && b >= 0
		}
		last = r
	}
	switch {
	case up:
		return format.Ascending
	case down:
		return format.Descending
	}
	return format.Unordered
}
