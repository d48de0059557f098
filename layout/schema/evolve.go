package schema

import (
	"fmt"
	"math"

	"github.com/shoaldb/shoal/layout/column"
)

// CastError says that values of one type cannot become values of another.
type CastError struct {
	From, To column.Type
	Reason   string // may be empty
}

func (e *CastError) Error() string {
	s := fmt.Sprintf("a %s cannot be read as %s", e.From, e.To)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Evolution turns a column as a file has it into the column as the table has it.
type Evolution struct {
	from, to column.Type
	how      step
	relabel  bool // the stored integers are taken for something else than the file says
	rounds   bool // values may change
	children []childStep
}

type step uint8

const (
	same     step = iota // nothing to do, but for the type's label
	number               // widening
	text                 // to string
	micros               // ms → µs
	millis               // µs → ms, rounding down
	midnight             // date → timestamp
	decimal
	bytesToText
	nested
)

// childStep fills one child of a nested type: from the file's child at index from, or with nulls.
type childStep struct {
	from   int // -1: the file lacks it
	field  column.Field
	evolve Evolution
}

// Exact reports whether the file's statistics hold for the converted values too: what was relabelled
// counts in another unit, what became text or was rounded is ordered otherwise.
func (e Evolution) Exact() bool { return !e.relabel && !e.rounds && e.how != text && e.how != nested }

// Castable reports whether Cast knows a way from one type to the other.
func Castable(from, to column.Type) bool {
	_, err := resolve(from, to, keepMeaning)
	return err == nil
}

// Resolve finds how a file's column becomes the table's. There are writers that label milliseconds
// as microseconds, or leave the label of a timestamp away; where the table has milliseconds and the
// file says microseconds, or one has a plain number and the other a time, the table is believed and
// the stored integer taken as it is (docs/format.md: compatibility traps). A file that says
// milliseconds is believed, and its values become the table's microseconds.
func Resolve(file, table column.Field) (Evolution, error) {
	return resolve(file.Type, table.Type, believeTable)
}

// belief says what a timestamp of µs becomes where ms are wanted.
type belief uint8

const (
	keepMeaning  belief = iota // the ms of that time
	believeTable               // its integer, as ms
)

func resolve(from, to column.Type, b belief) (Evolution, error) {
	e := Evolution{from: from, to: to}
	bad := func(reason string) (Evolution, error) { return e, &CastError{From: from, To: to, Reason: reason} }
	f, t := from.Kind, to.Kind
	isTime := func(k column.Kind) bool { return k == column.Timestamp || k == column.TimestampMilli }
	switch {
	case f == t && f.Nested():
		return resolveNested(e, b)
	case f == t && f == column.Decimal:
		if from.Precision == to.Precision && from.Scale == to.Scale {
			return e, nil
		}
		if to.Scale < from.Scale || to.Precision-to.Scale < from.Precision-from.Scale {
			return bad("digits would be lost")
		}
		e.how = decimal
	case f == t:
		if f == column.Binary && to.FixedSize != 0 && from.FixedSize != to.FixedSize {
			return bad("the length differs")
		}
	case f == column.TimestampMilli && t == column.Timestamp:
		e.how = micros
	case isTime(f) && isTime(t) && b == believeTable:
		e.relabel = true
	case isTime(f) && isTime(t):
		e.how, e.rounds = millis, true
	case f == column.Int64 && isTime(t), isTime(f) && t == column.Int64:
		e.relabel = true
	case f == column.Date && t == column.Int32, f == column.Int32 && t == column.Date,
		f == column.Time && t == column.Int64, f == column.Int64 && t == column.Time:
		e.relabel = true
	case f == column.Date && isTime(t):
		e.how = midnight
	case f == column.String && t == column.Binary && to.FixedSize == 0, f == column.Binary && t == column.String:
		e.how = bytesToText
	case t == column.String:
		switch f {
		case column.Bool, column.Int32, column.Int64, column.Float32, column.Float64, column.Decimal, column.Date:
			e.how = text
		default:
			return bad("")
		}
	case f == column.Int32 && (t == column.Int64 || t == column.Float32 || t == column.Float64),
		f == column.Int64 && (t == column.Float32 || t == column.Float64),
		f == column.Float32 && t == column.Float64:
		e.how = number
		e.rounds = f == column.Int64 || t == column.Float32
	case (f == column.Int32 || f == column.Int64) && t == column.Decimal:
		digits := 10
		if f == column.Int64 {
			digits = 19
		}
		if to.Precision-to.Scale < digits {
			return bad(fmt.Sprintf("%d digits are needed before the point", digits))
		}
		e.how = decimal
	default:
		return bad("")
	}
	return e, nil
}

func resolveNested(e Evolution, b belief) (Evolution, error) {
	if e.from.Equal(e.to) {
		return e, nil
	}
	e.how = nested
	for i, want := range e.to.Fields {
		c := childStep{from: -1, field: want}
		if e.to.Kind != column.Struct {
			c.from = i // element, key and value stand in fixed places
		} else if j := (&column.Schema{Fields: e.from.Fields}).IndexFold(want.Name); j >= 0 {
			c.from = j
		}
		if c.from >= 0 {
			ev, err := resolve(e.from.Fields[c.from].Type, want.Type, b)
			if err != nil {
				return e, fmt.Errorf("%s: %w", want.Name, err)
			}
			c.evolve = ev
		}
		e.children = append(e.children, c)
	}
	return e, nil
}

// Cast converts a vector for which Castable holds. Unlike Resolve it keeps the meaning of a
// timestamp: between units the number changes, rounding down.
func Cast(v *column.Vector, to column.Type) (*column.Vector, error) {
	e, err := resolve(v.Type, to, keepMeaning)
	if err != nil {
		return nil, err
	}
	return e.Apply(v)
}

// Apply converts a vector of the file's type. It fails only for values that the conversion of
// their types cannot foresee.
func (e Evolution) Apply(v *column.Vector) (*column.Vector, error) {
	if e.how == same || e.how == bytesToText {
		if v.Type.Equal(e.to) {
			return v, nil
		}
		out := *v
		out.Type = e.to
		return &out, nil
	}
	out := &column.Vector{Type: e.to, Len: v.Len, Valid: v.Valid}
	switch e.how {
	case number:
		e.widen(out, v)
	case text:
		return e.toText(v), nil
	case micros:
		out.I64 = make([]int64, v.Len)
		for i, x := range v.I64 {
			if x > math.MaxInt64/1000 || x < math.MinInt64/1000 {
				return nil, e.outOfRange(x, "ms")
			}
			out.I64[i] = 1000 * x
		}
	case millis:
		out.I64 = make([]int64, v.Len)
		for i, x := range v.I64 {
			out.I64[i] = floorDiv(x, 1000)
		}
	case midnight:
		unit := int64(86400e6)
		if e.to.Kind == column.TimestampMilli {
			unit = 86400e3
		}
		out.I64 = make([]int64, v.Len)
		for i, d := range v.I32 {
			if x := int64(d); x > math.MaxInt64/unit || x < math.MinInt64/unit {
				return nil, e.outOfRange(x, "days")
			}
			out.I64[i] = int64(d) * unit
		}
	case decimal:
		return e.toDecimal(v)
	case nested:
		out.Offsets = v.Offsets
		for _, c := range e.children {
			if c.from < 0 {
				out.Children = append(out.Children, column.Nulls(c.field.Type, v.Len))
				continue
			}
			child, err := c.evolve.Apply(v.Children[c.from])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.field.Name, err)
			}
			out.Children = append(out.Children, child)
		}
	}
	return out, nil
}

