package keygen

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/shoaldb/shoal/layout/column"
)

// Config is what a table's properties say of its keys.
type Config struct {
	Class     string   // key generator, full or simple Java name; "": by inference (ClassFor)
	RecordKey []string // record key fields; none: keys are generated, the table is keyless
	Partition []string // partition fields, optionally with a suffix :SIMPLE or :TIMESTAMP
	HiveStyle bool     // segments are field=value
	URLEncode bool     // values are escaped in paths
	// Properties hold hoodie.keygen.* for timestamp generators.
	Properties map[string]string
	// ComplexSingleFieldPrefix makes ComplexKeyGenerator write "field:value" for a single key
	// field. Releases of Hudi differ; a table must go on as it began.
	ComplexSingleFieldPrefix bool
}

// Names of the generators, below org.apache.hudi.keygen.
const (
	Simple         = "SimpleKeyGenerator"
	Complex        = "ComplexKeyGenerator"
	Nonpartitioned = "NonpartitionedKeyGenerator"
	TimestampBased = "TimestampBasedKeyGenerator"
	Custom         = "CustomKeyGenerator"
)

// Placeholders for values that cannot stand in a key or path.
const (
	nullKey          = "__null__"
	emptyKey         = "__empty__"
	defaultPartition = "__HIVE_DEFAULT_PARTITION__"
)

// ClassError refuses a key generator by name.
type ClassError struct{ Class string }

func (e *ClassError) Error() string {
	return fmt.Sprintf("key generator %s is not supported: there are %s, %s, %s, %s and %s",
		e.Class, Simple, Complex, Nonpartitioned, TimestampBased, Custom)
}

// FieldError says which key or partition field has which fault.
type FieldError struct {
	Field string
	Row   int // of the batch; -1 when not about a row
	Fault string
}

func (e *FieldError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("field %s: %s", e.Field, e.Fault)
	}
	return fmt.Sprintf("row %d: field %s: %s", e.Row+1, e.Field, e.Fault)
}

// ClassFor infers the generator's simple name as Hudi does when none is set.
func ClassFor(recordKey, partition []string) string {
	switch {
	case len(partition) == 0:
		return Nonpartitioned
	case len(partition) == 1 && strings.Contains(partition[0], ":"):
		return Custom
	case len(partition) == 1 && len(recordKey) <= 1:
		return Simple
	}
	for _, p := range partition {
		if strings.Contains(p, ":") {
			return Custom
		}
	}
	return Complex
}

// resolveClass gives the simple name of the generator in use.
func resolveClass(cfg Config) (string, error) {
	name := cfg.Class[strings.LastIndexByte(cfg.Class, '.')+1:]
	// Flink names the Avro forms, which do the same.
	name = strings.TrimSuffix(name, "_AVRO")
	if base, ok := strings.CutSuffix(name, "AvroKeyGenerator"); ok {
		name = base + "KeyGenerator"
	}
	switch name {
	case "", "SqlKeyGenerator":
		return ClassFor(cfg.RecordKey, cfg.Partition), nil
	case Simple, "SIMPLE":
		return Simple, nil
	case Complex, "COMPLEX":
		return Complex, nil
	case Nonpartitioned, "NON_PARTITION":
		return Nonpartitioned, nil
	case TimestampBased, "TIMESTAMP":
		return TimestampBased, nil
	case Custom, "CUSTOM":
		return Custom, nil
	}
	return "", &ClassError{Class: cfg.Class}
}

// Generator makes record keys and partition paths of a table's rows. It may be used by several
// goroutines at once.
type Generator struct {
	cfg    Config
	prefix bool // record keys are composite: field:value,…
	keys   []fieldPath
	parts  []partitionField
}

// partitionField makes one part of a partition path.
type partitionField struct {
	field fieldPath
	time  *timeFormat // nil: the value itself
}

// New checks a configuration against the table's schema.
func New(cfg Config, s *column.Schema) (*Generator, error) {
	class, err := resolveClass(cfg)
	if err != nil {
		return nil, err
	}
	g := &Generator{cfg: cfg}
	for _, k := range cfg.RecordKey {
		f, err := findField(s, k)
		if err != nil {
			return nil, err
		}
		g.keys = append(g.keys, f)
	}
	g.prefix = len(g.keys) > 1 || class == Complex && cfg.ComplexSingleFieldPrefix
	if class == Nonpartitioned {
		return g, nil
	}
	for _, p := range cfg.Partition {
		name, kind, _ := strings.Cut(p, ":")
		f, err := findField(s, name)
		if err != nil {
			return nil, err
		}
		part := partitionField{field: f}
		if class == TimestampBased || class == Custom && strings.EqualFold(kind, "TIMESTAMP") {
			if part.time, err = newTimeFormat(cfg.Properties); err != nil {
				return nil, err
			}
		}
		g.parts = append(g.parts, part)
	}
	return g, nil
}

