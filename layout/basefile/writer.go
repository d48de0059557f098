package basefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/schema"
)

// Summary says what a finished file holds.
type Summary struct {
	Rows, Bytes int64
	// Stats has every column's statistics over the whole file, by name; nested columns have no range.
	// Bounds of strings of up to 256 bytes are exact.
	Stats          map[string]predicate.ColumnStats
	MinKey, MaxKey string // of KeyColumn, bytewise
}

// Writer writes a base file. It holds the rows of one row group. It is for one goroutine.
type Writer struct {
	w      io.Writer
	o      WriterOptions
	fields []*schema.ParquetField
	leaves []*schema.ParquetField
	paths  []thrift.Slice[string] // of the leaves
	meta   fileMetaData
	index  []indexed
	keys   *keySet
	stats  []*fieldStats
	encode sync.Pool // of *chunkEncoder

	pending      []*column.Batch
	pendingRows  int
	pendingBytes int64
	lastDict     []*column.Dictionary
	taken        int64 // rows passed to Write

	offset     int64 // bytes written
	rawBytes   int64 // of the row groups written
	groupBytes int64 // that they became
	err        error
	closed     bool
}

// indexed are the page indexes of a column chunk, written before the footer.
type indexed struct {
	column  *format.ColumnIndex
	offsets *format.OffsetIndex
}

// fieldStats gathers a column's statistics over the row groups.
type fieldStats struct {
	rows, nulls, bytes int64
	r                  valueRange
}

var errClosed = errors.New("base file writer is closed")

// NewWriter starts a base file on w. It writes nothing before the first row group or Close.
func NewWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("write base file: %w", err)
	}
	x := &Writer{w: w, o: o}
	if err := x.bind(); err != nil {
		return nil, fmt.Errorf("write base file: %w", err)
	}
	x.encode.New = func() any { return &chunkEncoder{comp: compressor{codec: o.Codec}} }
	x.lastDict = make([]*column.Dictionary, len(x.fields))
	for range x.fields {
		x.stats = append(x.stats, new(fieldStats))
	}
	if o.KeyColumn != "" {
		i := o.Schema.Index(o.KeyColumn)
		if i < 0 || o.Schema.Fields[i].Type.Kind != column.String {
			return nil, fmt.Errorf("write base file: no string column %q for record keys", o.KeyColumn)
		}
		x.keys = &keySet{column: o.KeyColumn, entries: o.BloomEntries, fpp: o.BloomFPP}
	}
	return x, nil
}

// bind makes the footer's schema and the leaves' fields.
func (x *Writer) bind() error {
	s, err := schema.ToParquet(x.o.Name, x.o.Schema)
	if err != nil {
		return err
	}
	elements, err := schema.ParquetElements(s)
	if err != nil {
		return err
	}
	if x.fields, err = schema.BindParquet(elements); err != nil {
		return err
	}
	for _, f := range x.fields {
		x.leaves = f.Leaves(x.leaves)
	}
	leafPaths(elements, nil, &x.paths)
	x.meta = fileMetaData{Version: 1, Schema: elements, CreatedBy: x.o.CreatedBy}
	for range x.leaves {
		x.meta.ColumnOrders = append(x.meta.ColumnOrders, format.ColumnOrder{Value: new(format.TypeDefinedOrder)})
	}
	return nil
}

// leafPaths collects the paths of the leaves below the first element and returns the elements after it.
func leafPaths(e []format.SchemaElement, path []string, dst *[]thrift.Slice[string]) []format.SchemaElement {
	n := e[0].NumChildren.V
	e = e[1:]
	for range n {
		child := append(slices.Clip(path), e[0].Name)
		if e[0].Type.Valid {
			*dst = append(*dst, child)
			e = e[1:]
		} else {
			e = leafPaths(e, child, dst)
		}
	}
	return e
}

// Write adds the rows of a batch, whose columns must be the schema's, in order. The batch must not
// change afterwards: it is held until its row group is written.
func (x *Writer) Write(b *column.Batch) error {
	if x.closed {
		return errClosed
	}
	if x.err != nil {
		return x.err
	}
	if err := x.check(b); err != nil {
		return fmt.Errorf("write base file: %w", err)
	}
	for lo := 0; lo < b.Len; {
		hi := min(b.Len, lo+writeStep, lo+x.o.RowGroupRows-x.pendingRows)
		part := b
		if lo != 0 || hi != b.Len {
			part = b.Slice(lo, hi)
		}
		if err := x.take(part); err != nil {
			x.err = fmt.Errorf("write base file: %w", err)
			return x.err
		}
		lo = hi
	}
	return nil
}

func (x *Writer) check(b *column.Batch) error {
	if len(b.Cols) != len(x.fields) {
		return fmt.Errorf("batch of %d columns, the file has %d", len(b.Cols), len(x.fields))
	}
	for i, v := range b.Cols {
		f := &x.o.Schema.Fields[i]
		if v.Len != b.Len {
			return fmt.Errorf("column %q: %d rows in a batch of %d", f.Name, v.Len, b.Len)
		}
		if !sameStorage(v.Type, f.Type) {
			return fmt.Errorf("column %q: %s in a column of %s", f.Name, v.Type, f.Type)
		}
	}
	return nil
}

