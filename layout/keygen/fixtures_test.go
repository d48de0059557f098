package keygen_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/keygen"
	"github.com/shoaldb/shoal/layout/schema"
	"github.com/shoaldb/shoal/layout/timeline"
)

// TestKeysOfRealTables makes keys and paths anew from the rows of real tables and compares them
// with those that Hudi wrote.
func TestKeysOfRealTables(t *testing.T) {
	compared := 0
	for _, name := range fixtures.Tables(t) {
		if _, err := os.Stat(filepath.Join(fixtures.Dir(t), "expected", name+".jsonl")); err != nil {
			continue // its rows are not kept, being many
		}
		files := fixtures.Files(t, name, ".hoodie")
		s, cfg := tableOf(t, files)
		if s == nil || len(cfg.RecordKey) == 0 {
			continue
		}
		g, err := keygen.New(cfg, s)
		if err != nil {
			if !strings.Contains(cfg.Class, "TestGenerator") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		rows := fixtures.Expected(t, name)
		if len(rows) > 200 {
			rows = rows[:200]
		}
		before := compared
		for _, row := range rows {
			key, hasKey := row[column.MetaRecordKey].(string)
			path, hasPath := row[column.MetaPartitionPath].(string)
			b, ok := batchOf(t, s, cfg, row)
			if !ok || !hasKey || !hasPath {
				continue
			}
			keys, err := g.RecordKeys(b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			paths, err := g.PartitionPaths(b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := string(keys.Bytes(0)); got != key && !strings.HasSuffix(key, ":"+got) {
				t.Errorf("%s: key %q, Hudi wrote %q", name, got, key)
			}
			if got := string(paths.Bytes(0)); got != path {
				t.Errorf("%s: path %q, Hudi wrote %q", name, got, path)
			}
			compared++
			values, ok := keygen.PartitionValues(cfg, s, path)
			for field, v := range values {
				if want := b.Column(field); ok && !want.Null(0) && want.Type.Kind == column.String && string(want.Bytes(0)) != string(v.B) {
					t.Errorf("%s: path %q says %s = %s", name, path, field, v)
				}
			}
		}
		t.Logf("%s: %d rows of %d compared", name, compared-before, len(rows))
	}
	if compared < 100 {
		t.Errorf("only %d rows compared", compared)
	}
}

// tableOf reads the schema and key configuration of a table; a nil schema where there is none.
func tableOf(t *testing.T, files map[string][]byte) (*column.Schema, keygen.Config) {
	t.Helper()
	var commits []string
	for name := range files {
		if strings.HasSuffix(name, "commit") {
			commits = append(commits, name)
		}
	}
	p, err := timeline.ParseProperties(files["hoodie.properties"])
	if err != nil {
		t.Fatal(err)
	}
	m := p.Map()
	list := func(key string) (out []string) {
		for _, x := range strings.Split(m[key], ",") {
			if x != "" {
				out = append(out, x)
			}
		}
		return out
	}
	cfg := keygen.Config{Class: m["hoodie.table.keygenerator.class"], RecordKey: list("hoodie.table.recordkey.fields"),
		Partition: list("hoodie.table.partition.fields"), HiveStyle: m["hoodie.datasource.write.hive_style_partitioning"] == "true",
		URLEncode: m["hoodie.datasource.write.partitionpath.urlencode"] == "true", Properties: m}
	if cfg.Class == "" {
		cfg.Class = m["hoodie.table.keygenerator.type"]
	}
	text := m["hoodie.table.create.schema"]
	slices.Sort(commits)
	for _, c := range commits {
		if data := files[c]; len(data) > 0 && data[0] == '{' {
			if meta, err := timeline.DecodeCommit(data); err == nil && meta.ExtraMetadata[timeline.ExtraSchema] != "" {
				text = meta.ExtraMetadata[timeline.ExtraSchema]
			}
		}
	}
	if text == "" {
		return nil, cfg
	}
	s, err := schema.FromAvro(text)
	if err != nil {
		t.Fatal(err)
	}
	return s, cfg
}

// batchOf makes a batch of a row's key and partition columns; false when the row lacks one, as it
// does where a partition field is no column.
func batchOf(t *testing.T, s *column.Schema, cfg keygen.Config, row map[string]any) (*column.Batch, bool) {
	t.Helper()
	b := &column.Batch{Schema: &column.Schema{}, Len: 1}
	for _, name := range append(slices.Clone(cfg.RecordKey), cfg.Partition...) {
		name, _, _ = strings.Cut(name, ":")
		i := s.IndexFold(name)
		if i < 0 || b.Schema.Index(s.Fields[i].Name) >= 0 {
			continue
		}
		f := s.Fields[i]
		x, ok := row[f.Name]
		if !ok {
			return nil, false
		}
		cb := column.NewBuilder(f.Type, 1)
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		if n, isNumber := x.(json.Number); isNumber && f.Type.Kind == column.String {
			text, _ = json.Marshal(string(n))
		}
		if d, isText := x.(string); isText {
			switch f.Type.Kind {
			case column.Int32, column.Int64, column.Decimal:
				text = []byte(d)
			}
		}
		if err := cb.AppendJSON(text); err != nil {
			return nil, false // a type the fixture writes in its own way
		}
		b.Schema.Fields, b.Cols = append(b.Schema.Fields, f), append(b.Cols, cb.Finish())
	}
	return b, true
}