// fieldPath is a column, or a member of a struct column, by names from the top.
type fieldPath struct {
	name  string // as keys and paths write it
	names []string
}

// findField finds a key or partition field: a column, or a member that dots lead to.
func findField(s *column.Schema, name string) (fieldPath, error) {
	f := fieldPath{name: name}
	i := s.IndexFold(name)
	if i >= 0 {
		f.name, f.names = s.Fields[i].Name, []string{s.Fields[i].Name}
		return f, scalarField(name, s.Fields[i].Type)
	}
	t := column.Type{Kind: column.Struct, Fields: s.Fields}
	for _, part := range strings.Split(name, ".") {
		if i = (&column.Schema{Fields: t.Fields}).IndexFold(part); t.Kind != column.Struct || i < 0 {
			return f, &FieldError{Field: name, Row: -1, Fault: "the table has no such column"}
		}
		f.names = append(f.names, t.Fields[i].Name)
		t = t.Fields[i].Type
	}
	return f, scalarField(name, t)
}

func scalarField(name string, t column.Type) error {
	if t.Kind.Nested() {
		return &FieldError{Field: name, Row: -1, Fault: "a " + t.Kind.String() + " cannot be a key or partition field"}
	}
	return nil
}

// in finds the field's vector in a batch, whatever the batch's order.
func (f fieldPath) in(b *column.Batch) (*column.Vector, error) {
	missing := &FieldError{Field: f.name, Row: -1, Fault: "the rows have no such column"}
	i := b.Schema.IndexFold(f.names[0])
	if i < 0 {
		return nil, missing
	}
	v := b.Cols[i]
	for _, n := range f.names[1:] {
		if i = (&column.Schema{Fields: v.Type.Fields}).IndexFold(n); v.Type.Kind != column.Struct || i < 0 {
			return nil, missing
		}
		v = v.Children[i] // null where the struct is
	}
	return v, scalarField(f.name, v.Type)
}

// Keyless reports whether the table has no record key fields: keys are then generated by the
// writer (docs/format.md: keys).
func (g *Generator) Keyless() bool { return len(g.keys) == 0 }

// RecordKeys makes the record key of each row. A single key field must not be null or empty; of
// several not all may be. Of a keyless table it fails.
func (g *Generator) RecordKeys(b *column.Batch) (*column.Vector, error) {
	if g.Keyless() {
		return nil, errors.New("the table has no record key fields")
	}
	cols := make([]*column.Vector, len(g.keys))
	names := make([]string, len(g.keys))
	for i, k := range g.keys {
		names[i] = k.name
		var err error
		if cols[i], err = k.in(b); err != nil {
			return nil, err
		}
	}
	if !g.prefix && cols[0].Type.Kind == column.String {
		return singleStringKey(cols[0], names[0])
	}
	out := column.NewBuilder(column.Type{Kind: column.String}, b.Len)
	var buf []byte
	for i := range b.Len {
		buf = buf[:0]
		missing := 0
		for c, v := range cols {
			if g.prefix {
				if c > 0 {
					buf = append(buf, ',')
				}
				buf = append(append(buf, names[c]...), ':')
			}
			at := len(buf)
			switch {
			case v.Null(i):
				buf = append(buf, nullKey...)
				missing++
			default:
				if buf = appendValue(buf, v, i); len(buf) == at {
					buf = append(buf, emptyKey...)
					missing++
				}
			}
		}
		if missing == len(cols) {
			return nil, &FieldError{Field: strings.Join(names, ","), Row: i, Fault: "the record key is null or empty"}
		}
		out.AppendBytes(buf)
	}
	return out.Finish(), nil
}

// singleStringKey is the column itself, once it is known to have no null and no empty value.
func singleStringKey(v *column.Vector, name string) (*column.Vector, error) {
	for i := range v.Len {
		if v.Null(i) || len(v.Bytes(i)) == 0 {
			return nil, &FieldError{Field: name, Row: i, Fault: "the record key is null or empty"}
		}
	}
	return v, nil
}

