package basefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// Codec compresses the pages of a file being written.
type Codec uint8

// The codecs. LZ4 is read but never written: readers disagree about its framing.
const (
	Snappy Codec = iota
	None
	Gzip
	Zstd
)

var codecNames = [...]string{"snappy", "uncompressed", "gzip", "zstd"}

// String returns the name that ParseCodec takes.
func (c Codec) String() string { return codecNames[c] }

// ParseCodec reads a value of hoodie.parquet.compression.codec, in either case. The empty text is Snappy.
func ParseCodec(s string) (Codec, error) {
	switch strings.ToLower(s) {
	case "", "snappy":
		return Snappy, nil
	case "uncompressed", "none":
		return None, nil
	case "gzip":
		return Gzip, nil
	case "zstd":
		return Zstd, nil
	}
	return 0, fmt.Errorf("compression codec %q cannot be written; use snappy, zstd, gzip or uncompressed", s)
}

func (c Codec) format() format.CompressionCodec {
	switch c {
	case None:
		return format.Uncompressed
	case Gzip:
		return format.Gzip
	case Zstd:
		return format.Zstd
	}
	return format.Snappy
}

// compressor holds the state of one goroutine that compresses pages.
type compressor struct {
	codec Codec
	gz    *gzip.Writer
	zstd  *zstd.Encoder
	buf   bytes.Buffer
}

// compress appends the compressed form of src to dst.
func (c *compressor) compress(dst, src []byte) ([]byte, error) {
	switch c.codec {
	case Snappy:
		n := snappy.MaxEncodedLen(len(src))
		if n < 0 {
			return nil, fmt.Errorf("a page of %d bytes is too large for snappy", len(src))
		}
		if cap(dst)-len(dst) < n {
			dst = append(make([]byte, 0, len(dst)+n), dst...)
		}
		out := snappy.Encode(dst[len(dst):len(dst)+n], src)
		return dst[:len(dst)+len(out)], nil
	case Gzip:
		c.buf.Reset()
		if c.gz == nil {
			c.gz = gzip.NewWriter(&c.buf)
		} else {
			c.gz.Reset(&c.buf)
		}
		if _, err := c.gz.Write(src); err != nil {
			return nil, err
		}
		if err := c.gz.Close(); err != nil {
			return nil, err
		}
		return append(dst, c.buf.Bytes()...), nil
	case Zstd:
		if c.zstd == nil {
			var err error
			c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
			if err != nil {
				return nil, err
			}
		}
		return c.zstd.EncodeAll(src, dst), nil
	}
	return append(dst, src...), nil
}

var errDecompressedSize = errors.New("decompressed size differs from the page header's")

// decompress expands src, whose page header says that it becomes size bytes. dst gives room.
func decompress(codec format.CompressionCodec, dst, src []byte, size int) ([]byte, error) {
	if size == 0 && len(src) == 0 {
		return dst[:0], nil
	}
	switch codec {
	case format.Uncompressed:
		if len(src) != size {
			return nil, errDecompressedSize
		}
		return src, nil
	case format.Snappy:
		// The length comes first in the stream: look before making room.
		if n, err := snappy.DecodedLen(src); err != nil || n != size {
			return nil, errors.Join(errDecompressedSize, err)
		}
		return snappy.Decode(room(dst, size), src)
	case format.Gzip:
		return gunzip(dst, src, size)
	case format.Zstd:
		return unzstd(dst, src, size)
	case format.Brotli:
		return readExactly(brotli.NewReader(bytes.NewReader(src)), dst, size)
	case format.Lz4Raw:
		return unlz4(dst, src, size)
	case format.Lz4:
		return unlz4Hadoop(dst, src, size)
	}
	return nil, unsupported(fmt.Sprintf("compression codec %s", codec))
}

// room returns n bytes, in b if they fit.
func room(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// readExactly reads size bytes and then the end.
func readExactly(r io.Reader, dst []byte, size int) ([]byte, error) {
	// Room is made as bytes come, so that a false size in the header costs nothing.
	dst = dst[:0]
	for len(dst) < size {
		if cap(dst) == len(dst) {
			dst = append(make([]byte, 0, min(size, max(64<<10, 4*len(dst)))), dst...)
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), size)])
		dst = dst[:len(dst)+n]
		if err != nil && len(dst) < size {
			if err == io.EOF {
				err = errDecompressedSize
			}
			return nil, err
		}
	}
	var one [1]byte
	if n, err := io.ReadFull(r, one[:]); n != 0 || err != io.EOF {
		if n != 0 {
			err = errDecompressedSize
		}
		return nil, err
	}
	return dst, nil
}

var gzipReaders sync.Pool

func gunzip(dst, src []byte, size int) ([]byte, error) {
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer gzipReaders.Put(r)
	if err := r.Reset(bytes.NewReader(src)); err != nil { // reads members one after the other
		return nil, err
	}
	return readExactly(r, dst, size)
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxDecodedBytes))
})

func unzstd(dst, src []byte, size int) ([]byte, error) {
	d, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	// DecodeAll stays within the capacity, so the page header's size is the bound.
	out, err := d.DecodeAll(src, room(dst, size)[:0])
	if err != nil {
		return nil, err
	}
	if len(out) != size {
		return nil, errDecompressedSize
	}
	return out, nil
}

// maxLZ4Ratio is the most that LZ4 can expand, by a match's length bytes.
const maxLZ4Ratio = 255

// unlz4 decodes one LZ4 block. It is done here and not through parquet-go, which gives back wrong
// bytes without an error when it guesses the size right.
func unlz4(dst, src []byte, size int) ([]byte, error) {
	if size > len(src)*maxLZ4Ratio+64 {
		return nil, errDecompressedSize
	}
	dst = room(dst, size)
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return nil, err
	}
	if n != size {
		return nil, errDecompressedSize
	}
	return dst, nil
}

// unlz4Hadoop decodes the deprecated codec LZ4: blocks with two big-endian sizes before them, as
// Hadoop frames them, or a bare block, as other writers understood it.
func unlz4Hadoop(dst, src []byte, size int) ([]byte, error) {
	if size > len(src)*maxLZ4Ratio+64 {
		return nil, errDecompressedSize
	}
	out, rest := room(dst, size), src
	at := 0
	for len(rest) >= 8 && at < size {
		n, c := int64(binary.BigEndian.Uint32(rest)), int64(binary.BigEndian.Uint32(rest[4:]))
		if n > int64(size-at) || c > int64(len(rest)-8) {
			break
		}
		k, err := lz4.UncompressBlock(rest[8:8+c], out[at:at+int(n)])
		if err != nil || int64(k) != n {
			break
		}
		at += k
		rest = rest[8+c:]
	}
	if at == size && len(rest) == 0 {
		return out, nil
	}
	return unlz4(dst, src, size)
}