// sameStorage reports whether values of one type can be stored as the other without change: names and
// nullability of children need not be the same.
func sameStorage(a, b column.Type) bool {
	if a.Kind != b.Kind || a.Precision != b.Precision || a.Scale != b.Scale || a.FixedSize != b.FixedSize || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Fields {
		if !sameStorage(a.Fields[i].Type, b.Fields[i].Type) {
			return false
		}
	}
	return true
}

// take adds rows to the row group, which must have room for them.
func (x *Writer) take(b *column.Batch) error {
	if x.keys != nil {
		if err := x.keys.add(b.Cols[x.o.Schema.Index(x.o.KeyColumn)], x.taken); err != nil {
			return err
		}
	}
	for i, v := range b.Cols {
		x.pendingBytes += x.sizeOf(i, v)
	}
	x.pending = append(x.pending, b)
	x.pendingRows += b.Len
	x.taken += int64(b.Len)
	if x.pendingRows >= x.o.RowGroupRows || x.pendingBytes >= x.o.RowGroupBytes {
		return x.flush()
	}
	return nil
}

// sizeOf is the memory of a column of a batch; a dictionary that the batch before had counts once.
func (x *Writer) sizeOf(i int, v *column.Vector) int64 {
	if v.Dict == nil {
		return vectorBytes(v)
	}
	n := 4 * int64(v.Len)
	if v.Dict != x.lastDict[i] {
		x.lastDict[i] = v.Dict
		// Of a dictionary larger than the batch, entries will be left out.
		n += min(int64(len(v.Dict.Bytes)+4*v.Dict.Len()), int64(len(v.Dict.Bytes)/max(v.Dict.Len(), 1)+4)*int64(v.Len))
	}
	return n
}

func vectorBytes(v *column.Vector) int64 {
	switch {
	case v.Type.Kind.Nested():
		n := int64(4 * len(v.Offsets))
		for _, c := range v.Children {
			n += vectorBytes(c)
		}
		return n
	case v.Dict != nil:
		return 4 * int64(v.Len)
	}
	f := formOf(v.Type)
	n := f.width() * int64(v.Len)
	if f == formStr && v.Len > 0 {
		n += int64(v.Str.Offsets[v.Len] - v.Str.Offsets[0])
	}
	return n
}

// BytesWritten is the size that the file has reached: what was written, and an estimate of what the
// rows held back will take, by the compression seen so far.
func (x *Writer) BytesWritten() int64 {
	ratio := firstRatio
	if x.rawBytes > 0 {
		ratio = float64(x.groupBytes) / float64(x.rawBytes)
	}
	return x.offset + int64(math.Ceil(ratio*float64(x.pendingBytes)))
}

func (x *Writer) write(b []byte) error {
	n, err := x.w.Write(b)
	x.offset += int64(n)
	return err
}

// flush writes the rows held as one row group.
func (x *Writer) flush() error {
	if x.pendingRows == 0 {
		return nil
	}
	if x.offset == 0 {
		if err := x.write([]byte(magic)); err != nil {
			return err
		}
	}
	chunks, err := x.encodeRowGroup()
	if err != nil {
		return err
	}
	g := rowGroup{NumRows: int64(x.pendingRows), FileOffset: x.offset}
	if n := len(x.meta.RowGroups); n <= math.MaxInt16 {
		g.Ordinal = thrift.New(int16(n))
	}
	start := x.offset
	for i, c := range chunks {
		m := c.meta
		m.Path = x.paths[i]
		m.DataPageOffset = x.offset + int64(c.dictSize)
		if c.dictSize > 0 {
			m.DictionaryPageOffset = x.offset
		}
		for k := range c.offsets.PageLocations {
			c.offsets.PageLocations[k].Offset += x.offset
		}
		g.Columns = append(g.Columns, columnChunk{FileOffset: x.offset, MetaData: m})
		g.TotalByteSize += m.TotalUncompressedSize
		g.TotalCompressedSize += m.TotalCompressedSize
		x.index = append(x.index, indexed{c.index, &c.offsets})
		if err := x.write(c.buf); err != nil {
			return err
		}
	}
	x.meta.RowGroups = append(x.meta.RowGroups, g)
	x.meta.NumRows += g.NumRows
	x.rawBytes += x.pendingBytes
	x.groupBytes += x.offset - start
	x.pending, x.pendingRows, x.pendingBytes = nil, 0, 0
	clear(x.lastDict)
	return nil
}

