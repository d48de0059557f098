package sqltable

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// Table options that a parser adds to those of the grammar.
const (
	optPartitionBy   = "shoal_partition_by"  // comma list of columns
	optTblProperties = "shoal_tblproperties" // JSON object of strings
	optLocation      = "shoal_location"      // path of an existing table
	optAttributes    = "engine_attribute"    // JSON object of strings; MySQL's own
	optComment       = "comment"
)

// optPrimaryKey is the key of the table that LIKE names, in its order.
const optPrimaryKey = "shoal_primary_key"

// Table properties that the package owns.
const (
	// propComment is the table comment.
	propComment = "shoal.table.comment"
	// propCreated lists the properties named by CREATE TABLE, for SHOW CREATE TABLE.
	propCreated = "shoal.table.properties"
)

// definition is a CREATE TABLE.
type definition struct {
	name    string
	schema  sql.PrimaryKeySchema
	options map[string]any // by lower-case name
	indexes sql.IndexDefs
	foreign []*sql.ForeignKeyConstraint
	checks  sql.CheckConstraints
}

// createTable makes a table, or attaches the one at LOCATION.
func (d *Database) createTable(ctx *sql.Context, def definition) error {
	if _, ok, err := d.GetViewDefinition(ctx, def.name); err != nil {
		return err
	} else if ok {
		return &engine.NameError{Kind: engine.ErrTableExists, Name: def.name, Hint: "it is a view"}
	}
	if path := def.option(optLocation); path != "" {
		_, err := d.p.w.AttachTable(ctx, d.name, def.name, path)
		return err
	}
	if err := def.refuse(ctx); err != nil {
		return err
	}
	spec, unknown, err := def.spec()
	if err != nil {
		return err
	}
	if _, err := d.p.w.CreateTable(ctx, d.name, def.name, spec); err != nil {
		return err
	}
	if len(unknown) > 0 {
		ctx.Session.Warn(&sql.Warning{Level: "Warning", Code: erWrongValueForVar,
			Message: "Unknown table properties are kept and have no effect here: " + strings.Join(unknown, ", ")})
	}
	sessionOf(ctx).release()
	return nil
}

func (def definition) option(name string) string {
	s, _ := def.options[name].(string)
	return s
}

// refuse rejects what a table cannot keep.
func (def definition) refuse(ctx *sql.Context) error {
	no := func(what, why, hint string) error {
		return &engine.UnsupportedError{What: what + " in table " + def.name, Why: why, Hint: hint}
	}
	for _, c := range def.schema.Schema {
		switch {
		case column.IsMeta(c.Name):
			return fmt.Errorf("%w: column name %s is reserved", engine.ErrBadArgument, c.Name)
		case c.AutoIncrement:
			return no("AUTO_INCREMENT of column "+c.Name, "keys are not counted across files", "leave the PRIMARY KEY out to have keys generated, or use UUID()")
		case c.Generated != nil:
			return no("generated column "+c.Name, "tables store columns only as they are written", "use a view")
		case c.OnUpdate != nil:
			return no("ON UPDATE of column "+c.Name, "", "")
		}
	}
	if len(def.foreign) > 0 {
		return no("FOREIGN KEY", "references are not checked", "leave the constraint out")
	}
	if len(def.checks) > 0 {
		return no("CHECK", "conditions are not checked", "leave the constraint out")
	}
	for _, i := range def.indexes {
		switch {
		case i.IsPrimary():
		case i.IsUnique():
			return no("UNIQUE", "only the record key is unique", "use PRIMARY KEY")
		default:
			ctx.Session.Warn(&sql.Warning{Level: "Note", Code: erNotSupportedYet,
				Message: fmt.Sprintf("Index %s is left out: files are skipped by statistics, cluster the table by its columns instead", i.Name)})
		}
	}
	return nil
}

// spec turns the definition into the engine's. unknown are property names nobody knows.
func (def definition) spec() (spec engine.TableSpec, unknown []string, err error) {
	spec = engine.TableSpec{Schema: &column.Schema{}, Properties: map[string]string{}}
	props, err := def.properties()
	if err != nil {
		return spec, nil, err
	}
	if key := def.option(optPrimaryKey); key != "" {
		if spec.RecordKey, err = def.columns("LIKE", key); err != nil {
			return spec, nil, err
		}
	} else {
		for _, i := range def.schema.PkOrdinals {
			spec.RecordKey = append(spec.RecordKey, def.schema.Schema[i].Name)
		}
	}
	if unknown, err = props.apply(&spec, def); err != nil {
		return spec, nil, err
	}
	isKey := map[string]bool{}
	for _, k := range spec.RecordKey {
		isKey[k] = true
	}
	for _, c := range def.schema.Schema {
		f, text, err := storedColumn(c, isKey[c.Name])
		if err != nil {
			return spec, nil, err
		}
		if spec.Schema.IndexFold(f.Name) >= 0 {
			return spec, nil, sql.ErrDuplicateColumn.New(f.Name)
		}
		spec.Schema.Fields = append(spec.Schema.Fields, f)
		if text != "" {
			spec.Properties[columnProperty(c.Name)] = text
		}
	}
	if c := def.option(optComment); c != "" && !isOption(c) {
		spec.Properties[propComment] = c
	}
	if len(spec.Schema.Fields) == 0 {
		return spec, nil, fmt.Errorf("%w: table %s has no columns", engine.ErrBadArgument, def.name)
	}
	return spec, unknown, nil
}

