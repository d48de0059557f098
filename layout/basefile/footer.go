package basefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/storage"
)

// The footer's structures where parquet-go's own lose something: whether the null count and the
// bounds are there at all, whether bounds are exact, and key-value pairs without a value.

type fileMetaData struct {
	Version      int32                              `thrift:"1,required"`
	Schema       thrift.Slice[format.SchemaElement] `thrift:"2,required"`
	NumRows      int64                              `thrift:"3,required"`
	RowGroups    thrift.Slice[rowGroup]             `thrift:"4,required"`
	KeyValue     thrift.Slice[keyValue]             `thrift:"5,optional"`
	CreatedBy    string                             `thrift:"6,optional"`
	ColumnOrders thrift.Slice[format.ColumnOrder]   `thrift:"7,optional"`
	Encryption   format.EncryptionAlgorithm         `thrift:"8,optional"`
}

type keyValue struct {
	Key   string `thrift:"1,required"`
	Value string `thrift:"2,optional"`
}

type rowGroup struct {
	Columns             thrift.Slice[columnChunk] `thrift:"1,required"`
	TotalByteSize       int64                     `thrift:"2,required"`
	NumRows             int64                     `thrift:"3,required"`
	FileOffset          int64                     `thrift:"5,optional"`
	TotalCompressedSize int64                     `thrift:"6,optional"`
	Ordinal             thrift.Null[int16]        `thrift:"7,optional"`
}

type columnChunk struct {
	FilePath          string                      `thrift:"1,optional"`
	FileOffset        int64                       `thrift:"2,required"`
	MetaData          columnMetaData              `thrift:"3,optional"`
	OffsetIndexOffset int64                       `thrift:"4,optional"`
	OffsetIndexLength int32                       `thrift:"5,optional"`
	ColumnIndexOffset int64                       `thrift:"6,optional"`
	ColumnIndexLength int32                       `thrift:"7,optional"`
	Crypto            format.ColumnCryptoMetaData `thrift:"8,optional"`
}

type columnMetaData struct {
	Type                  format.Type                            `thrift:"1,required"`
	Encoding              thrift.Slice[format.Encoding]          `thrift:"2,required"`
	Path                  thrift.Slice[string]                   `thrift:"3,required"`
	Codec                 format.CompressionCodec                `thrift:"4,required"`
	NumValues             int64                                  `thrift:"5,required"`
	TotalUncompressedSize int64                                  `thrift:"6,required"`
	TotalCompressedSize   int64                                  `thrift:"7,required"`
	DataPageOffset        int64                                  `thrift:"9,required"`
	DictionaryPageOffset  int64                                  `thrift:"11,optional"`
	Statistics            statistics                             `thrift:"12,optional"`
	EncodingStats         thrift.Slice[format.PageEncodingStats] `thrift:"13,optional"`
}

type statistics struct {
	Max           thrift.Null[[]byte] `thrift:"1,optional"` // deprecated, signed order
	Min           thrift.Null[[]byte] `thrift:"2,optional"`
	NullCount     thrift.Null[int64]  `thrift:"3,optional"`
	MaxValue      thrift.Null[[]byte] `thrift:"5,optional"`
	MinValue      thrift.Null[[]byte] `thrift:"6,optional"`
	MaxValueExact thrift.Null[bool]   `thrift:"7,optional"`
	MinValueExact thrift.Null[bool]   `thrift:"8,optional"`
}

const (
	magic           = "PAR1"
	magicEncrypted  = "PARE"
	footerTail      = 8        // length of the footer and magic
	footerReadAhead = 32 << 10 // most footers come with the first read
	// maxStructDensity bounds what decoding may allocate: a real structure takes more bytes than this.
	maxStructDensity = 4
)

// readFooter reads and decodes a file's footer. It returns the offset at which the footer begins.
func readFooter(f storage.File, path string, size int64) (*fileMetaData, int64, error) {
	corrupt := func(reason string, err error) (*fileMetaData, int64, error) {
		return nil, 0, &CorruptError{Path: path, Reason: reason, Err: err}
	}
	if size == 0 {
		return corrupt("the file is empty", nil)
	}
	if size < int64(len(magic)+footerTail) {
		return corrupt(fmt.Sprintf("%d bytes are too few for a Parquet file", size), nil)
	}
	tail := make([]byte, min(size, footerReadAhead))
	if err := readFull(f, tail, size-int64(len(tail))); err != nil {
		return nil, 0, fault(path, "", err)
	}
	switch string(tail[len(tail)-4:]) {
	case magic:
	case magicEncrypted:
		return nil, 0, &UnsupportedError{Path: path, Reason: "the file is encrypted"}
	default:
		return corrupt("does not end in "+magic+": not a Parquet file, or cut short", nil)
	}
	length := int64(binary.LittleEndian.Uint32(tail[len(tail)-footerTail:]))
	start := size - footerTail - length
	if start < int64(len(magic)) {
		return corrupt(fmt.Sprintf("footer of %d bytes in a file of %d", length, size), nil)
	}
	footer := tail[:len(tail)-footerTail]
	if length <= int64(len(footer)) {
		footer = footer[int64(len(footer))-length:]
	} else {
		footer = make([]byte, length)
		if err := readFull(f, footer, start); err != nil {
			return nil, 0, fault(path, "", err)
		}
	}
	m, err := decodeFooter(footer)
	if err != nil {
		return corrupt("footer", err)
	}
	return m, start, nil
}

func decodeFooter(b []byte) (m *fileMetaData, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("thrift: %v", r)
		}
	}()
	w := thriftReader{b: b}
	if w.skip(thriftStruct, false, 0); w.err != nil {
		return nil, w.err
	}
	if w.structs > len(b)/maxStructDensity+16 {
		return nil, errors.New("thrift: more structures than its size allows")
	}
	m = new(fileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[:w.pos], m); err != nil {
		return nil, err
	}
	return m, nil
}

// readFull reads len(b) bytes at an offset inside the file.
func readFull(f io.ReaderAt, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &ioError{err}
}
