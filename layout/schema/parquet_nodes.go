package schema

import (
	"fmt"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"github.com/shoaldb/shoal/layout/column"
)

// ToParquet gives the Parquet schema under which base files store the columns (docs/format.md: base
// files): decimals as FIXED_LEN_BYTE_ARRAY of the fewest bytes, timestamps as INT64, lists in
// three-level form since it alone can hold null elements.
func ToParquet(name string, s *column.Schema) (*parquet.Schema, error) {
	root, err := groupNode(s.Fields, 0)
	if err != nil {
		return nil, err
	}
	return parquet.NewSchema(name, root), nil
}

// orderedGroup is a group that keeps its fields in the order given; parquet.Group sorts them by name.
type orderedGroup struct {
	parquet.Group
	typ    parquet.Type // of a LIST or MAP, else nil
	fields []parquet.Field
}

func (g *orderedGroup) Fields() []parquet.Field { return g.fields }
func (g *orderedGroup) Type() parquet.Type {
	if g.typ != nil {
		return g.typ
	}
	return g.Group.Type()
}

type orderedField struct {
	parquet.Node
	name string
}

func (f orderedField) Name() string { return f.name }

// Value is for writing Go structs, for which this schema is not made.
func (f orderedField) Value(base reflect.Value) reflect.Value {
	return base.MapIndex(reflect.ValueOf(f.name))
}

func groupNode(fields []column.Field, depth int) (*orderedGroup, error) {
	if depth > maxParquetDepth {
		return nil, fmt.Errorf("columns nested more than %d deep", maxParquetDepth)
	}
	g := &orderedGroup{Group: parquet.Group{}}
	for _, f := range fields {
		n, err := fieldNode(f, depth)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		if _, twice := g.Group[f.Name]; twice {
			return nil, fmt.Errorf("column %q occurs twice", f.Name)
		}
		g.add(f.Name, n)
	}
	if len(fields) == 0 && depth > 0 {
		return nil, fmt.Errorf("a struct without fields cannot be stored in Parquet")
	}
	return g, nil
}

func (g *orderedGroup) add(name string, n parquet.Node) {
	g.Group[name] = n
	g.fields = append(g.fields, orderedField{n, name})
}

func fieldNode(f column.Field, depth int) (parquet.Node, error) {
	n, err := typeNode(f.Type, depth)
	if err != nil {
		return nil, err
	}
	if f.Nullable {
		return parquet.Optional(n), nil
	}
	return n, nil
}

func typeNode(t column.Type, depth int) (parquet.Node, error) {
	switch t.Kind {
	case column.Bool:
		return parquet.Leaf(parquet.BooleanType), nil
	case column.Int32:
		return parquet.Leaf(parquet.Int32Type), nil
	case column.Int64:
		return parquet.Leaf(parquet.Int64Type), nil
	case column.Float32:
		return parquet.Leaf(parquet.FloatType), nil
	case column.Float64:
		return parquet.Leaf(parquet.DoubleType), nil
	case column.Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return nil, fmt.Errorf("%s is not valid", t)
		}
		return parquet.Decimal(t.Scale, t.Precision, parquet.FixedLenByteArrayType(DecimalBytes(t.Precision))), nil
	case column.String:
		return parquet.String(), nil
	case column.Binary:
		if t.FixedSize > 0 {
			return parquet.Leaf(parquet.FixedLenByteArrayType(t.FixedSize)), nil
		}
		return parquet.Leaf(parquet.ByteArrayType), nil
	case column.Date:
		return parquet.Date(), nil
	case column.Time:
		return parquet.Time(parquet.Microsecond), nil
	case column.Timestamp:
		return parquet.TimestampAdjusted(parquet.Microsecond, !t.Local), nil
	case column.TimestampMilli:
		return parquet.TimestampAdjusted(parquet.Millisecond, !t.Local), nil
	case column.List:
		return wrapped(t, 1, parquet.List(parquet.Leaf(parquet.Int32Type)).Type(), "list", []string{"element"}, depth)
	case column.Map:
		return wrapped(t, 2, parquet.Map(parquet.String(), parquet.String()).Type(), "key_value", []string{"key", "value"}, depth)
	case column.Struct:
		return groupNode(t.Fields, depth+1)
	}
	return nil, fmt.Errorf("type %s cannot be stored in Parquet", t)
}

// wrapped is an annotated group around the repeated group that holds a list's or a map's entries.
func wrapped(t column.Type, children int, typ parquet.Type, repeated string, names []string, depth int) (parquet.Node, error) {
	if len(t.Fields) != children {
		return nil, fmt.Errorf("%s has %d children", t.Kind, len(t.Fields))
	}
	fields := append([]column.Field(nil), t.Fields...)
	for i := range fields {
		fields[i].Name = names[i]
	}
	if t.Kind == column.Map {
		fields[0].Nullable = false // a map's key is required in Parquet
	}
	entry, err := groupNode(fields, depth+1)
	if err != nil {
		return nil, err
	}
	outer := &orderedGroup{Group: parquet.Group{}, typ: typ}
	outer.add(repeated, parquet.Repeated(entry))
	return outer, nil
}

// DecimalBytes is the fewest bytes that hold the unscaled value of a decimal of the precision in
// two's complement.
func DecimalBytes(precision int) int { return decimalBytes[precision] }

// decimalBytes is indexed by precision: the smallest n with 10^p <= 2^(8n-1).
var decimalBytes = [39]int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 8, 9, 9, 9, 10, 10, 11, 11, 11, 12, 12,
	13, 13, 13, 14, 14, 15, 15, 16, 16, 16}
