package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/storage"
)

// parquetReader reads a Parquet file, row group by row group.
type parquetReader struct {
	f     storage.File
	x     *basefile.File
	path  string
	table *column.Schema
	o     *Options

	columns []string    // of the file, to read
	target  []converter // by column of the table

	group     int // being read
	rows      *basefile.Reader
	row       int64 // of the file, of the next batch's first
	bytesRead int64
}

// converter makes a column of the table.
type converter struct {
	from  int // index into columns, -1: the file lacks it
	apply convert
}

func openParquet(f storage.File, path string, table *column.Schema, o *Options) (*parquetReader, error) {
	x, err := basefile.Open(f, path)
	if err != nil {
		return nil, err
	}
	r := &parquetReader{f: f, x: x, path: path, table: table, o: o, target: make([]converter, len(table.Fields))}
	r.columns = []string{} // none is not all
	problems := &ColumnsError{File: path}
	taken := map[string]bool{}
	file := x.Schema()
	for i, want := range table.Fields {
		at := file.IndexFold(want.Name)
		if at < 0 {
			r.target[i].from = -1
			if !want.Nullable {
				problems.Missing = append(problems.Missing, want.Name)
			}
			continue
		}
		have := file.Fields[at]
		taken[have.Name] = true
		r.target[i].from = len(r.columns)
		r.columns = append(r.columns, have.Name)
		if r.target[i].apply, err = conversion(have.Type, want.Type); err != nil {
			problems.Types = append(problems.Types, fmt.Sprintf("column %s: %v", want.Name, err))
		}
	}
	for _, have := range file.Fields {
		// The meta columns of files written by Hudi belong to the table they were written for.
		if taken[have.Name] || column.IsMeta(have.Name) || o.IgnoreExtra {
			continue
		}
		if table.IndexFold(have.Name) >= 0 {
			problems.Twice = append(problems.Twice, strings.ToLower(have.Name))
		} else {
			problems.Extra = append(problems.Extra, have.Name)
		}
	}
	if problems.some() {
		return nil, problems
	}
	return r, nil
}

func (r *parquetReader) size() int64  { return r.x.Size() }
func (r *parquetReader) bytes() int64 { return r.bytesRead }

func (r *parquetReader) Close() error {
	if r.rows != nil {
		r.rows.Close()
	}
	return r.f.Close()
}

func (r *parquetReader) next(ctx context.Context) (*column.Batch, error) {
	for {
		if r.rows == nil {
			if r.group == r.x.NumRowGroups() {
				return nil, io.EOF
			}
			r.rows = r.x.Read(ctx, r.group, r.columns, r.o.BatchRows)
		}
		b, err := r.rows.Next()
		if errors.Is(err, io.EOF) {
			r.rows.Close()
			r.rows = nil
			r.group++
			r.bytesRead = r.x.Size() * int64(r.group) / int64(r.x.NumRowGroups())
			continue
		}
		if err != nil {
			return nil, err
		}
		if b.Len == 0 {
			continue
		}
		out, err := r.convert(b)
		r.row += int64(b.Len)
		return out, err
	}
}

func (r *parquetReader) convert(b *column.Batch) (*column.Batch, error) {
	out := &column.Batch{Schema: r.table, Cols: make([]*column.Vector, len(r.table.Fields)), Len: b.Len}
	for i, want := range r.table.Fields {
		c := r.target[i]
		if c.from < 0 {
			out.Cols[i] = column.Nulls(want.Type, b.Len)
			continue
		}
		v, bad := c.apply(b.Cols[c.from])
		if bad == nil && !want.Nullable && v.NullCount() > 0 {
			bad = &badValue{row: firstNull(v), reason: "the column does not take nulls"}
		}
		if bad != nil && bad.err != nil {
			return nil, fmt.Errorf("%s: rows %d to %d: column %s: %w", r.path, r.row, r.row+int64(b.Len)-1, want.Name, bad.err)
		}
		if bad != nil {
			return nil, &ValueError{File: r.path, Row: r.row + int64(bad.row), Column: want.Name,
				Value: readable(bad.text), Want: want.Type, Reason: bad.reason}
		}
		out.Cols[i] = v
	}
	return out, nil
}

func firstNull(v *column.Vector) int {
	for i := range v.Len {
		if v.Null(i) {
			return i
		}
	}
	return -1
}
