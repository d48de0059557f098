package basefile

import (
	"context"
	"fmt"
	"io"
	"sort"

	"github.com/shoaldb/shoal/layout/column"
)

// MissingColumnError says that a file does not have a column that was asked for.
type MissingColumnError struct {
	Path   string
	Column string
}

func (e *MissingColumnError) Error() string {
	return fmt.Sprintf("base file %s has no column %q", e.Path, e.Column)
}

// Reader yields the rows of one row group in batches. It is for one goroutine.
type Reader struct {
	x         *File
	ctx       context.Context
	rowGroup  int
	columns   []string
	batchRows int

	loaded *column.Batch
	next   int
	err    error
}

// DefaultBatchRows is the size of batches when none is asked for.
const DefaultBatchRows = 4096

// Read starts reading the named columns of a row group, in the order given; nil means all, an empty
// list gives batches without columns that only count rows. Batches have at most batchRows rows
// (DefaultBatchRows when it is not positive). The columns are read and decoded at the first call of Next.
func (x *File) Read(ctx context.Context, rowGroup int, columns []string, batchRows int) *Reader {
	if batchRows <= 0 {
		batchRows = DefaultBatchRows
	}
	if columns == nil {
		columns = x.schema.Names()
	}
	return &Reader{x: x, ctx: ctx, rowGroup: rowGroup, columns: columns, batchRows: batchRows}
}

// Next returns the next batch, or io.EOF after the last. The batch stays valid after Close.
func (r *Reader) Next() (*column.Batch, error) {
	if r.err == nil && r.loaded == nil {
		r.loaded, r.err = r.x.decodeRowGroup(r.ctx, r.rowGroup, r.columns)
	}
	if r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil {
		return nil, r.err
	}
	if r.next >= r.loaded.Len {
		r.err = io.EOF
		return nil, r.err
	}
	lo := r.next
	r.next = min(lo+r.batchRows, r.loaded.Len)
	if lo == 0 && r.next == r.loaded.Len {
		return r.loaded, nil
	}
	return r.loaded.Slice(lo, r.next), nil
}

// Close gives up what the reader holds. Next then returns io.EOF.
func (r *Reader) Close() {
	r.loaded, r.err = nil, io.EOF
}

// maxReadBytes bounds one read of several neighbouring column chunks.
const maxReadBytes = 16 << 20

// span is a part of the file that holds the chunks of some of the leaves.
type span struct {
	start, end int64
	leaves     []int // positions in the list of chosen leaves
}

// decodeRowGroup reads the columns of a row group as one batch.
func (x *File) decodeRowGroup(ctx context.Context, rowGroup int, columns []string) (b *column.Batch, err error) {
	if rowGroup < 0 || rowGroup >= len(x.meta.RowGroups) {
		return nil, fmt.Errorf("base file %s has no row group %d", x.path, rowGroup)
	}
	g := &x.meta.RowGroups[rowGroup]
	type chosen struct{ leaf, slotDef, field int }
	var leaves []chosen
	s := &column.Schema{}
	for i, name := range columns {
		c := x.schema.Index(name)
		if c < 0 {
			return nil, &MissingColumnError{Path: x.path, Column: name}
		}
		s.Fields = append(s.Fields, x.schema.Fields[c])
		walkLeaves(x.fields[c], 0, func(leaf, slotDef int) { leaves = append(leaves, chosen{leaf, slotDef, i}) })
	}
	x.rowGroupsRead.Add(1)
	x.rowsRead.Add(g.NumRows)
	if g.NumRows > maxEntries {
		return nil, &UnsupportedError{Path: x.path, Reason: fmt.Sprintf("row group %d has %d rows", rowGroup, g.NumRows)}
	}
	data := make([]leafData, len(leaves))
	decoded := int64(0)
	spans := make([]span, len(leaves))
	for i, l := range leaves {
		start, length := chunkRange(&g.Columns[l.leaf].MetaData)
		spans[i] = span{start: start, end: start + length, leaves: []int{i}}
	}
	for _, sp := range merge(spans) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		buf := make([]byte, sp.end-sp.start)
		if err := readFull(x.f, buf, sp.start); err != nil {
			return nil, fault(x.path, "", err)
		}
		x.bytesRead.Add(int64(len(buf)))
		for _, i := range sp.leaves {
			l := leaves[i]
			md := &g.Columns[l.leaf].MetaData
			start, length := chunkRange(md)
			nested := x.schema.Fields[x.schema.Index(columns[l.field])].Type.Kind.Nested()
			at := start - sp.start
			data[i], err = decodeGuarded(func() (leafData, error) {
				return decodeChunk(x.leaves[l.leaf], nested, l.slotDef, md, buf[at:at+length])
			})
			if err != nil {
				return nil, fault(x.path, x.names[l.leaf], err)
			}
			if decoded += vectorBytes(data[i].vec); decoded > maxRowGroupBytes {
				return nil, &UnsupportedError{Path: x.path, Column: x.names[l.leaf],
					Reason: fmt.Sprintf("row group %d expands to more than %d MiB", rowGroup, maxRowGroupBytes>>20)}
			}
		}
	}

	b = &column.Batch{Schema: s, Len: int(g.NumRows)}
	for i, next := 0, 0; i < len(columns); i++ {
		first := next
		for next < len(leaves) && leaves[next].field == i {
			next++
		}
		a := assembler{leaves: data[first:next]}
		v, err := a.column(x.fields[x.schema.Index(columns[i])], 0)
		if err == nil && int64(v.Len) != g.NumRows {
			err = fmt.Errorf("%d rows in a row group of %d", v.Len, g.NumRows)
		}
		if err != nil {
			return nil, fault(x.path, columns[i], err)
		}
		b.Cols = append(b.Cols, v)
	}
	return b, nil
}

// decodeGuarded turns a panic in a decompressor into an error.
func decodeGuarded(decode func() (leafData, error)) (d leafData, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decoding: %v", r)
		}
	}()
	return decode()
}

// merge joins the parts of a file that follow each other, up to maxReadBytes.
func merge(spans []span) []span {
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].start < spans[j].start })
	var out []span
	for _, s := range spans {
		if n := len(out) - 1; n >= 0 && s.start <= out[n].end && max(s.end, out[n].end)-out[n].start <= maxReadBytes {
			out[n].end = max(out[n].end, s.end)
			out[n].leaves = append(out[n].leaves, s.leaves...)
			continue
		}
		out = append(out, s)
	}
	return out
}
