package basefile

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
	"github.com/shoaldb/shoal/layout/storage"
)

// File is an open base file, of which the footer has been read. It is safe for concurrent use. It does
// not close the storage's file.
type File struct {
	f       storage.File
	path    string
	size    int64
	rows    int64
	meta    *fileMetaData
	schema  *column.Schema
	fields  []*schema.ParquetField
	leaves  []*schema.ParquetField // by index
	names   []string               // dotted paths of the leaves
	ordered []bool                 // by leaf: min_value and max_value are in the type's order

	keyValue map[string]string
	bloom    func() (*BloomFilter, error)

	bytesRead, rowGroupsRead, rowsRead atomic.Int64
}

// Counters say what was read from a file since it was opened.
type Counters struct {
	Bytes     int64 // of column chunks, without the footer
	RowGroups int64 // decoded, whatever the columns
	Rows      int64 // of these row groups
}

// Keys of the footer's key-value pairs (docs/format.md: footer).
const (
	KeyAvroSchema    = "parquet.avro.schema"
	KeyBloom         = "org.apache.hudi.bloomfilter"
	KeyBloomLegacy   = "com.uber.hoodie.bloomfilter"
	KeyBloomTypeCode = "hoodie_bloom_filter_type_code"
	KeyMinRecordKey  = "hoodie_min_record_key"
	KeyMaxRecordKey  = "hoodie_max_record_key"
)

// Open reads the footer of a base file. path is what errors call the file; it need not be f's own.
// Errors about the content are CorruptError and UnsupportedError.
func Open(f storage.File, path string) (*File, error) {
	size := f.Size()
	meta, footer, err := readFooter(f, path, size)
	if err != nil {
		return nil, err
	}
	x := &File{f: f, path: path, size: size, meta: meta, keyValue: make(map[string]string, len(meta.KeyValue))}
	if meta.Encryption.Value != nil {
		return nil, &UnsupportedError{Path: path, Reason: "the file is encrypted"}
	}
	if x.fields, err = schema.BindParquet(meta.Schema); err != nil {
		return nil, &UnsupportedError{Path: path, Err: err}
	}
	x.schema = &column.Schema{Fields: make([]column.Field, 0, len(x.fields))}
	for _, fd := range x.fields {
		if x.schema.Index(fd.Name) >= 0 {
			return nil, &UnsupportedError{Path: path, Column: fd.Name, Reason: "two columns have this name"}
		}
		x.schema.Fields = append(x.schema.Fields, fd.Field)
		x.leaves = fd.Leaves(x.leaves)
	}
	if err := x.checkRowGroups(footer); err != nil {
		return nil, err
	}
	for _, kv := range meta.KeyValue {
		x.keyValue[kv.Key] = kv.Value
	}
	x.bloom = sync.OnceValues(x.parseBloom)
	return x, nil
}

// checkRowGroups checks what the footer says of the column chunks against the schema and the file's size.
func (x *File) checkRowGroups(footer int64) error {
	corrupt := func(column, reason string, args ...any) error {
		return &CorruptError{Path: x.path, Column: column, Reason: fmt.Sprintf(reason, args...)}
	}
	x.names = make([]string, len(x.leaves))
	rows := int64(0)
	for i := range x.meta.RowGroups {
		g := &x.meta.RowGroups[i]
		if len(g.Columns) != len(x.leaves) {
			return corrupt("", "row group %d has %d column chunks, the schema %d", i, len(g.Columns), len(x.leaves))
		}
		if g.NumRows < 0 || rows+g.NumRows < rows {
			return corrupt("", "row group %d has %d rows", i, g.NumRows)
		}
		rows += g.NumRows
		for c := range g.Columns {
			cc, leaf := &g.Columns[c], x.leaves[c]
			md := &cc.MetaData
			if i == 0 {
				x.names[c] = strings.Join(md.Path, ".")
			}
			if cc.Crypto.Value != nil || md.Path == nil {
				return &UnsupportedError{Path: x.path, Column: leaf.Name, Reason: "the column is encrypted, or its metadata are missing"}
			}
			if cc.FilePath != "" {
				return &UnsupportedError{Path: x.path, Column: x.names[c], Reason: "the column is in another file, " + cc.FilePath}
			}
			start, length := chunkRange(md)
			switch {
			case md.Type != leaf.Physical:
				return corrupt(x.names[c], "row group %d holds %s, the schema says %s", i, md.Type, leaf.Physical)
			case md.NumValues < 0 || leaf.Rep == 0 && md.NumValues != g.NumRows || md.NumValues < g.NumRows:
				return corrupt(x.names[c], "%d values in row group %d of %d rows", md.NumValues, i, g.NumRows)
			case length < 0 || start < 0 || length > footer || start > footer-length:
				return corrupt(x.names[c], "row group %d: the column chunk at %d of %d bytes is outside the file", i, start, length)
			}
		}
	}
	x.rows = rows // not the footer's sum, which some writers leave at 0
	x.ordered = make([]bool, len(x.leaves))
	for c := range x.leaves {
		x.ordered[c] = true // a writer that says nothing means the type's own order
		if c < len(x.meta.ColumnOrders) {
			_, x.ordered[c] = x.meta.ColumnOrders[c].Value.(*format.TypeDefinedOrder)
		}
	}
	return nil
}

