package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/shoaldb/shoal/layout/column"
)

// AvroError says what of which column cannot be understood or written.
type AvroError struct {
	Column string // dotted for nested fields; "" for the schema as a whole
	Reason string
}

func (e *AvroError) Error() string {
	if e.Column == "" {
		return "avro schema: " + e.Reason
	}
	return fmt.Sprintf("avro schema: column %s: %s", e.Column, e.Reason)
}

// Nesting and size are bounded, so that hostile text cannot exhaust the stack or, by records that
// refer to each other, the memory.
const (
	maxAvroDepth = 64
	maxAvroTypes = 100_000
)

// FromAvro reads an Avro record schema in JSON. A union with null makes a column nullable,
// whichever branch comes first; meta columns are kept. Named types may be referred to after
// their definition, though not within it. Times that the engine keeps in µs lose their own unit:
// time-millis becomes Time, timestamp-nanos Timestamp.
func FromAvro(text string) (*column.Schema, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, &AvroError{Reason: "not JSON: " + err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &AvroError{Reason: "text after the schema"}
	}
	r := &avroReader{named: map[string]avroDefinition{}, open: map[string]bool{}}
	if u, ok := root.([]any); ok { // a nullable record
		for _, b := range u {
			if b != "null" {
				root = b
			}
		}
	}
	t, err := r.read("", "", root, 0)
	if err != nil {
		return nil, err
	}
	if t.Kind != column.Struct {
		return nil, &AvroError{Reason: "it is a " + t.Kind.String() + ", not a record"}
	}
	return &column.Schema{Fields: t.Fields}, nil
}

type avroReader struct {
	named map[string]avroDefinition // by full name
	open  map[string]bool           // records being read
	types int                       // read so far
}

// avroDefinition is a named type, with the namespace around its definition.
type avroDefinition struct {
	space string
	text  any
}

// read converts one type. path is the column's dotted name, space the enclosing namespace.
func (r *avroReader) read(path, space string, x any, depth int) (column.Type, error) {
	fail := func(format string, args ...any) (column.Type, error) {
		return column.Type{}, &AvroError{Column: path, Reason: fmt.Sprintf(format, args...)}
	}
	if depth > maxAvroDepth {
		return fail("nested more than %d deep", maxAvroDepth)
	}
	if r.types++; r.types > maxAvroTypes {
		return fail("more than %d types", maxAvroTypes)
	}
	var m map[string]any
	var name string
	switch v := x.(type) {
	case string:
		name = v
	case map[string]any:
		m = v
		switch t := v["type"].(type) {
		case string:
			name = t
		case map[string]any, []any: // {"type": {"type": …}}
			return r.read(path, space, t, depth+1)
		default:
			return fail("a type is missing")
		}
	case []any:
		return fail("a union other than of null and one type is not supported")
	default:
		return fail("%v is not a type", x)
	}
	logical, _ := m["logicalType"].(string)
	switch name {
	case "null":
		return column.Type{Kind: column.String}, nil
	case "boolean":
		return column.Type{Kind: column.Bool}, nil
	case "int":
		switch logical {
		case "date":
			return column.Type{Kind: column.Date}, nil
		case "time-millis":
			return column.Type{Kind: column.Time}, nil
		}
		return column.Type{Kind: column.Int32}, nil
	case "long":
		switch logical {
		case "timestamp-millis":
			return column.Type{Kind: column.TimestampMilli}, nil
		case "timestamp-micros", "timestamp-nanos":
			return column.Type{Kind: column.Timestamp}, nil
		case "local-timestamp-millis":
			return column.Type{Kind: column.TimestampMilli, Local: true}, nil
		case "local-timestamp-micros", "local-timestamp-nanos":
			return column.Type{Kind: column.Timestamp, Local: true}, nil
		case "time-micros":
			return column.Type{Kind: column.Time}, nil
		}
		return column.Type{Kind: column.Int64}, nil
	case "float":
		return column.Type{Kind: column.Float32}, nil
	case "double":
		return column.Type{Kind: column.Float64}, nil
	case "string", "enum":
		if name == "enum" {
			r.define(space, m)
		}
		return column.Type{Kind: column.String}, nil
	case "bytes":
		if logical == "decimal" {
			return readDecimal(path, m)
		}
		return column.Type{Kind: column.Binary}, nil
	case "fixed":
		r.define(space, m)
		if logical == "decimal" {
			return readDecimal(path, m)
		}
		size, err := avroInt(m["size"])
		if err != nil || size < 1 || size > 1<<20 {
			return fail("fixed needs a size, not %v", m["size"])
		}
		return column.Type{Kind: column.Binary, FixedSize: int(size)}, nil
	case "array":
		f, err := r.field(path, space, "element", m["items"], depth)
		if err != nil {
			return column.Type{}, err
		}
		return column.Type{Kind: column.List, Fields: []column.Field{f}}, nil
	case "map":
		f, err := r.field(path, space, "value", m["values"], depth)
		if err != nil {
			return column.Type{}, err
		}
		key := column.Field{Name: "key", Type: column.Type{Kind: column.String}}
		return column.Type{Kind: column.Map, Fields: []column.Field{key, f}}, nil
	case "record", "error":
		return r.record(path, space, m, depth)
	}
	full := name
	if !strings.Contains(name, ".") {
		full = fullName(space, name)
	}
	def, ok := r.named[full]
	if !ok {
		def, ok = r.named[name]
	}
	if ok {
		return r.read(path, def.space, def.text, depth+1)
	}
	return fail("type %q is not known", name)
}