// PartitionPaths makes the partition path of each row, dictionary-coded; "" throughout for a
// non-partitioned table.
func (g *Generator) PartitionPaths(b *column.Batch) (*column.Vector, error) {
	str := column.Type{Kind: column.String}
	if len(g.parts) == 0 {
		return column.Constant(str, nil, b.Len), nil
	}
	cols := make([]*column.Vector, len(g.parts))
	for i, p := range g.parts {
		var err error
		if cols[i], err = p.field.in(b); err != nil {
			return nil, err
		}
	}
	out := &column.Vector{Type: str, Len: b.Len, Dict: &column.Dictionary{}, Codes: make([]uint32, b.Len)}
	paths := pathMaker{g: g, cols: cols, dict: out.Dict, codes: map[string]uint32{}}
	if len(cols) == 1 && cols[0].Dict != nil {
		return out, paths.ofCodes(out.Codes)
	}
	return out, paths.ofRows(out.Codes)
}

// pathMaker collects the distinct paths of a batch.
type pathMaker struct {
	g     *Generator
	cols  []*column.Vector
	dict  *column.Dictionary
	codes map[string]uint32 // of paths
	path  []byte
}

// ofCodes makes one path an entry of the single column's dictionary that a row has.
func (m *pathMaker) ofCodes(out []uint32) error {
	v := m.cols[0]
	known := make([]uint32, v.Dict.Len()+1) // code+1 of the path, by code; the last is for null
	for i := range out {
		entry := v.Dict.Len()
		if !v.Null(i) {
			entry = int(v.Codes[i])
		}
		if known[entry] == 0 {
			code, err := m.row(i)
			if err != nil {
				return err
			}
			known[entry] = code + 1
		}
		out[i] = known[entry] - 1
	}
	return nil
}

// ofRows tells rows apart by their raw values, so that only new combinations are formatted.
func (m *pathMaker) ofRows(out []uint32) error {
	byValue := map[string]uint32{}
	var raw, last []byte
	for i := range out {
		raw = raw[:0]
		for _, v := range m.cols {
			raw = appendRaw(raw, v, i)
		}
		if i > 0 && bytes.Equal(raw, last) { // rows often come partition by partition
			out[i] = out[i-1]
			continue
		}
		code, ok := byValue[string(raw)]
		if !ok {
			var err error
			if code, err = m.row(i); err != nil {
				return err
			}
			byValue[string(raw)] = code
		}
		out[i] = code
		raw, last = last, raw
	}
	return nil
}

// row makes the path of one row and returns its code.
func (m *pathMaker) row(i int) (uint32, error) {
	m.path = m.path[:0]
	for k, v := range m.cols {
		if k > 0 {
			m.path = append(m.path, '/')
		}
		var err error
		if m.path, err = m.g.appendSegment(m.path, &m.g.parts[k], v, i); err != nil {
			return 0, err
		}
	}
	code, ok := m.codes[string(m.path)]
	if !ok {
		code = uint32(m.dict.Len())
		m.dict.Append(m.path)
		m.codes[string(m.path)] = code
	}
	return code, nil
}

// appendSegment appends what one field contributes to the path.
func (g *Generator) appendSegment(dst []byte, p *partitionField, v *column.Vector, i int) ([]byte, error) {
	fail := func(fault string) ([]byte, error) {
		return nil, &FieldError{Field: p.field.name, Row: i, Fault: fault}
	}
	if g.cfg.HiveStyle {
		dst = append(append(dst, p.field.name...), '=')
	}
	at := len(dst)
	switch {
	case p.time != nil:
		var err error
		if dst, err = p.time.append(dst, v, i); err != nil {
			return fail(err.Error())
		}
	case !v.Null(i):
		dst = appendValue(dst, v, i)
	}
	if len(dst) == at {
		return append(dst, defaultPartition...), nil
	}
	if g.cfg.URLEncode {
		dst = escapePath(dst[:at], string(dst[at:]))
	}
	if fault := unsafePath(string(dst[at:]), g.cfg.HiveStyle); fault != "" {
		return fail(fault)
	}
	return dst, nil
}

// unsafePath says why what a value adds to a path could lead out of the table, or to files that
// readers take for something else (I1); "" when nothing is wrong. A slash makes further levels.
func unsafePath(value string, hive bool) string {
	if strings.IndexByte(value, 0) >= 0 {
		return fmt.Sprintf("partition value %q has a NUL byte", value)
	}
	for k, level := range strings.Split(value, "/") {
		if hive && k == 0 && level != "" {
			continue // it follows "field="
		}
		switch {
		case level == "", level == ".", level == "..":
			return fmt.Sprintf("partition value %q cannot be a path", value)
		case level[0] == '.':
			return fmt.Sprintf("partition value %q begins a level with a dot, which would hide it", value)
		}
	}
	return ""
}
