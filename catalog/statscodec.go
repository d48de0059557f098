package catalog

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// The encoding of statistics. Integers are varints of encoding/binary, "int" signed (zigzag),
// "uint" unsigned; a string is its length as uint and its bytes. The first byte of each blob is
// the version of its form.
//
//	entry   flags (1: HasRange, 2: MayNaN), rows int, nulls int, bytes int, [min value, max value]
//	value   kind byte, then by kind: int | float 8 bytes little-endian | scale uint, high int, low int | string
//	row     version 1, columns uint, then each: name string, entry string       (one file, all columns)
//	column  version 1, files uint, then each: entry string, empty if unknown    (one column, all files)
//	names   version 1, files uint, then each: name string
//
// The entry of a row and that of a column are the same bytes, so that segments are made and
// joined by copying. The numbers of kinds are written out below: they must not follow
// column.Kind, which may be re-ordered.
const codecVersion = 1

const (
	flagRange = 1 << iota
	flagNaN
	flagsKnown = flagRange | flagNaN
)

var codeOfKind = map[column.Kind]byte{
	column.Bool: 1, column.Int32: 2, column.Int64: 3, column.Float32: 4, column.Float64: 5, column.Decimal: 6,
	column.String: 7, column.Binary: 8, column.Date: 9, column.Time: 10, column.Timestamp: 11, column.TimestampMilli: 12,
}

var kindOfCode = func() map[byte]column.Kind {
	m := map[byte]column.Kind{}
	for k, c := range codeOfKind {
		m[c] = k
	}
	return m
}()

// appendEntry encodes the statistics of one column of one file. A range whose ends are null or of
// a kind without order says nothing and is left out.
func appendEntry(dst []byte, s predicate.ColumnStats) []byte {
	flags := byte(0)
	if s.HasRange && bounds(s.Min) && bounds(s.Max) {
		flags |= flagRange
	}
	if s.MayNaN {
		flags |= flagNaN
	}
	dst = append(dst, flags)
	dst = binary.AppendVarint(dst, s.Rows)
	dst = binary.AppendVarint(dst, s.Nulls)
	dst = binary.AppendVarint(dst, s.Bytes)
	if flags&flagRange != 0 {
		dst = appendValue(dst, s.Min)
		dst = appendValue(dst, s.Max)
	}
	return dst
}

func bounds(v predicate.Value) bool {
	_, ok := codeOfKind[v.Kind]
	return ok && !v.Null
}

func appendValue(dst []byte, v predicate.Value) []byte {
	dst = append(dst, codeOfKind[v.Kind])
	switch v.Kind {
	case column.Float32, column.Float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.F))
	case column.Decimal:
		dst = binary.AppendUvarint(dst, uint64(v.Scale))
		dst = binary.AppendVarint(dst, v.D.Hi)
		return binary.AppendVarint(dst, int64(v.D.Lo)) // signed: short for small numbers of either sign
	case column.String, column.Binary:
		return appendString(dst, v.B)
	}
	return binary.AppendVarint(dst, v.I)
}

func appendString[T string | []byte](dst []byte, s T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// encodeRow encodes all columns of one file.
func encodeRow(columns map[string]predicate.ColumnStats) []byte {
	names := make([]string, 0, len(columns))
	for n := range columns {
		names = append(names, n)
	}
	slices.Sort(names)
	dst := binary.AppendUvarint([]byte{codecVersion}, uint64(len(names)))
	var entry []byte
	for _, n := range names {
		entry = appendEntry(entry[:0], columns[n])
		dst = appendString(dst, n)
		dst = appendString(dst, entry)
	}
	return dst
}

// encodeList encodes a column blob of entries, or a names blob.
func encodeList[T string | []byte](items []T) []byte {
	size := 1 + binary.MaxVarintLen64
	for _, it := range items {
		size += len(it) + 2
	}
	dst := append(make([]byte, 0, size), codecVersion)
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for _, it := range items {
		dst = appendString(dst, it)
	}
	return dst
}

// reader takes a blob apart. After the first error everything it gives is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: statistics: bad %s", ErrCorrupt, what)
		r.b = nil
	}
}

func (r *reader) byte(what string) byte {
	if len(r.b) == 0 {
		r.fail(what)
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uint(what string) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(what)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int(what string) int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail(what)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// string returns bytes of the blob itself.
func (r *reader) string(what string) []byte {
	n := r.uint(what)
	if n > uint64(len(r.b)) {
		r.fail(what)
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// count reads how many items follow, each of at least one byte: a wrong count cannot make the
// caller allocate more than the blob's own size.
func (r *reader) count(what string) int {
	if v := r.byte("version"); r.err == nil && v != codecVersion {
		r.fail(fmt.Sprintf("version %d", v))
	}
	n := r.uint(what)
	if n > uint64(len(r.b)) {
		r.fail(what)
		return 0
	}
	return int(n)
}

// end fails if anything is left.
func (r *reader) end() error {
	if len(r.b) != 0 {
		r.fail("length")
	}
	return r.err
}

// decodeEntry decodes one non-empty entry.
func decodeEntry(b []byte) (predicate.ColumnStats, error) {
	r := reader{b: b}
	flags := r.byte("flags")
	if flags&^flagsKnown != 0 {
		r.fail("flags")
	}
	s := predicate.ColumnStats{Rows: r.int("rows"), Nulls: r.int("nulls"), Bytes: r.int("bytes")}
	s.HasRange, s.MayNaN = flags&flagRange != 0, flags&flagNaN != 0
	if s.HasRange {
		s.Min, s.Max = r.value("minimum"), r.value("maximum")
	}
	if err := r.end(); err != nil {
		return predicate.ColumnStats{}, err
	}
	return s, nil
}

func (r *reader) value(what string) predicate.Value {
	kind, ok := kindOfCode[r.byte(what)]
	if !ok {
		r.fail(what)
		return predicate.Value{}
	}
	v := predicate.Value{Kind: kind}
	switch kind {
	case column.Float32, column.Float64:
		if len(r.b) < 8 {
			r.fail(what)
			return predicate.Value{}
		}
		v.F = math.Float64frombits(binary.LittleEndian.Uint64(r.b))
		r.b = r.b[8:]
	case column.Decimal:
		scale := r.uint(what)
		if scale > maxScale {
			r.fail(what)
		}
		v.Scale, v.D.Hi, v.D.Lo = int(scale), r.int(what), uint64(r.int(what))
	case column.String, column.Binary:
		v.B = r.string(what)
	default:
		v.I = r.int(what)
	}
	return v
}

// maxScale is the largest scale of a decimal column.
const maxScale = 38

// eachColumn calls fn with the name and the entry of every column of a row, both bytes of the blob.
func eachColumn(row []byte, fn func(name, entry []byte) error) error {
	r := reader{b: row}
	for range r.count("number of columns") {
		name, entry := r.string("column name"), r.string("entry")
		if r.err != nil {
			break
		}
		if err := fn(name, entry); err != nil {
			return err
		}
	}
	return r.end()
}

// decodeList takes a column or names blob apart; the items are bytes of the blob.
func decodeList(blob []byte) ([][]byte, error) {
	r := reader{b: blob}
	n := r.count("number of files")
	items := make([][]byte, 0, n)
	for range n {
		items = append(items, r.string("item"))
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return items, nil
}