func (r *avroReader) record(path, space string, m map[string]any, depth int) (column.Type, error) {
	name, inner := r.define(space, m)
	if name != "" {
		if r.open[name] {
			return column.Type{}, &AvroError{Column: path, Reason: "record " + name + " contains itself"}
		}
		r.open[name] = true
		defer delete(r.open, name)
	}
	fields, ok := m["fields"].([]any)
	if !ok {
		return column.Type{}, &AvroError{Column: path, Reason: "a record without fields"}
	}
	seen := make(map[string]bool, len(fields))
	t := column.Type{Kind: column.Struct, Fields: make([]column.Field, 0, len(fields))}
	for _, x := range fields {
		fm, ok := x.(map[string]any)
		name, _ := fm["name"].(string)
		if !ok || name == "" {
			return column.Type{}, &AvroError{Column: path, Reason: "a field without a name"}
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		if seen[name] {
			return column.Type{}, &AvroError{Column: at, Reason: "appears twice"}
		}
		seen[name] = true
		f, err := r.field(at, inner, name, fm["type"], depth)
		if err != nil {
			return column.Type{}, err
		}
		f.Doc, _ = fm["doc"].(string)
		t.Fields = append(t.Fields, f)
	}
	return t, nil
}

// field reads a type that may be a union with null.
func (r *avroReader) field(path, space, name string, x any, depth int) (column.Field, error) {
	f := column.Field{Name: name}
	if u, ok := x.([]any); ok {
		var rest []any
		for _, b := range u {
			if b == "null" {
				f.Nullable = true
			} else {
				rest = append(rest, b)
			}
		}
		switch len(rest) {
		case 0:
			x = "null" // a column of nothing but nulls
		case 1:
			x = rest[0]
		default:
			return f, &AvroError{Column: path, Reason: "a union of several types is not supported"}
		}
	}
	var err error
	f.Type, err = r.read(path, space, x, depth+1)
	return f, err
}

// define remembers a named type. It returns its full name, "" when it has none, and the namespace
// of what it encloses.
func (r *avroReader) define(space string, m map[string]any) (full, inner string) {
	def := avroDefinition{space: space, text: m}
	name, _ := m["name"].(string)
	if name == "" {
		return "", space
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		space, name = name[:i], name[i+1:]
	} else if ns, ok := m["namespace"].(string); ok {
		space = ns
	}
	full = fullName(space, name)
	r.named[full] = def
	return full, space
}

func fullName(space, name string) string {
	if space == "" {
		return name
	}
	return space + "." + name
}

func readDecimal(path string, m map[string]any) (column.Type, error) {
	p, err := avroInt(m["precision"])
	s := int64(0)
	if m["scale"] != nil && err == nil {
		s, err = avroInt(m["scale"])
	}
	if err != nil || p < 1 || p > 38 || s < 0 || s > p {
		return column.Type{}, &AvroError{Column: path, Reason: fmt.Sprintf("decimal(%v,%v) is not within decimal(38,38)", m["precision"], m["scale"])}
	}
	return column.Type{Kind: column.Decimal, Precision: int(p), Scale: int(s)}, nil
}

func avroInt(x any) (int64, error) {
	n, ok := x.(json.Number)
	if !ok {
		return 0, fmt.Errorf("not a number")
	}
	return n.Int64()
}

// ToAvro writes an Avro record schema as Hudi does: a nullable column is a union of null and its
// type with default null; a nested record's namespace is its parent's full name and the field.
func ToAvro(s *column.Schema, recordName, namespace string) (string, error) {
	for _, part := range strings.Split(fullName(namespace, recordName), ".") {
		if !avroName(part) {
			return "", &AvroError{Reason: fmt.Sprintf("record name %q: %s", fullName(namespace, recordName), avroNameRule)}
		}
	}
	w := &avroWriter{}
	if err := w.record("", recordName, namespace, s.Fields); err != nil {
		return "", err
	}
	return w.String(), nil
}

type avroWriter struct{ bytes.Buffer }

func (w *avroWriter) text(s string) {
	q, _ := json.Marshal(s)
	w.Write(q)
}

func (w *avroWriter) record(path, name, namespace string, fields []column.Field) error {
	w.WriteString(`{"type":"record","name":`)
	w.text(name)
	if namespace != "" {
		w.WriteString(`,"namespace":`)
		w.text(namespace)
	}
	w.WriteString(`,"fields":[`)
	for i, f := range fields {
		at := f.Name
		if path != "" {
			at = path + "." + f.Name
		}
		if !avroName(f.Name) {
			return &AvroError{Column: at, Reason: avroNameRule}
		}
		if i > 0 {
			w.WriteByte(',')
		}
		w.WriteString(`{"name":`)
		w.text(f.Name)
		w.WriteString(`,"type":`)
		if err := w.field(at, fullName(namespace, name), f); err != nil {
			return err
		}
		if f.Doc != "" || column.IsMeta(f.Name) {
			w.WriteString(`,"doc":`)
			w.text(f.Doc)
		}
		if f.Nullable {
			w.WriteString(`,"default":null`)
		}
		w.WriteByte('}')
	}
	w.WriteString(`]}`)
	return nil
}

func (w *avroWriter) field(path, space string, f column.Field) error {
	if f.Nullable {
		w.WriteString(`["null",`)
	}
	if err := w.typ(path, space, f); err != nil {
		return err
	}
	if f.Nullable {
		w.WriteByte(']')
	}
	return nil
}

func (w *avroWriter) typ(path, space string, f column.Field) error {
	t := f.Type
	logical := func(base, name string) { fmt.Fprintf(w, `{"type":%q,"logicalType":%q}`, base, name) }
	local := ""
	if t.Local {
		local = "local-"
	}
	switch t.Kind {
	case column.Bool:
		w.WriteString(`"boolean"`)
	case column.Int32:
		w.WriteString(`"int"`)
	case column.Int64:
		w.WriteString(`"long"`)
	case column.Float32:
		w.WriteString(`"float"`)
	case column.Float64:
		w.WriteString(`"double"`)
	case column.String:
		w.WriteString(`"string"`)
	case column.Date:
		logical("int", "date")
	case column.Time:
		logical("long", "time-micros")
	case column.Timestamp:
		logical("long", local+"timestamp-micros")
	case column.TimestampMilli:
		logical("long", local+"timestamp-millis")
	case column.Decimal:
		if t.Precision < 1 || t.Precision > 38 {
			return &AvroError{Column: path, Reason: t.String() + " is not within 38 digits"}
		}
		// The name must be unique in the record: the field's own namespace makes it so.
		fmt.Fprintf(w, `{"type":"fixed","name":"fixed","namespace":%q,"size":%d,"logicalType":"decimal","precision":%d,"scale":%d}`,
			fullName(space, f.Name), decimalBytes[t.Precision], t.Precision, t.Scale)
	case column.Binary:
		if t.FixedSize > 0 {
			fmt.Fprintf(w, `{"type":"fixed","name":"fixed","namespace":%q,"size":%d}`, fullName(space, f.Name), t.FixedSize)
		} else {
			w.WriteString(`"bytes"`)
		}
	case column.List:
		w.WriteString(`{"type":"array","items":`)
		// Hudi names what is below a list after the list's field.
		item := column.Field{Name: f.Name, Type: t.Fields[0].Type, Nullable: t.Fields[0].Nullable}
		if err := w.field(path, space, item); err != nil {
			return err
		}
		w.WriteByte('}')
	case column.Map:
		if t.Fields[0].Type.Kind != column.String {
			return &AvroError{Column: path, Reason: "map keys must be strings"}
		}
		w.WriteString(`{"type":"map","values":`)
		item := column.Field{Name: f.Name, Type: t.Fields[1].Type, Nullable: t.Fields[1].Nullable}
		if err := w.field(path, space, item); err != nil {
			return err
		}
		w.WriteByte('}')
	case column.Struct:
		return w.record(path, f.Name, space, t.Fields)
	default:
		return &AvroError{Column: path, Reason: "type " + t.String() + " has no Avro form"}
	}
	return nil
}

const avroNameRule = "names are letters, digits and underscores, and do not begin with a digit"

// avroName reports whether a name is legal in Avro.
func avroName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