// chunkRange is where the pages of a column chunk lie. Some writers give a dictionary offset of 0.
func chunkRange(md *columnMetaData) (start, length int64) {
	start = md.DataPageOffset
	if d := md.DictionaryPageOffset; d > 0 && d < start {
		start = d
	}
	return start, md.TotalCompressedSize
}

// Schema returns the file's columns, meta columns included where the file has them.
func (x *File) Schema() *column.Schema { return x.schema }

// Rows returns the number of rows.
func (x *File) Rows() int64 { return x.rows }

// Size returns the file's size in bytes.
func (x *File) Size() int64 { return x.size }

// Path returns the path that Open was given.
func (x *File) Path() string { return x.path }

// CreatedBy returns what the footer says of the writer, or "".
func (x *File) CreatedBy() string { return x.meta.CreatedBy }

// NumRowGroups returns the number of row groups; an empty file may have none.
func (x *File) NumRowGroups() int { return len(x.meta.RowGroups) }

// RowGroupRows returns the number of rows of a row group.
func (x *File) RowGroupRows(i int) int64 { return x.meta.RowGroups[i].NumRows }

// RowGroupBytes returns the compressed size of a row group's chosen columns, of all when columns is nil.
// Columns that the file does not have count nothing.
func (x *File) RowGroupBytes(i int, columns []string) int64 {
	n := int64(0)
	for c := range x.schema.Fields {
		if columns != nil && !contains(columns, x.schema.Fields[c].Name) {
			continue
		}
		for _, leaf := range x.fields[c].Leaves(nil) {
			n += x.meta.RowGroups[i].Columns[leaf.Leaf].MetaData.TotalCompressedSize
		}
	}
	return n
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// KeyValue returns a value of the footer's key-value pairs.
func (x *File) KeyValue(key string) (string, bool) {
	v, ok := x.keyValue[key]
	return v, ok
}

// Counters returns what was read so far.
func (x *File) Counters() Counters {
	return Counters{Bytes: x.bytesRead.Load(), RowGroups: x.rowGroupsRead.Load(), Rows: x.rowsRead.Load()}
}

// KeyRange returns the least and the greatest record key, in bytewise order, as the footer has them.
func (x *File) KeyRange() (min, max string, ok bool) {
	min, a := x.keyValue[KeyMinRecordKey]
	max, b := x.keyValue[KeyMaxRecordKey]
	return min, max, a && b
}

// Bloom returns the filter of the file's record keys; false when it has none. It is parsed at the first call.
func (x *File) Bloom() (*BloomFilter, bool, error) {
	b, err := x.bloom()
	if errors.Is(err, errNoBloom) {
		return nil, false, nil
	}
	return b, err == nil, err
}

var errNoBloom = errors.New("no bloom filter")

func (x *File) parseBloom() (*BloomFilter, error) {
	text, ok := x.keyValue[KeyBloom]
	if !ok {
		if text, ok = x.keyValue[KeyBloomLegacy]; !ok {
			return nil, errNoBloom
		}
	}
	b, err := ParseBloomFilter(text, x.keyValue[KeyBloomTypeCode])
	if err != nil {
		return nil, &CorruptError{Path: x.path, Err: err}
	}
	return b, nil
}
