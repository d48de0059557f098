package basefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Thrift compact protocol, as far as page headers need it, and a walk that checks a footer before
// parquet-go decodes it: parquet-go makes room for as many list items as a header claims.

// Types of the compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

const maxThriftDepth = 32

var (
	errThriftShort = errors.New("thrift: cut short")
	errThriftDeep  = errors.New("thrift: nested too deep")
	errThriftNum   = errors.New("thrift: number out of range")
)

// thriftReader reads a buffer; after the first error all calls give zero values.
type thriftReader struct {
	b       []byte
	pos     int
	err     error
	structs int // seen by skip
}

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
		r.pos = len(r.b)
	}
}

func (r *thriftReader) byte() byte {
	if r.pos >= len(r.b) {
		r.fail(errThriftShort)
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

func (r *thriftReader) uvarint() uint64 {
	u, n := binary.Uvarint(r.b[r.pos:])
	if n <= 0 {
		r.fail(errThriftShort)
		return 0
	}
	r.pos += n
	return u
}

func (r *thriftReader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *thriftReader) i32() int32 {
	v := r.varint()
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.fail(errThriftNum)
		return 0
	}
	return int32(v)
}

// field reads the header of a struct's next field; the type is thriftStop at its end.
func (r *thriftReader) field(last int) (id int, typ byte) {
	b := r.byte()
	if b == thriftStop || r.err != nil {
		return 0, thriftStop
	}
	if d := int(b >> 4); d != 0 {
		return last + d, b & 15
	}
	v := r.varint()
	if v < math.MinInt16 || v > math.MaxInt16 {
		r.fail(errThriftNum)
	}
	return int(v), b & 15
}

func (r *thriftReader) advance(n uint64) {
	if n > uint64(len(r.b)-r.pos) {
		r.fail(errThriftShort)
		return
	}
	r.pos += int(n)
}

// skip passes over a value. inList says that booleans take a byte of their own.
func (r *thriftReader) skip(typ byte, inList bool, depth int) {
	if depth > maxThriftDepth {
		r.fail(errThriftDeep)
		return
	}
	switch typ {
	case thriftTrue, thriftFalse:
		if inList {
			r.byte()
		}
	case thriftByte:
		r.byte()
	case thriftI16, thriftI32, thriftI64:
		r.uvarint()
	case thriftDouble:
		r.advance(8)
	case thriftBinary:
		r.advance(r.uvarint())
	case thriftList, thriftSet:
		b := r.byte()
		n := uint64(b >> 4)
		if n == 15 {
			n = r.uvarint()
		}
		r.items(n, depth, b&15)
	case thriftMap:
		n := r.uvarint()
		if n == 0 {
			return
		}
		b := r.byte()
		r.items(n, depth, b>>4, b&15)
	case thriftStruct:
		r.structs++
		for last := 0; r.err == nil; {
			id, t := r.field(last)
			if t == thriftStop {
				return
			}
			last = id
			r.skip(t, false, depth+1)
		}
	default:
		r.fail(fmt.Errorf("thrift: unknown type %d", typ))
	}
}

func (r *thriftReader) items(n uint64, depth int, types ...byte) {
	if n > uint64(len(r.b)-r.pos) { // an item takes a byte at least
		r.fail(errThriftShort)
		return
	}
	for ; n > 0 && r.err == nil; n-- {
		for _, t := range types {
			r.skip(t, true, depth+1)
		}
	}
}

// pageHeader is the header of a page (Parquet format, PageHeader).
type pageHeader struct {
	kind         int32 // of format.PageType
	uncompressed int32 // bytes
	compressed   int32 // bytes that follow the header
	crc          uint32
	hasCRC       bool
	values       int32 // with nulls
	nulls        int32 // v2
	rows         int32 // v2
	encoding     int32
	defEncoding  int32 // v1
	repEncoding  int32 // v1
	defLength    int32 // v2, bytes
	repLength    int32 // v2, bytes
	packed       bool  // v2: values are compressed
}

// parsePageHeader reads the header at the start of b and returns its length.
func parsePageHeader(b []byte) (h pageHeader, n int, err error) {
	r := thriftReader{b: b}
	h.packed = true
	seen := 0
	for last := 0; ; {
		id, t := r.field(last)
		if t == thriftStop {
			break
		}
		last = id
		switch {
		case id == 1 && t == thriftI32:
			h.kind = r.i32()
			seen |= 1
		case id == 2 && t == thriftI32:
			h.uncompressed = r.i32()
			seen |= 2
		case id == 3 && t == thriftI32:
			h.compressed = r.i32()
			seen |= 4
		case id == 4 && t == thriftI32:
			h.crc, h.hasCRC = uint32(r.i32()), true
		case (id == 5 || id == 7 || id == 8) && t == thriftStruct:
			h.details(&r, id)
			seen |= 8 << id
		default:
			r.skip(t, false, 0)
		}
	}
	if r.err != nil {
		return h, 0, fmt.Errorf("page header: %w", r.err)
	}
	want := map[int32]int{0: 8 << 5, 2: 8 << 7, 3: 8 << 8, 1: 0}
	if need, ok := want[h.kind]; !ok || seen&7 != 7 || seen&need != need {
		return h, 0, fmt.Errorf("page header: incomplete, or of unknown kind %d", h.kind)
	}
	if h.uncompressed < 0 || h.compressed < 0 || h.values < 0 || h.nulls < 0 || h.rows < 0 || h.defLength < 0 || h.repLength < 0 ||
		h.nulls > h.values {
		return h, 0, errors.New("page header: negative or contradictory numbers")
	}
	return h, r.pos, nil
}

// details reads DataPageHeader (5), DictionaryPageHeader (7) or DataPageHeaderV2 (8).
func (h *pageHeader) details(r *thriftReader, kind int) {
	for last := 0; ; {
		id, t := r.field(last)
		if t == thriftStop {
			return
		}
		last = id
		var to *int32
		if t == thriftI32 {
			switch {
			case id == 1:
				to = &h.values
			case kind != 8 && id == 2:
				to = &h.encoding
			case kind == 5 && id == 3:
				to = &h.defEncoding
			case kind == 5 && id == 4:
				to = &h.repEncoding
			case kind == 8 && id == 2:
				to = &h.nulls
			case kind == 8 && id == 3:
				to = &h.rows
			case kind == 8 && id == 4:
				to = &h.encoding
			case kind == 8 && id == 5:
				to = &h.defLength
			case kind == 8 && id == 6:
				to = &h.repLength
			}
		}
		switch {
		case to != nil:
			*to = r.i32()
		case kind == 8 && id == 7 && (t == thriftTrue || t == thriftFalse):
			h.packed = t == thriftTrue
		default:
			r.skip(t, false, 0)
		}
	}
}