func (e Evolution) outOfRange(x int64, unit string) error {
	return &CastError{From: e.from, To: e.to, Reason: fmt.Sprintf("%d %s from the epoch are out of range", x, unit)}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (e Evolution) widen(out, v *column.Vector) {
	switch e.to.Kind {
	case column.Int64:
		out.I64 = make([]int64, v.Len)
		for i, x := range v.I32 {
			out.I64[i] = int64(x)
		}
	case column.Float32:
		out.F32 = make([]float32, v.Len)
		for i := range v.Len {
			if v.I32 != nil {
				out.F32[i] = float32(v.I32[i])
			} else {
				out.F32[i] = float32(v.I64[i])
			}
		}
	case column.Float64:
		out.F64 = make([]float64, v.Len)
		for i := range v.Len {
			switch {
			case v.I32 != nil:
				out.F64[i] = float64(v.I32[i])
			case v.I64 != nil:
				out.F64[i] = float64(v.I64[i])
			default:
				out.F64[i] = float64(v.F32[i])
			}
		}
	}
}

func (e Evolution) toDecimal(v *column.Vector) (*column.Vector, error) {
	b := column.NewBuilder(e.to, v.Len)
	for i := range v.Len {
		if v.Null(i) {
			b.AppendNull()
			continue
		}
		var d column.Int128
		from := 0
		switch v.Type.Kind {
		case column.Int32:
			d = column.Int128From(int64(v.I32[i]))
		case column.Int64:
			d = column.Int128From(v.I64[i])
		default:
			d, from = v.Decimal(i), v.Type.Scale
		}
		d, ok := d.Rescale(from, e.to.Scale)
		if !ok || !d.FitsPrecision(e.to.Precision) {
			return nil, &CastError{From: e.from, To: e.to, Reason: "a value does not fit"}
		}
		b.AppendInt128(d)
	}
	return b.Finish(), nil
}

func (e Evolution) toText(v *column.Vector) *column.Vector {
	b := column.NewBuilder(e.to, v.Len)
	var buf []byte
	for i := range v.Len {
		if v.Null(i) {
			b.AppendNull()
			continue
		}
		buf = column.AppendJSON(buf[:0], v, i)
		if n := len(buf); n > 1 && buf[0] == '"' {
			buf = buf[1 : n-1] // dates, NaN
		}
		b.AppendBytes(buf)
	}
	return b.Finish()
}
