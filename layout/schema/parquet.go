package schema

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shoaldb/shoal/layout/column"
)

// Conversion says how a stored Parquet value becomes a value of the column type.
type Conversion uint8

// The conversions. Each one keeps order, except Int96, UInt32 and UInt64 under signed comparison
// and BytesDecimal under bytewise comparison.
const (
	Plain        Conversion = iota // same representation
	UInt32                         // INT32 bits as an unsigned number → Int64
	UInt64                         // INT64 bits as an unsigned number → decimal(20,0)
	MilliToMicro                   // TIME_MILLIS in INT32 → µs
	NanoToMicro                    // INT64 ns → µs, rounded down
	Int96Micro                     // INT96 Julian day and ns of the day → µs
	IntDecimal                     // INT32 or INT64 unscaled → Decimal
	BytesDecimal                   // big-endian two's complement, FIXED or BINARY → Decimal
	Float16                        // two little-endian bytes → Float32
	UUIDText                       // 16 bytes → the 36 characters of a UUID
)

// ParquetField ties a column, or a child of one, to the Parquet leaves that hold it.
type ParquetField struct {
	column.Field
	// Leaf is the index of the leaf among all leaves of the file, -1 for nested kinds.
	Leaf     int
	Physical format.Type // of a leaf
	Length   int         // bytes of a FIXED_LEN_BYTE_ARRAY leaf
	Convert  Conversion  // of a leaf
	// Unsigned marks a leaf whose statistics are ordered as unsigned integers.
	Unsigned bool
	// Def is the definition level from which on the value itself (for a leaf), the struct, or the
	// list or map (possibly empty) is not null.
	Def int
	// Rep is the repetition level within which the field's value occurs once: that of the innermost
	// repeated ancestor. ElemDef and Rep+1 are the levels of an entry of a List or Map.
	Rep int
	// ElemDef is the definition level from which on a List or Map has an entry.
	ElemDef int
	// Children parallels Type.Fields.
	Children []*ParquetField
}

// Leaves appends the leaves below the field, in file order of the schema.
func (f *ParquetField) Leaves(dst []*ParquetField) []*ParquetField {
	if f.Leaf >= 0 {
		return append(dst, f)
	}
	for _, c := range f.Children {
		dst = c.Leaves(dst)
	}
	return dst
}

// FromParquet maps a Parquet schema to columns. Lists in three- and two-level form, repeated fields
// without annotation, and maps become canonical nested columns; unsigned integers widen; an unannotated
// or unknown BYTE_ARRAY is Binary. A type without a place in the engine is an error naming the column.
func FromParquet(f *parquet.Schema) (s *column.Schema, err error) {
	elements, err := ParquetElements(f)
	if err != nil {
		return nil, err
	}
	fields, err := BindParquet(elements)
	if err != nil {
		return nil, err
	}
	s = &column.Schema{Fields: make([]column.Field, len(fields))}
	for i := range fields {
		s.Fields[i] = fields[i].Field
	}
	return s, nil
}

// ParquetElements flattens a schema into the depth-first list that a file footer holds.
func ParquetElements(f *parquet.Schema) (elements []format.SchemaElement, err error) {
	defer func() { // parquet-go panics on some malformed schemas
		if r := recover(); r != nil {
			err = fmt.Errorf("parquet schema: %v", r)
		}
	}()
	fields := f.Fields()
	root := format.SchemaElement{Name: f.Name(), NumChildren: thrift.New(int32(len(fields)))}
	elements = append(elements, root)
	for _, c := range fields {
		elements = appendElements(elements, c)
	}
	return elements, nil
}

func appendElements(dst []format.SchemaElement, n parquet.Field) []format.SchemaElement {
	e := format.SchemaElement{Name: n.Name(), FieldID: int32(n.ID())}
	switch {
	case n.Optional():
		e.RepetitionType = thrift.New(format.Optional)
	case n.Repeated():
		e.RepetitionType = thrift.New(format.Repeated)
	default:
		e.RepetitionType = thrift.New(format.Required)
	}
	t := n.Type()
	if l := t.LogicalType(); l != nil {
		e.LogicalType = *l
	}
	if c := convertedType(t); c.Valid {
		e.ConvertedType = c
	}
	switch l := e.LogicalType.Value.(type) {
	case *format.DecimalType:
		e.Precision, e.Scale = thrift.New(l.Precision), thrift.New(l.Scale)
	case *format.IntType:
		// The full signed width says what the physical type says; other writers leave it out.
		if l.IsSigned && l.BitWidth >= 32 {
			e.LogicalType.Value, e.ConvertedType = nil, thrift.Null[deprecated.ConvertedType]{}
		}
	}
	if !n.Leaf() {
		e.NumChildren = thrift.New(int32(len(n.Fields())))
		dst = append(dst, e)
		for _, c := range n.Fields() {
			dst = appendElements(dst, c)
		}
		return dst
	}
	if p := t.PhysicalType(); p != nil {
		e.Type = thrift.New(*p)
		if *p == format.FixedLenByteArray {
			e.TypeLength = thrift.New(int32(t.Length()))
		}
	}
	return append(dst, e)
}

