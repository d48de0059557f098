package ingest

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/storage"
)

// csvReader reads a CSV file (RFC 4180, with any delimiter) into column builders.
type csvReader struct {
	*csvFile
	table *column.Schema
	o     *Options

	columns []csvColumn // by field of the file
	absent  []int       // columns of the table that the file lacks
	fields  int         // of a record
	first   []string    // a record read ahead that is no header; nil if none
	rows    int         // of the last batch

	err error // ended the file
}

// csvColumn is what becomes of a field of the file.
type csvColumn struct {
	at      int // index of the table's column, -1: passed over
	parse   parser
	builder *column.Builder // of the batch being made
}

func openCSV(f storage.File, path string, table *column.Schema, o *Options) (*csvReader, error) {
	file, err := openCSVFile(f, path, o.Delimiter)
	if err != nil {
		return nil, err
	}
	r := &csvReader{csvFile: file, table: table, o: o}
	if err := r.begin(); err != nil {
		file.release()
		return nil, err
	}
	return r, nil
}

// begin reads the first record and binds fields to columns.
func (r *csvReader) begin() error {
	record, err := r.record()
	if errors.Is(err, io.EOF) { // an empty file has no rows; if it has no header either, nothing is wrong
		if r.o.Header == HeaderPresent {
			return &FormatError{File: r.path, Reason: "the file is empty, a header was expected"}
		}
		r.err = io.EOF
		return nil
	}
	if err != nil {
		return err
	}
	if r.o.Header == HeaderPresent || r.o.Header == HeaderAuto && r.namesColumns(record) {
		return r.bindNames(record)
	}
	r.first = append([]string{}, record...)
	return r.bindPositions(len(record))
}

// namesColumns reports whether more than half of the fields are names of the table's columns.
func (r *csvReader) namesColumns(record []string) bool {
	names := 0
	for _, f := range record {
		if r.table.IndexFold(strings.TrimSpace(f)) >= 0 {
			names++
		}
	}
	return 2*names > len(record)
}

func (r *csvReader) bindNames(header []string) error {
	problems := &ColumnsError{File: r.path}
	bound := make([]bool, len(r.table.Fields))
	r.fields = len(header)
	if n := len(header) - 1; n > 0 && header[n] == "" {
		header = header[:n] // every line ends in a delimiter; append checks that nothing follows it
	}
	r.columns = make([]csvColumn, len(header))
	for i, name := range header {
		name = strings.TrimSpace(name)
		r.columns[i].at = -1
		at := r.table.IndexFold(name)
		switch {
		case at < 0 && column.IsMeta(name), at < 0 && r.o.IgnoreExtra:
		case at < 0:
			problems.Extra = append(problems.Extra, strings.Clone(name))
		case bound[at]:
			problems.Twice = append(problems.Twice, strings.Clone(name))
		default:
			bound[at] = true
			r.columns[i] = csvColumn{at: at, parse: parserOf(r.table.Fields[at].Type)}
		}
	}
	for at, f := range r.table.Fields {
		if !bound[at] {
			r.absent = append(r.absent, at)
			if !f.Nullable {
				problems.Missing = append(problems.Missing, f.Name)
			}
		}
	}
	if problems.some() {
		return problems
	}
	return nil
}

