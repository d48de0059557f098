package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/keygen"
	"github.com/shoaldb/shoal/layout/schema"
	"github.com/shoaldb/shoal/layout/timeline"
)

// CreateTable makes an empty copy-on-write table of version 6. It appears under its name whole or
// not at all.
func (w *Warehouse) CreateTable(ctx context.Context, db, name string, spec TableSpec) (*Table, error) {
	t, err := w.createTable(ctx, db, name, spec)
	if err != nil {
		return nil, &TableError{Database: db, Table: name, Op: "create", Err: err}
	}
	return t, nil
}

func (w *Warehouse) createTable(ctx context.Context, db, name string, spec TableSpec) (*Table, error) {
	e, err := w.makeTable(ctx, db, name, spec)
	if err != nil {
		return nil, err
	}
	return w.Table(ctx, e.database, e.name)
}

// makeTable makes the files of a new table and registers it.
func (w *Warehouse) makeTable(ctx context.Context, db, name string, spec TableSpec) (*tableEntry, error) {
	if err := checkName("table", name); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.lookupDatabase(db)
	if d == nil {
		return nil, &NameError{Kind: ErrNoSuchDatabase, Name: db}
	}
	if d.tables[strings.ToLower(name)] != nil {
		return nil, &NameError{Kind: ErrTableExists, Name: d.name + "." + name}
	}
	if d.dir == "" {
		return nil, fmt.Errorf("%w: database %s has no folder in the warehouse", ErrBadArgument, d.name)
	}
	dir := filepath.Join(d.dir, name)
	if _, err := os.Lstat(dir); err == nil {
		return nil, &NameError{Kind: ErrTableExists, Name: d.name + "." + name, Hint: "the folder " + dir + " exists"}
	}
	props, err := tableProperties(d.name, name, &spec)
	if err != nil {
		return nil, err
	}
	// Made aside and renamed: a crash leaves no half-made table under the name.
	temp := filepath.Join(w.root, privateDir, "new", uuid.NewString())
	if err := os.MkdirAll(temp, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	st, err := w.newStorage(temp)
	if err != nil {
		return nil, err
	}
	if err := timeline.InitLayout(ctx, st, props); err != nil {
		return nil, err
	}
	if err := os.Rename(temp, dir); err != nil {
		return nil, err
	}
	return w.addTable(ctx, d, name, dir, false)
}

// tableProperties is hoodie.properties of a new table (docs/format.md: hoodie.properties).
func tableProperties(db, name string, spec *TableSpec) (*timeline.Properties, error) {
	if len(spec.Schema.Fields) == 0 {
		return nil, fmt.Errorf("%w: a table needs at least one column", ErrBadArgument)
	}
	seen := map[string]bool{}
	for _, f := range spec.Schema.Fields {
		if column.IsMeta(f.Name) {
			return nil, fmt.Errorf("%w: column name %s belongs to Hudi", ErrBadArgument, f.Name)
		}
		if seen[strings.ToLower(f.Name)] {
			return nil, fmt.Errorf("%w: column %s appears twice", ErrBadArgument, f.Name)
		}
		seen[strings.ToLower(f.Name)] = true
	}
	var err error
	if spec.RecordKey, err = canonical(spec.Schema, spec.RecordKey); err != nil {
		return nil, err
	}
	if spec.Partition, err = canonical(spec.Schema, spec.Partition); err != nil {
		return nil, err
	}
	if spec.Precombine != "" {
		c, err := canonical(spec.Schema, []string{spec.Precombine})
		if err != nil {
			return nil, err
		}
		spec.Precombine = c[0]
	}
	record, namespace := avroName(name)
	avro, err := schema.ToAvro(spec.Schema, record, namespace)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadArgument, err)
	}
	p := timeline.NewProperties()
	set := func(k, v string) { p.Set(k, v) }
	set("hoodie.table.name", name)
	set("hoodie.database.name", db)
	set("hoodie.table.type", "COPY_ON_WRITE")
	set("hoodie.table.version", strconv.Itoa(writeVersion))
	set("hoodie.timeline.layout.version", "1")
	set("hoodie.archivelog.folder", "archived")
	if len(spec.RecordKey) > 0 {
		set("hoodie.table.recordkey.fields", strings.Join(spec.RecordKey, ","))
	}
	if len(spec.Partition) > 0 {
		set("hoodie.table.partition.fields", strings.Join(spec.Partition, ","))
	}
	if spec.Precombine != "" {
		set("hoodie.table.precombine.field", spec.Precombine)
	}
	set("hoodie.table.keygenerator.class", "org.apache.hudi.keygen."+keygen.ClassFor(spec.RecordKey, spec.Partition))
	set("hoodie.datasource.write.hive_style_partitioning", "true")
	set("hoodie.datasource.write.partitionpath.urlencode", "false")
	set("hoodie.datasource.write.drop.partition.columns", "false")
	set("hoodie.populate.meta.fields", "true")
	set("hoodie.table.timeline.timezone", "UTC")
	set("hoodie.table.create.schema", avro)
	for _, k := range sortedKeys(spec.Properties) {
		v := spec.Properties[k]
		if fixed, ok := fixedProperties[k]; ok {
			if !strings.EqualFold(fixed, v) {
				return nil, &OptionError{Key: k, Value: v, Allowed: fixed}
			}
			continue
		}
		if derivedProperties[k] {
			return nil, &OptionError{Key: k, Value: v, Allowed: "set by the CREATE TABLE clauses only"}
		}
		set(k, v)
	}
	cfg, err := timeline.ParseTableConfig(p)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadOption, err)
	}
	if _, err := keygen.New(keyConfig(cfg), spec.Schema); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadArgument, err)
	}
	if _, _, err := fileConfig(NewConfig(spec.Properties)); err != nil {
		return nil, err
	}
	return p, nil
}

// fixedProperties may be given, but only with the value that we write.
var fixedProperties = map[string]string{
	"hoodie.table.type":                              "COPY_ON_WRITE",
	"hoodie.table.version":                           strconv.Itoa(writeVersion),
	"hoodie.timeline.layout.version":                 "1",
	"hoodie.archivelog.folder":                       "archived",
	"hoodie.datasource.write.drop.partition.columns": "false",
	"hoodie.table.base.file.format":                  "PARQUET",
}

// derivedProperties follow from other clauses.
var derivedProperties = map[string]bool{
	"hoodie.table.name": true, "hoodie.database.name": true, "hoodie.table.recordkey.fields": true,
	"hoodie.table.partition.fields": true, "hoodie.table.precombine.field": true,
	"hoodie.table.create.schema": true, "hoodie.table.checksum": true,
	"hoodie.table.metadata.partitions": true, "hoodie.table.metadata.partitions.inflight": true,
}

// canonical replaces names by the schema's spelling.
func canonical(sc *column.Schema, names []string) ([]string, error) {
	out := make([]string, len(names))
	for i, n := range names {
		j := sc.IndexFold(n)
		if j < 0 {
			return nil, &NameError{Kind: ErrNoSuchColumn, Name: n}
		}
		out[i] = sc.Fields[j].Name
	}
	return out, nil
}
