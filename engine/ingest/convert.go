package ingest

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
)

// badValue is the first value of a vector that cannot be converted.
type badValue struct {
	row          int
	text, reason string
	err          error // instead of the others, where it is not known which value it is
}

// convert makes a vector of the table's type.
type convert func(*column.Vector) (*column.Vector, *badValue)

// conversion finds how a column of a file becomes one of the table. Where schema evolution has an
// exact way, that is taken. Files from elsewhere often have wider types than their values need, so
// beyond that numbers and times are narrowed if each value allows it, and text is read as a CSV
// field is. What evolution does for files of the table itself, where an integer may stand for a
// time, is not done here: who wrote the file is not known.
func conversion(from, to column.Type) (convert, error) {
	if exact(from, to) {
		return func(v *column.Vector) (*column.Vector, *badValue) {
			out, err := schema.Cast(v, to)
			if err != nil {
				return nil, &badValue{err: err}
			}
			return out, nil
		}, nil
	}
	f, t := from.Kind, to.Kind
	number := f == column.Int32 || f == column.Int64
	switch {
	case f == column.Int64 && t == column.Int32:
		return narrowInt, nil
	case number && (t == column.Float32 || t == column.Float64):
		return func(v *column.Vector) (*column.Vector, *badValue) { return intToFloat(v, to) }, nil
	case (number || f == column.Decimal) && t == column.Decimal:
		return func(v *column.Vector) (*column.Vector, *badValue) { return toDecimal(v, to) }, nil
	case f == column.Timestamp && t == column.TimestampMilli:
		return func(v *column.Vector) (*column.Vector, *badValue) { return toMillis(v, to) }, nil
	case f == column.Binary && t == column.String:
		return func(v *column.Vector) (*column.Vector, *badValue) { return toText(v, to) }, nil
	case f == column.String && !t.Nested():
		return func(v *column.Vector) (*column.Vector, *badValue) { return parseVector(v, to) }, nil
	}
	return nil, fmt.Errorf("%s cannot be stored as %s", from, to)
}

// exact reports whether schema.Cast keeps every value of a type as it is.
func exact(from, to column.Type) bool {
	if !schema.Castable(from, to) {
		return false
	}
	f, t := from.Kind, to.Kind
	if f != t {
		// Among different kinds these are exact; the others round, or read a number as a time.
		switch f {
		case column.Int32:
			return t == column.Int64 || t == column.Float64 || t == column.Decimal || t == column.String
		case column.Int64:
			return t == column.Decimal || t == column.String
		case column.Float32:
			return t == column.Float64 || t == column.String
		case column.Bool, column.Decimal, column.Float64:
			return t == column.String
		case column.Date:
			return t != column.Int32
		case column.TimestampMilli:
			return t == column.Timestamp
		case column.String:
			return t == column.Binary
		}
		return false
	}
	if f == column.Struct {
		children := &column.Schema{Fields: from.Fields}
		for _, want := range to.Fields {
			if i := children.IndexFold(want.Name); i >= 0 && !exact(from.Fields[i].Type, want.Type) {
				return false
			}
		}
		// A member that the table lacks would be lost.
		wanted := &column.Schema{Fields: to.Fields}
		for _, have := range from.Fields {
			if wanted.IndexFold(have.Name) < 0 {
				return false
			}
		}
		return true
	}
	for i := range to.Fields { // element, key and value
		if !exact(from.Fields[i].Type, to.Fields[i].Type) {
			return false
		}
	}
	return true
}

func narrowInt(v *column.Vector) (*column.Vector, *badValue) {
	out := make([]int32, v.Len)
	for i, x := range v.I64 {
		if x != int64(int32(x)) && !v.Null(i) {
			return nil, &badValue{row: i, text: strconv.FormatInt(x, 10), reason: "it is out of range"}
		}
		out[i] = int32(x)
	}
	return &column.Vector{Type: column.Type{Kind: column.Int32}, Len: v.Len, Valid: v.Valid, I32: out}, nil
}

func intAt(v *column.Vector, i int) int64 {
	if v.Type.Kind == column.Int32 {
		return int64(v.I32[i])
	}
	return v.I64[i]
}

func intToFloat(v *column.Vector, to column.Type) (*column.Vector, *badValue) {
	b := column.NewBuilder(to, v.Len)
	// Up to here every whole number is a float.
	limit := int64(1) << 53
	if to.Kind == column.Float32 {
		limit = 1 << 24
	}
	for i := range v.Len {
		if v.Null(i) {
			b.AppendNull()
			continue
		}
		x := intAt(v, i)
		if x > limit || x < -limit {
			return nil, &badValue{row: i, text: strconv.FormatInt(x, 10), reason: "it would be rounded"}
		}
		b.AppendFloat64(float64(x))
	}
	return b.Finish(), nil
}

func toDecimal(v *column.Vector, to column.Type) (*column.Vector, *badValue) {
	b := column.NewBuilder(to, v.Len)
	for i := range v.Len {
		if v.Null(i) {
			b.AppendNull()
			continue
		}
		var x column.Int128
		scale := 0
		if v.Type.Kind == column.Decimal {
			x, scale = v.Decimal(i), v.Type.Scale
		} else {
			x = column.Int128From(intAt(v, i))
		}
		y, ok := x.Rescale(scale, to.Scale)
		if !ok || !y.FitsPrecision(to.Precision) {
			return nil, &badValue{row: i, text: string(column.AppendDecimal(nil, x, scale)), reason: "it has too many digits"}
		}
		b.AppendInt128(y)
	}
	return b.Finish(), nil
}

func toMillis(v *column.Vector, to column.Type) (*column.Vector, *badValue) {
	out := make([]int64, v.Len)
	for i, x := range v.I64 {
		if v.Null(i) {
			continue
		}
		if x%1000 != 0 {
			return nil, &badValue{row: i, text: strconv.FormatInt(x, 10), reason: "its microseconds would be lost"}
		}
		out[i] = x / 1000
	}
	return &column.Vector{Type: to, Len: v.Len, Valid: v.Valid, I64: out}, nil
}

func toText(v *column.Vector, to column.Type) (*column.Vector, *badValue) {
	for i := range v.Len {
		if !v.Null(i) && !utf8.Valid(v.Bytes(i)) {
			return nil, &badValue{row: i, text: string(v.Bytes(i)), reason: "it is not UTF-8"}
		}
	}
	out := *v
	out.Type = to
	return &out, nil
}

func parseVector(v *column.Vector, to column.Type) (*column.Vector, *badValue) {
	parse, b := parserOf(to), column.NewBuilder(to, v.Len)
	for i := range v.Len {
		if v.Null(i) {
			b.AppendNull()
			continue
		}
		text := string(v.Bytes(i))
		if err := parse(b, text); err != nil {
			return nil, &badValue{row: i, text: text, reason: err.Error()}
		}
	}
	return b.Finish(), nil
}