// encodeRowGroup encodes the rows held, some columns at a time, and returns the chunks by leaf.
func (x *Writer) encodeRowGroup() ([]*chunkOut, error) {
	ends := x.pageEnds()
	chunks := make([]*chunkOut, len(x.leaves))
	var g errgroup.Group
	g.SetLimit(x.o.Parallel)
	first := 0
	for i, f := range x.fields {
		own := chunks[first : first+leafCount(f)]
		first += len(own)
		g.Go(func() error { return x.encodeField(i, f, ends, own) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return chunks, nil
}

func (x *Writer) encodeField(i int, f *schema.ParquetField, ends []int, chunks []*chunkOut) error {
	parts := make([]*column.Vector, len(x.pending))
	for k, b := range x.pending {
		parts[k] = b.Cols[i]
	}
	v := parts[0]
	if len(parts) > 1 {
		v = column.Concat(f.Type, parts)
	}
	leaves, err := shred(nil, f, v)
	if err != nil {
		return err
	}
	e := x.encode.Get().(*chunkEncoder)
	defer x.encode.Put(e)
	s := x.stats[i]
	s.rows += int64(v.Len)
	s.nulls += int64(v.NullCount())
	for k, l := range leaves {
		if chunks[k], err = e.encode(l, ends); err != nil {
			return err
		}
		s.bytes += int64(len(chunks[k].buf))
		if f.Leaf >= 0 {
			r := chunks[k].values
			r.min.b, r.max.b = slices.Clone(r.min.b), slices.Clone(r.max.b) // let go of the row group
			s.r.add(r, formOf(f.Type))
		}
	}
	return nil
}

// pageEnds cuts the row group into pages, the same for all columns (I4).
func (x *Writer) pageEnds() []int {
	rows := x.o.PageRows
	widest := int64(0) // bytes of one column
	for i := range x.fields {
		n := int64(0)
		for _, b := range x.pending {
			v := b.Cols[i]
			if v.Dict != nil {
				n += int64(len(v.Dict.Bytes)/max(v.Dict.Len(), 1)+4) * int64(v.Len)
			} else {
				n += vectorBytes(v)
			}
		}
		widest = max(widest, n)
	}
	for rows > 16 && widest/int64(x.pendingRows)*int64(rows) > maxPageBytes {
		rows /= 2
	}
	var ends []int
	for at := 0; at < x.pendingRows; {
		at = min(at+rows, x.pendingRows)
		ends = append(ends, at)
	}
	return ends
}

// Close writes what is held back and the footer. It does not close the io.Writer.
func (x *Writer) Close() (Summary, error) {
	if x.closed {
		return Summary{}, errClosed
	}
	x.closed = true
	if x.err != nil {
		return Summary{}, x.err
	}
	if err := x.finish(); err != nil {
		return Summary{}, fmt.Errorf("write base file: %w", err)
	}
	s := Summary{Rows: x.meta.NumRows, Bytes: x.offset, Stats: make(map[string]predicate.ColumnStats, len(x.fields))}
	for i, f := range x.fields {
		s.Stats[f.Name] = x.stats[i].columnStats(f)
	}
	if x.keys != nil {
		s.MinKey, s.MaxKey = string(x.keys.min), string(x.keys.max)
	}
	return s, nil
}

func (x *Writer) finish() error {
	if err := x.flush(); err != nil {
		return err
	}
	if x.offset == 0 { // no rows
		if err := x.write([]byte(magic)); err != nil {
			return err
		}
	}
	if err := x.writeIndexes(); err != nil {
		return err
	}
	kv := maps.Clone(x.o.KeyValue)
	if kv == nil {
		kv = map[string]string{}
	}
	if x.keys != nil {
		x.keys.footer(kv)
	}
	for k, v := range kv {
		x.meta.KeyValue = append(x.meta.KeyValue, keyValue{k, v})
	}
	sort.Slice(x.meta.KeyValue, func(i, j int) bool { return x.meta.KeyValue[i].Key < x.meta.KeyValue[j].Key })
	if x.meta.RowGroups == nil {
		x.meta.RowGroups = thrift.Slice[rowGroup]{}
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &x.meta)
	if err != nil {
		return err
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	return x.write(append(b, magic...))
}

// writeIndexes writes the column indexes and then the offset indexes of all column chunks.
func (x *Writer) writeIndexes() error {
	proto := new(thrift.CompactProtocol)
	put := func(v any) (at int64, length int32, err error) {
		b, err := thrift.Marshal(proto, v)
		if err != nil {
			return 0, 0, err
		}
		at = x.offset
		return at, int32(len(b)), x.write(b)
	}
	n := len(x.leaves)
	var err error
	for k, ix := range x.index {
		if c := &x.meta.RowGroups[k/n].Columns[k%n]; ix.column != nil {
			if c.ColumnIndexOffset, c.ColumnIndexLength, err = put(ix.column); err != nil {
				return err
			}
		}
	}
	for k, ix := range x.index {
		c := &x.meta.RowGroups[k/n].Columns[k%n]
		if c.OffsetIndexOffset, c.OffsetIndexLength, err = put(ix.offsets); err != nil {
			return err
		}
	}
	return nil
}
