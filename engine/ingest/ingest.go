package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/storage"
)

// Destination takes the rows; an insert into a table is one.
type Destination interface {
	// Schema is that of the batches, without meta columns. It does not change.
	Schema() *column.Schema
	// Insert takes a batch. It is called by one goroutine, and the batch is not used afterwards.
	Insert(ctx context.Context, b *column.Batch) error
}

// Format is the format of a file.
type Format uint8

// The formats.
const (
	Auto    Format = iota // told by the first bytes, else by the name
	Parquet               //
	CSV                   // also with other delimiters; .gz and .zst are unpacked
)

// ParseFormat reads the name of a format; "" is Auto.
func ParseFormat(s string) (Format, error) {
	switch s {
	case "", "auto":
		return Auto, nil
	case "parquet":
		return Parquet, nil
	case "csv":
		return CSV, nil
	}
	return Auto, fmt.Errorf("%w: format %q is not auto, parquet or csv", ErrOption, s)
}

// Header says whether the first record of a CSV file names the columns.
type Header uint8

// The headers.
const (
	HeaderAuto    Header = iota // it does if more than half of its fields are columns of the table
	HeaderPresent               //
	HeaderAbsent                // the fields are the table's columns in order
)

// Options shape an import. The zero value imports files of either format.
type Options struct {
	Format Format
	Header Header
	// Delimiter of CSV fields; 0 finds it by the file's name (.tsv tab, .tbl |) or first line.
	Delimiter rune
	// NullText is the CSV field that is null. A field that is empty is null, too, in columns that
	// are not strings.
	NullText string
	// IgnoreExtra passes over columns of files that the table lacks, instead of failing.
	IgnoreExtra bool
	// BatchRows bounds a batch; 0 means 8192.
	BatchRows int
	// MemoryBytes bounds the bytes of a batch, roughly; 0 means 64 MiB.
	MemoryBytes int64
	// OnProgress, if not nil, is called after each batch by the goroutine that called Import.
	OnProgress func(Progress)
	// Open opens a file; nil opens a path of the local disk.
	Open func(ctx context.Context, path string) (storage.File, error)
}

// DefaultBatchRows and DefaultMemoryBytes are those of the zero Options.
const (
	DefaultBatchRows         = 8192
	DefaultMemoryBytes int64 = 64 << 20
)

// Progress is how far an import has come.
type Progress struct {
	File         string // being read
	Files        int    // read to the end
	FilesTotal   int
	Rows         int64 // inserted
	Bytes, Total int64 // of the files, as stored
}

// Result is what an import has done.
type Result struct {
	Files int
	Rows  int64
	Bytes int64 // of the files, as stored
}

// Import reads the files in order into dst. Paths are absolute and were allowed by the caller.
// Before the first row is inserted every file has been opened and its columns checked. After an
// error the Result says what had been inserted.
func Import(ctx context.Context, dst Destination, paths []string, o Options) (Result, error) {
	var done Result
	o, err := o.resolved()
	if err != nil {
		return done, err
	}
	schema := dst.Schema()
	var total int64
	for _, path := range paths {
		r, err := openReader(ctx, path, schema, &o)
		if err != nil {
			return done, err
		}
		total += r.size()
		if err := r.Close(); err != nil {
			return done, fmt.Errorf("%s: %w", path, err)
		}
	}

	// Reading and inserting overlap: the next batch is made while one is inserted.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan step)
	go func() {
		defer close(batches)
		readAll(ctx, paths, schema, &o, batches)
	}()
	defer func() {
		cancel()
		for range batches { // until the reader has ended and closed its file
		}
	}()
	progress := Progress{FilesTotal: len(paths), Total: total}
	var before int64 // bytes of the files read to the end
	for s := range batches {
		if s.err != nil {
			return done, s.err
		}
		if s.batch != nil {
			if err := dst.Insert(ctx, s.batch); err != nil {
				return done, fmt.Errorf("import %s: %w", s.path, err)
			}
			done.Rows += int64(s.batch.Len)
		}
		if s.ended {
			before += s.bytes
			s.bytes = 0
			done.Files++
		}
		done.Bytes = before + s.bytes
		if o.OnProgress != nil {
			progress.File, progress.Files, progress.Rows, progress.Bytes = s.path, done.Files, done.Rows, done.Bytes
			o.OnProgress(progress)
		}
	}
	// The reader stops without a word when the context ends.
	return done, context.Cause(ctx)
}

func (o Options) resolved() (Options, error) {
	if o.BatchRows == 0 {
		o.BatchRows = DefaultBatchRows
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = DefaultMemoryBytes
	}
	if o.Open == nil {
		o.Open = openLocal
	}
	var problems []error
	if o.BatchRows < 0 || o.MemoryBytes < 0 {
		problems = append(problems, fmt.Errorf("%w: batch rows and memory must not be negative", ErrOption))
	}
	switch o.Delimiter {
	case '"', '\r', '\n', 0xfffd:
		problems = append(problems, fmt.Errorf("%w: %q cannot be a delimiter", ErrOption, o.Delimiter))
	}
	return o, errors.Join(problems...)
}

// step is what the reading side hands over: a batch, the end of a file, or an error.
type step struct {
	path  string
	batch *column.Batch
	bytes int64 // of this file, read so far
	ended bool
	err   error
}

func readAll(ctx context.Context, paths []string, schema *column.Schema, o *Options, out chan<- step) {
	send := func(s step) bool {
		select {
		case out <- s:
			return s.err == nil
		case <-ctx.Done():
			return false
		}
	}
	for _, path := range paths {
		if !readOne(ctx, path, schema, o, send) {
			return
		}
	}
}

func readOne(ctx context.Context, path string, schema *column.Schema, o *Options, send func(step) bool) bool {
	r, err := openReader(ctx, path, schema, o)
	if err != nil {
		return send(step{path: path, err: err})
	}
	for {
		b, err := r.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			_ = r.Close() // err tells more
			return send(step{path: path, err: err})
		}
		for _, part := range parts(b, o.MemoryBytes) {
			if !send(step{path: path, batch: part, bytes: r.bytes()}) {
				_ = r.Close() // nobody is left to be told
				return false
			}
		}
	}
	if err := r.Close(); err != nil {
		return send(step{path: path, err: fmt.Errorf("%s: %w", path, err)})
	}
	return send(step{path: path, bytes: r.size(), ended: true})
}

// parts cuts a batch whose rows are so wide that it holds more than limit bytes.
func parts(b *column.Batch, limit int64) []*column.Batch {
	var bytes int64
	for _, v := range b.Cols {
		bytes += column.SizeBytes(v)
	}
	n := int(min(bytes/limit+1, int64(max(b.Len, 1))))
	if n == 1 {
		return []*column.Batch{b}
	}
	out := make([]*column.Batch, 0, n)
	for i := range n {
		if lo, hi := i*b.Len/n, (i+1)*b.Len/n; lo < hi {
			out = append(out, b.Slice(lo, hi))
		}
	}
	return out
}