// bindPositions takes the fields for the table's columns in order. One more is taken for the empty
// field after a delimiter at the end of every line; record checks that it is empty.
func (r *csvReader) bindPositions(fields int) error {
	n := len(r.table.Fields)
	if fields != n && fields != n+1 {
		return &FormatError{File: r.path, Line: 1, Reason: fmt.Sprintf("%s, the table has %d columns (%s), and there is no header",
			count(fields, "field"), n, strings.Join(r.table.Names(), ", "))}
	}
	r.fields = fields
	r.columns = make([]csvColumn, n)
	for i, f := range r.table.Fields {
		r.columns[i] = csvColumn{at: i, parse: parserOf(f.Type)}
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (r *csvReader) next(ctx context.Context) (*column.Batch, error) {
	if r.err != nil {
		return nil, r.err
	}
	// How many rows make a batch depends on their size; the one before tells best.
	for i := range r.columns {
		c := &r.columns[i]
		if c.at < 0 {
			continue
		}
		switch t := r.table.Fields[c.at].Type; t.Kind {
		case column.String, column.Binary:
			c.builder = column.NewDictBuilder(t, r.rows)
		default:
			c.builder = column.NewBuilder(t, r.rows)
		}
	}
	rows, begin := 0, r.offset()
	for rows < r.o.BatchRows && r.offset()-begin < r.o.MemoryBytes {
		if rows%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		record := r.first
		if r.first = nil; record == nil {
			var err error
			record, err = r.record()
			if errors.Is(err, io.EOF) {
				r.err = err
				break
			}
			if err != nil {
				return nil, err
			}
		}
		if err := r.append(record); err != nil {
			return nil, err
		}
		rows++
	}
	if rows == 0 {
		return nil, r.err
	}
	r.rows = rows
	b := &column.Batch{Schema: r.table, Cols: make([]*column.Vector, len(r.table.Fields)), Len: rows}
	for i := range r.columns {
		if c := &r.columns[i]; c.at >= 0 {
			b.Cols[c.at] = c.builder.Finish()
		}
	}
	for _, at := range r.absent {
		b.Cols[at] = column.Nulls(r.table.Fields[at].Type, rows)
	}
	return b, nil
}

// append adds one record to the builders.
func (r *csvReader) append(record []string) error {
	if len(record) != r.fields {
		return &FormatError{File: r.path, Line: r.line(), Reason: fmt.Sprintf("%s, the first record has %d", count(len(record), "field"), r.fields)}
	}
	if len(r.columns) < r.fields && record[r.fields-1] != "" {
		return &FormatError{File: r.path, Line: r.line(), Reason: fmt.Sprintf("field %d belongs to no column", r.fields)}
	}
	for i := range r.columns {
		c := &r.columns[i]
		if c.at < 0 {
			continue
		}
		field, s := &r.table.Fields[c.at], record[i]
		var reason error
		if r.isNull(s, field) {
			if field.Nullable {
				c.builder.AppendNull()
				continue
			}
			reason = errNotNull
		} else {
			reason = c.parse(c.builder, s)
		}
		if reason != nil {
			line, _ := r.fieldPos(i)
			return &ValueError{File: r.path, Line: line, Field: i + 1, Row: -1, Column: field.Name,
				Value: readable(strings.Clone(s)), Want: field.Type, Reason: reason.Error()}
		}
	}
	return nil
}

var errNotNull = errors.New("the column does not take nulls")

// isNull reports whether a field is null. The empty string is a value of a string column that
// does not take nulls, whatever NullText is.
func (r *csvReader) isNull(s string, f *column.Field) bool {
	isText := f.Type.Kind == column.String || f.Type.Kind == column.Binary
	if s == "" && isText && !f.Nullable {
		return false
	}
	return s == r.o.NullText || s == "" && !isText
}

// csvFile is the records of a CSV file.
type csvFile struct {
	f     storage.File
	path  string
	count *countingReader
	limit *recordLimit
	free  func() // of the decompressor
	csv   *csv.Reader

	// Where the next record must begin if no empty line is passed over.
	nextLine int
}

// maxRecordBytes bounds one record: a quote that is never closed would take in the whole file.
const maxRecordBytes = 64 << 20

func openCSVFile(f storage.File, path string, delimiter rune) (*csvFile, error) {
	c := &csvFile{f: f, path: path, free: func() {}, nextLine: 1}
	c.count = &countingReader{r: io.NewSectionReader(f, 0, f.Size())}
	var text io.Reader = c.count
	plainName, text, free, err := decompress(path, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.free = free
	c.limit = &recordLimit{r: text}
	c.limit.reset()
	buffered := bufio.NewReaderSize(c.limit, bufferBytes)
	// A byte order mark would become part of the first field.
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		if _, err := buffered.Discard(3); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if delimiter == 0 {
		if delimiter, err = guessDelimiter(plainName, buffered); err != nil {
			c.release()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	c.csv = csv.NewReader(buffered)
	c.csv.Comma = delimiter
	c.csv.ReuseRecord = true
	c.csv.FieldsPerRecord = -1
	return c, nil
}

const bufferBytes = 256 << 10

// guessDelimiter goes by the name, else by which candidate the first line has most of.
func guessDelimiter(name string, r *bufio.Reader) (rune, error) {
	switch {
	case strings.HasSuffix(name, ".tsv"):
		return '\t', nil
	case strings.HasSuffix(name, ".tbl"):
		return '|', nil
	}
	head, err := r.Peek(bufferBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	line, _, _ := strings.Cut(string(head), "\n")
	best, most := ',', strings.Count(line, ",")
	for _, d := range []rune{';', '\t', '|'} {
		if n := strings.Count(line, string(d)); n > most {
			best, most = d, n
		}
	}
	return best, nil
}

// record returns the next record, valid until the next call; io.EOF after the last.
func (c *csvFile) record() ([]string, error) {
	c.limit.reset()
	record, err := c.csv.Read()
	if err != nil {
		return nil, c.wrap(err)
	}
	line, _ := c.csv.FieldPos(0)
	// In a file of one column an empty line may be meant as a row, so it is not passed over. At
	// the end of the file it is no row to anybody.
	if len(record) == 1 && line > c.nextLine {
		return nil, &FormatError{File: c.path, Line: c.nextLine, Reason: `an empty line; write "" for a row with an empty field`}
	}
	c.nextLine = line + 1
	for _, s := range record {
		c.nextLine += strings.Count(s, "\n")
	}
	return record, nil
}

// wrap gives the errors of the CSV reader, the decompressor and storage the name of the file.
func (c *csvFile) wrap(err error) error {
	var pe *csv.ParseError
	switch {
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &pe):
		return io.EOF
	case errors.Is(err, errRecordTooLong):
		return &FormatError{File: c.path, Line: c.nextLine, Reason: errRecordTooLong.Error()}
	case errors.As(err, &pe):
		return &FormatError{File: c.path, Line: pe.Line, Reason: fmt.Sprintf("field at byte %d: %v", pe.Column, pe.Err)}
	}
	return fmt.Errorf("%s: %w", c.path, err)
}

func (c *csvFile) line() int {
	line, _ := c.csv.FieldPos(0)
	return line
}

func (c *csvFile) fieldPos(i int) (line, byteInLine int) { return c.csv.FieldPos(i) }

// offset is how many bytes of text have been read.
func (c *csvFile) offset() int64 { return c.csv.InputOffset() }

func (c *csvFile) size() int64  { return c.f.Size() }
func (c *csvFile) bytes() int64 { return c.count.n }

// release gives up what the file holds but the storage's file.
func (c *csvFile) release() { c.free() }

func (c *csvFile) Close() error {
	c.release()
	return c.f.Close()
}
