package basefile

import (
	"fmt"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
)

// leafColumn is what a writer stores of one leaf for one row group.
type leafColumn struct {
	field *schema.ParquetField
	name  string         // dotted path, for errors
	dense *column.Vector // the values of the entries that have one, in order, without nulls
	valid column.Bitmap  // of a leaf outside nested columns: which rows have a value; nil: all
	def   []uint8        // of a leaf inside a nested column: the levels of all entries
	rep   []uint8
	rows  []int32 // of a leaf inside a nested column: the first entry of each row, and the end
	n     int     // rows
}

// shred cuts a column into its leaves: levels and the values that are there (Melnik et al., Dremel,
// section 4.2).
func shred(dst []*leafColumn, f *schema.ParquetField, v *column.Vector) ([]*leafColumn, error) {
	if f.Leaf >= 0 {
		if v.Valid != nil && v.NullCount() == 0 {
			c := *v
			c.Valid = nil
			v = &c
		}
		l := &leafColumn{field: f, name: f.Name, dense: v, n: v.Len}
		if v.Valid != nil {
			if !f.Nullable {
				return nil, fmt.Errorf("column %q: null in a column that may not be null", f.Name)
			}
			l.valid = v.Valid
			l.dense = withoutNulls(v)
		}
		return append(dst, l), nil
	}
	var s shredder
	for _, leaf := range f.Leaves(nil) {
		s.leaves = append(s.leaves, &leafColumn{field: leaf, n: v.Len, rows: make([]int32, 0, v.Len+1)})
	}
	s.picks = make([][]uint32, len(s.leaves))
	s.vectors = make([]*column.Vector, len(s.leaves))
	s.name(f, f.Name, 0)
	s.vector(f, v, 0)
	for i := range v.Len {
		for _, l := range s.leaves {
			l.rows = append(l.rows, int32(len(l.def)))
		}
		if err := s.value(f, v, i, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("column %q, row %d: %w", f.Name, i, err)
		}
	}
	for k, l := range s.leaves {
		l.rows = append(l.rows, int32(len(l.def)))
		l.dense = pick(s.vectors[k], s.picks[k])
	}
	return append(dst, s.leaves...), nil
}

// withoutNulls is the vector's rows that are not null.
func withoutNulls(v *column.Vector) *column.Vector {
	rows := make([]uint32, 0, v.Len)
	for i := range v.Len {
		if v.Valid.Get(i) {
			rows = append(rows, uint32(i))
		}
	}
	return pick(v, rows)
}

// pick is Gather without the validity, for rows that are not null.
func pick(v *column.Vector, rows []uint32) *column.Vector {
	c := *v
	c.Valid = nil
	if len(rows) == v.Len { // ascending and complete
		return &c
	}
	return column.Gather(&c, rows)
}

// shredder walks the rows of one nested column.
type shredder struct {
	leaves  []*leafColumn
	vectors []*column.Vector // of each leaf
	picks   [][]uint32       // rows of these vectors that are stored
}

func (s *shredder) name(f *schema.ParquetField, path string, next int) int {
	if f.Leaf >= 0 {
		s.leaves[next].name = path
		return next + 1
	}
	for _, c := range f.Children {
		next = s.name(c, path+"."+c.Name, next)
	}
	return next
}

func (s *shredder) vector(f *schema.ParquetField, v *column.Vector, next int) int {
	if f.Leaf >= 0 {
		s.vectors[next] = v
		return next + 1
	}
	for i, c := range f.Children {
		next = s.vector(c, v.Children[i], next)
	}
	return next
}

// absent adds an entry without value to each leaf below f, from leaf next on.
func (s *shredder) absent(f *schema.ParquetField, next, def, rep int) int {
	if f.Leaf >= 0 {
		l := s.leaves[next]
		l.def, l.rep = append(l.def, uint8(def)), append(l.rep, uint8(rep))
		return next + 1
	}
	for _, c := range f.Children {
		next = s.absent(c, next, def, rep)
	}
	return next
}

// value adds row i of v to the leaves below f, of which the first is next. def is the level that a
// null gets: that of the parent.
func (s *shredder) value(f *schema.ParquetField, v *column.Vector, i, next, def, rep int) error {
	if v.Null(i) {
		if !f.Nullable {
			return fmt.Errorf("null in %q, which may not be null", f.Name)
		}
		s.absent(f, next, def, rep)
		return nil
	}
	if f.Leaf >= 0 {
		l := s.leaves[next]
		l.def, l.rep = append(l.def, uint8(f.Def)), append(l.rep, uint8(rep))
		s.picks[next] = append(s.picks[next], uint32(i))
		return nil
	}
	if f.Type.Kind == column.Struct {
		for k, c := range f.Children {
			if err := s.value(c, v.Children[k], i, next, f.Def, rep); err != nil {
				return err
			}
			next += leafCount(c)
		}
		return nil
	}
	lo, hi := v.Offsets[i], v.Offsets[i+1]
	if lo == hi {
		s.absent(f, next, f.Def, rep)
		return nil
	}
	for e := lo; e < hi; e++ {
		at := next
		for k, c := range f.Children {
			if err := s.value(c, v.Children[k], int(e), at, f.ElemDef, rep); err != nil {
				return err
			}
			at += leafCount(c)
		}
		rep = f.Rep + 1
	}
	return nil
}

func leafCount(f *schema.ParquetField) int {
	if f.Leaf >= 0 {
		return 1
	}
	n := 0
	for _, c := range f.Children {
		n += leafCount(c)
	}
	return n
}

// entries are the entries of the rows lo to hi-1, and how many of them have a value.
func (l *leafColumn) entries(lo, hi int) (first, end, values int) {
	if l.rows == nil {
		if l.valid == nil {
			return lo, hi, hi - lo
		}
		return lo, hi, l.valid.Count(hi) - l.valid.Count(lo)
	}
	first, end = int(l.rows[lo]), int(l.rows[hi])
	for _, d := range l.def[first:end] {
		if int(d) == l.field.Def {
			values++
		}
	}
	return first, end, values
}