// storedColumn is the engine's column for a MySQL one, and its definition where that says more.
func storedColumn(c *sql.Column, key bool) (column.Field, string, error) {
	typ := c.Type
	if t, ok := typ.(sql.TypeWithCollation); ok && t.Collation() == sql.Collation_Unspecified {
		var err error
		if typ, err = t.WithNewCollation(sql.Collation_Default); err != nil {
			return column.Field{}, "", err
		}
	}
	t, err := columnType(c.Name, typ)
	if err != nil {
		return column.Field{}, "", err
	}
	f := column.Field{Name: c.Name, Type: t, Nullable: c.Nullable && !key, Doc: c.Comment}
	d := declaration{Type: typ}
	if c.Default != nil && c.Default.String() != "NULL" {
		d.Default = c.Default.String()
	}
	text := d.String()
	if text == typeText(sqlType(t, key)) {
		return f, "", nil
	}
	if _, err := parseDeclaration(text); err != nil {
		return f, "", &engine.UnsupportedError{What: fmt.Sprintf("column %s %s", c.Name, text), Why: "its definition cannot be kept: " + err.Error()}
	}
	return f, text, nil
}

// properties are the table properties a CREATE TABLE names, wherever it names them.
type properties map[string]string

func (def definition) properties() (properties, error) {
	props := properties{}
	if c := def.option(optComment); isOption(c) {
		m, err := engine.ParseOptions(c)
		if err != nil {
			return nil, err
		}
		for k, v := range m {
			props[k] = v
		}
	}
	for _, opt := range []string{optAttributes, optTblProperties} {
		text := def.option(opt)
		if text == "" {
			continue
		}
		var m map[string]any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber() // sizes keep their digits
		if err := dec.Decode(&m); err != nil {
			return nil, fmt.Errorf("%w: %s is not a JSON object: %w", engine.ErrBadArgument, strings.ToUpper(opt), err)
		}
		for k, v := range m {
			props[k] = fmt.Sprint(v)
		}
	}
	return props, nil
}

// take removes a property under any of its names, without regard to case.
func (p properties) take(names ...string) (string, bool) {
	for _, n := range names {
		for k, v := range p {
			if strings.EqualFold(k, n) {
				delete(p, k)
				return strings.TrimSpace(v), true
			}
		}
	}
	return "", false
}

// apply sorts the properties into the spec: Hudi's short spellings and the keys that the spec has
// fields for, and the rest as they are.
func (p properties) apply(spec *engine.TableSpec, def definition) (unknown []string, err error) {
	if t, ok := p.take("type", "hoodie.table.type", "hoodie.datasource.write.table.type"); ok {
		switch strings.ToLower(t) {
		case "cow", "copy_on_write":
		case "mor", "merge_on_read":
			return nil, &engine.UnsupportedError{What: "table type " + t, Why: "merge-on-read tables are not written", Hint: "use type = 'cow'"}
		default:
			return nil, &engine.OptionError{Key: "type", Value: t, Allowed: "cow"}
		}
	}
	if k, ok := p.take("primaryKey", "hoodie.table.recordkey.fields", "hoodie.datasource.write.recordkey.field"); ok {
		key, err := def.columns("primaryKey", k)
		if err != nil {
			return nil, err
		}
		if len(spec.RecordKey) > 0 && strings.Join(key, ",") != strings.Join(spec.RecordKey, ",") {
			return nil, &engine.OptionError{Key: "primaryKey", Value: k, Allowed: "what PRIMARY KEY says: " + strings.Join(spec.RecordKey, ",")}
		}
		spec.RecordKey = key
	}
	if f, ok := p.take("preCombineField", "hoodie.table.precombine.field", "hoodie.datasource.write.precombine.field"); ok && f != "" {
		cols, err := def.columns("preCombineField", f)
		if err != nil {
			return nil, err
		}
		spec.Precombine = cols[0]
	}
	by := def.option(optPartitionBy)
	if f, ok := p.take("hoodie.table.partition.fields", "hoodie.datasource.write.partitionpath.field"); ok && by == "" {
		by = f
	}
	if spec.Partition, err = def.columns("PARTITION BY", by); err != nil {
		return nil, err
	}
	var named []string
	for k, v := range p {
		spec.Properties[k] = v
		named = append(named, k)
		if !knownProperty(k) {
			unknown = append(unknown, k)
		}
	}
	sort.Strings(named)
	sort.Strings(unknown)
	spec.Properties[propCreated] = strings.Join(named, ",")
	return unknown, nil
}

// columns resolves a comma list of column names.
func (def definition) columns(what, list string) ([]string, error) {
	var out []string
	for _, n := range strings.Split(list, ",") {
		n = strings.Trim(strings.TrimSpace(n), "`")
		if n == "" {
			continue
		}
		i := def.schema.Schema.IndexOfColName(n)
		if i < 0 {
			return nil, &engine.NameError{Kind: engine.ErrNoSuchColumn, Name: n, Hint: "named by " + what + " of table " + def.name}
		}
		out = append(out, def.schema.Schema[i].Name)
	}
	return out, nil
}

// knownProperty reports whether a property means something to ShoalDB or to every Hudi reader.
func knownProperty(k string) bool {
	for _, known := range optionKeys {
		if k == known {
			return true
		}
	}
	for _, prefix := range []string{"shoal.", "hoodie.table.", "hoodie.datasource.", "hoodie.populate.meta.fields",
		"hoodie.partition.metafile.", "hoodie.keygen.", "hoodie.deltastreamer.keygen.", "hoodie.parquet.", "hoodie.index.", "hoodie.clustering."} {
		if strings.HasPrefix(k, prefix) {
			return true
		}
	}
	return false
}
