package basefile

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
)

// assembler puts the leaves of one nested column together (Melnik et al., Dremel, VLDB 2010, section 4:
// the levels of any leaf below a node tell the node's own shape).
type assembler struct {
	leaves []leafData // in schema order
	next   int        // the leaf that comes next in that order
}

// column assembles a field. An entry of the leaves' levels is a slot of the field when its
// repetition level is at most the field's and its definition level at least slotDef, that of an
// entry of the list around the field.
func (a *assembler) column(f *schema.ParquetField, slotDef int) (*column.Vector, error) {
	if f.Leaf >= 0 {
		a.next++
		return a.leaves[a.next-1].vec, nil
	}
	if a.next >= len(a.leaves) {
		return nil, errors.New("a nested column without leaves")
	}
	levels := &a.leaves[a.next]
	v := &column.Vector{Type: f.Type}
	childDef, want := slotDef, 0
	var err error
	if f.Type.Kind == column.Struct {
		structRows(v, f, slotDef, levels)
		want = v.Len
	} else {
		childDef = f.ElemDef
		if want, err = listRows(v, f, slotDef, levels); err != nil {
			return nil, err
		}
	}
	for _, c := range f.Children {
		cv, err := a.column(c, childDef)
		if err != nil {
			return nil, err
		}
		if cv.Len != want {
			return nil, fmt.Errorf("leaves below %q disagree: %d and %d entries", f.Name, cv.Len, want)
		}
		v.Children = append(v.Children, cv)
	}
	return v, nil
}

// structRows sets the length and validity of a struct.
func structRows(v *column.Vector, f *schema.ParquetField, slotDef int, l *leafData) {
	valid := column.NewBitmap(len(l.def))
	nulls := false
	n := 0
	for i, d := range l.def {
		if int(l.rep[i]) > f.Rep || int(d) < slotDef {
			continue
		}
		if int(d) >= f.Def {
			valid.Set(n)
		} else {
			nulls = true
		}
		n++
	}
	v.Len = n
	if nulls {
		v.Valid = valid[:(n+63)/64]
	}
}

// listRows sets the length, validity and offsets of a list or map, and returns how many entries its
// rows have together.
func listRows(v *column.Vector, f *schema.ParquetField, slotDef int, l *leafData) (int, error) {
	valid := column.NewBitmap(len(l.def))
	nulls := false
	n, entries := 0, int32(0)
	v.Offsets = make([]int32, 1, bits.Len(uint(len(l.def)))+16)
	for i, d := range l.def {
		r := int(l.rep[i])
		switch {
		case r <= f.Rep:
			if int(d) < slotDef {
				continue
			}
			if int(d) >= f.Def {
				valid.Set(n)
			} else {
				nulls = true
			}
			n++
			if int(d) >= f.ElemDef {
				entries++
			}
			v.Offsets = append(v.Offsets, entries)
		case r == f.Rep+1:
			if n == 0 || int(d) < f.ElemDef {
				return 0, errors.New("levels continue a list that has no entries")
			}
			entries++
			v.Offsets[n] = entries
		}
	}
	v.Len = n
	if nulls {
		v.Valid = valid[:(n+63)/64]
	}
	return int(entries), nil
}

// walkLeaves calls visit for the leaves below a field, in order, each with the definition level of an
// entry of the innermost list around it.
func walkLeaves(f *schema.ParquetField, slotDef int, visit func(leaf, slotDef int)) {
	if f.Leaf >= 0 {
		visit(f.Leaf, slotDef)
		return
	}
	if f.Type.Kind != column.Struct {
		slotDef = f.ElemDef
	}
	for _, c := range f.Children {
		walkLeaves(c, slotDef, visit)
	}
}