// convertedType is the legacy annotation that goes with a type's logical type. Readers that know only
// the legacy one take it to mean an instant in UTC, so times and timestamps without zone have none.
func convertedType(t parquet.Type) thrift.Null[deprecated.ConvertedType] {
	if l := t.LogicalType(); l != nil {
		switch v := l.Value.(type) {
		case *format.TimestampType:
			if !v.IsAdjustedToUTC {
				return thrift.Null[deprecated.ConvertedType]{}
			}
		case *format.TimeType:
			if !v.IsAdjustedToUTC {
				return thrift.Null[deprecated.ConvertedType]{}
			}
		}
	}
	if c := t.ConvertedType(); c != nil {
		return thrift.New(*c)
	}
	return thrift.Null[deprecated.ConvertedType]{}
}

// maxParquetDepth bounds the nesting of a schema, so that a hostile footer cannot exhaust the stack.
const maxParquetDepth = 64

// parquetNode is one element of a footer's schema with its children.
type parquetNode struct {
	format.SchemaElement
	rep      format.FieldRepetitionType
	leaf     int // index among the leaves, -1 for a group
	children []*parquetNode
}

// BindParquet maps the schema elements of a footer to columns and to the leaves that hold them.
func BindParquet(elements []format.SchemaElement) ([]*ParquetField, error) {
	if len(elements) == 0 {
		return nil, fmt.Errorf("parquet schema: empty")
	}
	b := &parquetTree{elements: elements}
	root, err := b.node(0)
	if err != nil {
		return nil, err
	}
	if b.next != len(elements) {
		return nil, fmt.Errorf("parquet schema: %d elements are outside the tree", len(elements)-b.next)
	}
	if root.leaf >= 0 {
		return nil, fmt.Errorf("parquet schema: the root is not a group")
	}
	fields := make([]*ParquetField, 0, len(root.children))
	for _, c := range root.children {
		f, err := bindNode(c, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("parquet column %q: %w", c.Name, err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

type parquetTree struct {
	elements []format.SchemaElement
	next     int
	leaves   int
}

func (b *parquetTree) node(depth int) (*parquetNode, error) {
	if depth > maxParquetDepth {
		return nil, fmt.Errorf("parquet schema: nested more than %d deep", maxParquetDepth)
	}
	if b.next >= len(b.elements) {
		return nil, fmt.Errorf("parquet schema: a group has fewer children than it says")
	}
	n := &parquetNode{SchemaElement: b.elements[b.next], leaf: -1}
	b.next++
	n.rep = n.RepetitionType.V // absent at the root only; reads as required
	if n.rep < format.Required || n.rep > format.Repeated {
		return nil, fmt.Errorf("parquet schema: element %q has repetition type %d", n.Name, n.rep)
	}
	if n.Type.Valid {
		if n.Type.V < format.Boolean || n.Type.V > format.FixedLenByteArray {
			return nil, fmt.Errorf("parquet schema: element %q has physical type %d", n.Name, n.Type.V)
		}
		if n.NumChildren.V > 0 {
			return nil, fmt.Errorf("parquet schema: element %q has both a type and children", n.Name)
		}
		n.leaf = b.leaves
		b.leaves++
		return n, nil
	}
	if n.NumChildren.V < 0 || int(n.NumChildren.V) > len(b.elements) {
		return nil, fmt.Errorf("parquet schema: group %q says it has %d children", n.Name, n.NumChildren.V)
	}
	for range n.NumChildren.V {
		c, err := b.node(depth + 1)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, c)
	}
	return n, nil
}

// bindNode binds a node whose parent's levels are def and rep.
func bindNode(n *parquetNode, def, rep int) (*ParquetField, error) {
	if n.rep == format.Repeated { // a list of its own, spelled without LIST
		elem, err := bindValue(n, def+1, rep+1)
		if err != nil {
			return nil, err
		}
		return listOf(n.Name, false, elem, def, rep), nil
	}
	nullable := n.rep == format.Optional
	if nullable {
		def++
	}
	f, err := bindValue(n, def, rep)
	if err != nil {
		return nil, err
	}
	f.Nullable = nullable
	return f, nil
}

// bindValue binds a node apart from its repetition: def and rep are its own levels.
func bindValue(n *parquetNode, def, rep int) (*ParquetField, error) {
	if n.leaf >= 0 {
		return bindLeaf(n, def, rep)
	}
	switch {
	case n.annotated(new(format.ListType), deprecated.List):
		return bindList(n, def, rep)
	case n.annotated(new(format.MapType), deprecated.Map), n.annotated(nil, deprecated.MapKeyValue):
		if f, ok, err := bindMap(n, def, rep); ok || err != nil {
			return f, err
		}
	}
	if len(n.children) == 0 {
		return nil, fmt.Errorf("group %q has no fields", n.Name)
	}
	f := &ParquetField{Field: column.Field{Name: n.Name}, Leaf: -1, Def: def, Rep: rep}
	f.Type.Kind = column.Struct
	for _, c := range n.children {
		cf, err := bindNode(c, def, rep)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", c.Name, err)
		}
		f.Type.Fields = append(f.Type.Fields, cf.Field)
		f.Children = append(f.Children, cf)
	}
	return f, nil
}

func (n *parquetNode) annotated(logical format.LogicalTypeValue, converted deprecated.ConvertedType) bool {
	switch n.LogicalType.Value.(type) {
	case *format.ListType:
		_, ok := logical.(*format.ListType)
		return ok
	case *format.MapType:
		_, ok := logical.(*format.MapType)
		return ok
	}
	return n.ConvertedType.Valid && n.ConvertedType.V == converted
}

// bindList tells the three-level form from the older two-level ones by the rules of the Parquet
// specification (logical types, lists, backward compatibility).
func bindList(n *parquetNode, def, rep int) (*ParquetField, error) {
	if len(n.children) != 1 || n.children[0].rep != format.Repeated {
		return nil, fmt.Errorf("list %q does not hold exactly one repeated field", n.Name)
	}
	r := n.children[0]
	two := r.leaf >= 0 || len(r.children) != 1 || r.children[0].rep == format.Repeated ||
		r.Name == "array" || r.Name == n.Name+"_tuple" || r.LogicalType.Value != nil || r.ConvertedType.Valid
	var elem *ParquetField
	var err error
	if two {
		elem, err = bindValue(r, def+1, rep+1)
	} else {
		elem, err = bindNode(r.children[0], def+1, rep+1)
	}
	if err != nil {
		return nil, fmt.Errorf("element: %w", err)
	}
	return listOf(n.Name, false, elem, def, rep), nil
}

func listOf(name string, nullable bool, elem *ParquetField, def, rep int) *ParquetField {
	elem.Name = "element"
	f := &ParquetField{Field: column.Field{Name: name, Nullable: nullable}, Leaf: -1, Def: def, Rep: rep, ElemDef: def + 1}
	f.Type = column.Type{Kind: column.List, Fields: []column.Field{elem.Field}}
	f.Children = []*ParquetField{elem}
	return f
}

// bindMap reads a map: one repeated group of key and value, whatever their names. A map without
// values is the list of its keys. A group that is called a map but is none is bound as what it is.
func bindMap(n *parquetNode, def, rep int) (*ParquetField, bool, error) {
	if len(n.children) != 1 || n.children[0].rep != format.Repeated || n.children[0].leaf >= 0 {
		return nil, false, nil
	}
	kv := n.children[0]
	if len(kv.children) == 0 || len(kv.children) > 2 {
		return nil, false, nil
	}
	key, err := bindNode(kv.children[0], def+1, rep+1)
	if err != nil {
		return nil, false, fmt.Errorf("key: %w", err)
	}
	if len(kv.children) == 1 {
		return listOf(n.Name, false, key, def, rep), true, nil
	}
	value, err := bindNode(kv.children[1], def+1, rep+1)
	if err != nil {
		return nil, false, fmt.Errorf("value: %w", err)
	}
	key.Name, value.Name = "key", "value"
	f := &ParquetField{Field: column.Field{Name: n.Name}, Leaf: -1, Def: def, Rep: rep, ElemDef: def + 1}
	f.Type = column.Type{Kind: column.Map, Fields: []column.Field{key.Field, value.Field}}
	f.Children = []*ParquetField{key, value}
	return f, true, nil
}
