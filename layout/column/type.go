package column

import (
	"fmt"
	"strings"
)

// Kind is the engine type of a column (DESIGN: one engine type per column).
type Kind uint8

// The kinds, with the storage form that a Vector of the kind uses.
const (
	Invalid        Kind = iota
	Bool                // Bools
	Int32               // I32
	Int64               // I64
	Float32             // F32
	Float64             // F64
	Decimal             // I64 unscaled when Precision <= 18, else Dec
	String              // Dict+Codes or Str (UTF-8)
	Binary              // Dict+Codes or Str (any bytes)
	Date                // I32, days since 1970-01-01
	Time                // I64, µs since midnight
	Timestamp           // I64, µs since the epoch
	TimestampMilli      // I64, ms since the epoch
	List                // Offsets + Children[0]
	Map                 // Offsets + Children[0] keys, Children[1] values
	Struct              // Children, one a field
)

var kindNames = [...]string{"invalid", "bool", "int32", "int64", "float32", "float64", "decimal", "string",
	"binary", "date", "time", "timestamp", "timestamp_ms", "list", "map", "struct"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Nested reports whether values of the kind have children; SQL sees them as JSON.
func (k Kind) Nested() bool { return k >= List }

// MaxInt64Precision is the largest decimal precision whose unscaled values fit int64.
const MaxInt64Precision = 18

// Type is a column type. The zero Type is Invalid.
type Type struct {
	Kind Kind
	// Precision (1..38) and Scale (0..Precision) of a Decimal.
	Precision, Scale int
	// Local marks a Timestamp or TimestampMilli without time zone (Parquet isAdjustedToUTC=false,
	// Avro local-timestamp-*). The stored integers are the same.
	Local bool
	// FixedSize > 0 marks a Binary of that fixed length in bytes (Avro fixed).
	FixedSize int
	// Fields are the children: List: [element]; Map: [key, value]; Struct: its fields.
	Fields []Field
}

// Field is a named column or struct member.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	Doc      string
}

// WideDecimal reports whether a Decimal is held in Vector.Dec rather than Vector.I64.
func (t Type) WideDecimal() bool { return t.Kind == Decimal && t.Precision > MaxInt64Precision }

// Equal reports whether the types are the same, children (names, nullability) included.
func (t Type) Equal(o Type) bool {
	if t.Kind != o.Kind || t.Precision != o.Precision || t.Scale != o.Scale || t.Local != o.Local ||
		t.FixedSize != o.FixedSize || len(t.Fields) != len(o.Fields) {
		return false
	}
	for i, f := range t.Fields {
		g := o.Fields[i]
		if f.Name != g.Name || f.Nullable != g.Nullable || !f.Type.Equal(g.Type) {
			return false
		}
	}
	return true
}

func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case List:
		return "list<" + t.Fields[0].Type.String() + ">"
	case Map:
		return "map<" + t.Fields[0].Type.String() + "," + t.Fields[1].Type.String() + ">"
	case Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Name + ":" + f.Type.String()
		}
		return "struct<" + strings.Join(parts, ",") + ">"
	}
	return t.Kind.String()
}

// Schema is an ordered list of columns. It is immutable once shared.
type Schema struct {
	Fields []Field
}

// Index returns the position of the column with exactly this name, or -1.
func (s *Schema) Index(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// IndexFold is Index without regard to ASCII case; an exact match wins.
func (s *Schema) IndexFold(name string) int {
	if i := s.Index(name); i >= 0 {
		return i
	}
	for i := range s.Fields {
		if strings.EqualFold(s.Fields[i].Name, name) {
			return i
		}
	}
	return -1
}

// Names lists the column names in order.
func (s *Schema) Names() []string {
	names := make([]string, len(s.Fields))
	for i := range s.Fields {
		names[i] = s.Fields[i].Name
	}
	return names
}

// Select returns the schema of the named columns, in the order given. It fails on an unknown name.
func (s *Schema) Select(names []string) (*Schema, error) {
	out := &Schema{Fields: make([]Field, 0, len(names))}
	for _, n := range names {
		i := s.Index(n)
		if i < 0 {
			return nil, fmt.Errorf("no column %q", n)
		}
		out.Fields = append(out.Fields, s.Fields[i])
	}
	return out, nil
}

// Equal reports whether both schemas have the same columns in the same order.
func (s *Schema) Equal(o *Schema) bool {
	return Type{Kind: Struct, Fields: s.Fields}.Equal(Type{Kind: Struct, Fields: o.Fields})
}

// The meta columns that Hudi puts first in every base file (docs/format.md, base files).
const (
	MetaCommitTime    = "_hoodie_commit_time"
	MetaCommitSeqno   = "_hoodie_commit_seqno"
	MetaRecordKey     = "_hoodie_record_key"
	MetaPartitionPath = "_hoodie_partition_path"
	MetaFileName      = "_hoodie_file_name"
	MetaOperation     = "_hoodie_operation"
)

// MetaColumns are the five meta columns in file order.
var MetaColumns = []string{MetaCommitTime, MetaCommitSeqno, MetaRecordKey, MetaPartitionPath, MetaFileName}

// IsMeta reports whether name is a Hudi meta column.
func IsMeta(name string) bool {
	return strings.HasPrefix(name, "_hoodie_") &&
		(name == MetaCommitTime || name == MetaCommitSeqno || name == MetaRecordKey ||
			name == MetaPartitionPath || name == MetaFileName || name == MetaOperation)
}

// WithMeta returns the schema with the five meta columns first, as base files hold it.
func (s *Schema) WithMeta() *Schema {
	out := &Schema{Fields: make([]Field, 0, len(s.Fields)+len(MetaColumns))}
	for _, n := range MetaColumns {
		out.Fields = append(out.Fields, Field{Name: n, Type: Type{Kind: String}, Nullable: true})
	}
	for _, f := range s.Fields {
		if !IsMeta(f.Name) {
			out.Fields = append(out.Fields, f)
		}
	}
	return out
}

// WithoutMeta returns the schema without meta columns.
func (s *Schema) WithoutMeta() *Schema {
	out := &Schema{Fields: make([]Field, 0, len(s.Fields))}
	for _, f := range s.Fields {
		if !IsMeta(f.Name) {
			out.Fields = append(out.Fields, f)
		}
	}
	return out
}
