package ingest

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// countingReader counts the bytes read from a file as stored.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

var errRecordTooLong = errors.New("the record does not end; is a quotation mark not closed?")

// recordLimit fails when more is read than a record may have since reset was called. What is
// buffered above it is not counted exactly, which a limit of this size does not need.
type recordLimit struct {
	r    io.Reader
	left int64
}

func (l *recordLimit) reset() { l.left = maxRecordBytes }

func (l *recordLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errRecordTooLong
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}

// maxWindowBytes bounds what a zstd file makes the reader hold.
const maxWindowBytes = 128 << 20

// decompress returns the text of a file by its name's end, and the name without it.
func decompress(path string, r io.Reader) (name string, text io.Reader, free func(), err error) {
	lower := strings.ToLower(path)
	if name, ok := strings.CutSuffix(lower, ".gz"); ok {
		z, err := gzip.NewReader(r)
		if errors.Is(err, io.EOF) { // not even a header: an empty file
			return name, strings.NewReader(""), func() {}, nil
		}
		if err != nil {
			return "", nil, nil, err
		}
		return name, z, func() { _ = z.Close() }, nil // it closes nothing and cannot fail
	}
	if name, ok := strings.CutSuffix(lower, ".zst"); ok {
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindowBytes), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return "", nil, nil, err
		}
		return name, z, z.Close, nil
	}
	return lower, r, func() {}, nil
}
