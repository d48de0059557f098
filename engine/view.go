package engine

import (
	"context"
	"fmt"
	"io"

	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/schema"
)

// fileView reads one base file as the table's schema has it: columns are found by name, older
// types are widened, columns added later are null.
type fileView struct {
	file *baseFile
	want []column.Field
	from []viewColumn
}

// viewColumn says where one wanted column comes from.
type viewColumn struct {
	source  string           // column of the file; "" when the file lacks it
	convert schema.Evolution // of source
	exact   bool             // the file's statistics hold for the converted values
}

// newFileView plans the reading of columns (names in full, the table schema with meta columns).
func newFileView(f *baseFile, full *column.Schema, columns []string) (*fileView, error) {
	v := &fileView{file: f, want: make([]column.Field, len(columns)), from: make([]viewColumn, len(columns))}
	have := f.Schema()
	for i, name := range columns {
		k := full.Index(name)
		if k < 0 {
			return nil, &NameError{Kind: ErrNoSuchColumn, Name: name}
		}
		v.want[i] = full.Fields[k]
		j := have.IndexFold(name)
		if j < 0 {
			continue
		}
		conv, err := schema.Resolve(have.Fields[j], v.want[i])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		v.from[i] = viewColumn{source: have.Fields[j].Name, convert: conv, exact: conv.Exact()}
	}
	return v, nil
}

// sources lists the file's columns needed for the wanted columns at the given positions.
func (v *fileView) sources(positions []int) []string {
	out := make([]string, 0, len(positions))
	for _, p := range positions {
		if s := v.from[p].source; s != "" {
			out = append(out, s)
		}
	}
	return out
}

// viewReader reads some wanted columns of one row group, batch by batch.
type viewReader struct {
	view      *fileView
	positions []int
	r         *basefile.Reader
	left      int64 // rows, when no column of the file is read
	batch     int
}

func (v *fileView) read(ctx context.Context, rowGroup int, positions []int, batchRows int) *viewReader {
	vr := &viewReader{view: v, positions: positions, batch: batchRows}
	if src := v.sources(positions); len(src) > 0 {
		vr.r = v.file.Read(ctx, rowGroup, src, batchRows)
	} else {
		vr.left = v.file.RowGroupRows(rowGroup)
	}
	return vr
}

// next returns the next rows as one vector a position; io.EOF ends.
func (r *viewReader) next() (cols []*column.Vector, n int, err error) {
	cols = make([]*column.Vector, len(r.positions))
	var b *column.Batch
	if r.r == nil {
		if r.left == 0 {
			return nil, 0, io.EOF
		}
		n = int(min(r.left, int64(r.batch)))
		r.left -= int64(n)
	} else {
		if b, err = r.r.Next(); err != nil {
			return nil, 0, err
		}
		n = b.Len
	}
	k := 0
	for i, p := range r.positions {
		from := &r.view.from[p]
		if from.source == "" {
			cols[i] = column.Nulls(r.view.want[p].Type, n)
			continue
		}
		if cols[i], err = from.convert.Apply(b.Cols[k]); err != nil {
			return nil, 0, fmt.Errorf("column %s: %w", r.view.want[p].Name, err)
		}
		k++
	}
	return cols, n, nil
}

func (r *viewReader) close() {
	if r.r != nil {
		r.r.Close()
	}
}

// fileStats are the file's statistics by the table's column names, without those that a
// conversion makes untrue.
func (v *fileView) fileStats() map[string]predicate.ColumnStats {
	all := v.file.Stats()
	out := make(map[string]predicate.ColumnStats, len(all))
	for i, w := range v.want {
		out2, ok := v.columnStats(i, v.file.Rows(), func(name string) (predicate.ColumnStats, bool) { s, ok := all[name]; return s, ok })
		if ok {
			out[w.Name] = out2
		}
	}
	return out
}

func (v *fileView) columnStats(i int, rows int64, get func(string) (predicate.ColumnStats, bool)) (predicate.ColumnStats, bool) {
	from := &v.from[i]
	switch {
	case from.source == "":
		return predicate.ColumnStats{Rows: rows, Nulls: rows}, true
	case !from.exact:
		return predicate.ColumnStats{}, false
	}
	return get(from.source)
}

// rowGroupStats presents one row group's statistics to Prune under the table's column names.
type rowGroupStats struct {
	view  *fileView
	stats predicate.Stats
	rows  int64
}

func (r rowGroupStats) Rows() int64 { return r.rows }

func (r rowGroupStats) Column(name string) (predicate.ColumnStats, bool) {
	for i := range r.view.want {
		if r.view.want[i].Name == name {
			return r.view.columnStats(i, r.rows, r.stats.Column)
		}
	}
	return predicate.ColumnStats{}, false
}

func (v *fileView) rowGroupStats(i int) predicate.Stats {
	return rowGroupStats{view: v, stats: v.file.RowGroupStats(i), rows: v.file.RowGroupRows(i)}
}
