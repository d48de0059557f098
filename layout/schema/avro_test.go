package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/timeline"
)

func fieldOf(name string, k column.Kind, nullable bool) column.Field {
	return column.Field{Name: name, Type: column.Type{Kind: k}, Nullable: nullable}
}

func TestToAvroWritesWhatHudiWrites(t *testing.T) {
	s := &column.Schema{Fields: []column.Field{
		fieldOf("id", column.Int64, false),
		{Name: "price", Type: column.Type{Kind: column.Decimal, Precision: 10, Scale: 2}, Nullable: true},
		fieldOf("ts", column.Timestamp, true),
	}}
	got, err := ToAvro(s, "t_record", "hoodie.t")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[{"name":"id","type":"long"},` +
		`{"name":"price","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.price","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},` +
		`{"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null}]}`
	if got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// everyKind has each type, nested ones in several depths.
func everyKind() *column.Schema {
	inner := column.Type{Kind: column.Struct, Fields: []column.Field{
		fieldOf("a", column.Int32, true),
		{Name: "d", Type: column.Type{Kind: column.Decimal, Precision: 38, Scale: 10}, Nullable: true},
	}}
	return &column.Schema{Fields: []column.Field{
		fieldOf("b", column.Bool, false), fieldOf("i", column.Int32, true), fieldOf("l", column.Int64, true),
		fieldOf("f", column.Float32, true), fieldOf("d", column.Float64, true), fieldOf("s", column.String, true),
		fieldOf("bin", column.Binary, true), fieldOf("dt", column.Date, true), fieldOf("tm", column.Time, true),
		fieldOf("ts", column.Timestamp, true), fieldOf("ms", column.TimestampMilli, true),
		{Name: "lts", Type: column.Type{Kind: column.Timestamp, Local: true}, Nullable: true},
		{Name: "fx", Type: column.Type{Kind: column.Binary, FixedSize: 12}, Nullable: true},
		{Name: "list", Type: column.Type{Kind: column.List, Fields: []column.Field{{Name: "element", Type: inner, Nullable: true}}}, Nullable: true},
		{Name: "map", Type: column.Type{Kind: column.Map, Fields: []column.Field{
			fieldOf("key", column.String, false), {Name: "value", Type: inner, Nullable: true}}}, Nullable: true},
		{Name: "st", Type: column.Type{Kind: column.Struct, Fields: []column.Field{{Name: "in", Type: inner, Nullable: true}}}},
	}}
}

func TestAvroRoundTrip(t *testing.T) {
	s := everyKind()
	text, err := ToAvro(s, "t_record", "hoodie.t")
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromAvro(text)
	if err != nil {
		t.Fatal(err)
	}
	if !back.Equal(s) {
		t.Fatalf("got  %v\nwant %v", back.Fields, s.Fields)
	}
}

func TestFromAvroReadsSchemasOfRealTables(t *testing.T) {
	for _, name := range fixtures.Tables(t) {
		for file, data := range fixtures.Files(t, name, ".hoodie") {
			if !strings.HasSuffix(file, ".commit") && !strings.HasSuffix(file, ".replacecommit") || len(data) == 0 || data[0] != '{' {
				continue
			}
			m, err := timeline.DecodeCommit(data)
			if err != nil {
				t.Fatal(err)
			}
			text := m.ExtraMetadata[timeline.ExtraSchema]
			if text == "" {
				continue
			}
			s, err := FromAvro(text)
			if err != nil {
				t.Errorf("%s/%s: %v", name, file, err)
				continue
			}
			again, err := ToAvro(s, "r", "n")
			if err != nil {
				t.Errorf("%s/%s: %v", name, file, err)
				continue
			}
			if back, err := FromAvro(again); err != nil || !back.Equal(s) {
				t.Errorf("%s/%s does not survive a round trip: %v", name, file, err)
			}
		}
	}
}

func TestFromAvroNamesWhatItRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`nonsense`: "not JSON",
		`"long"`:   "not a record",
		`{"type":"record","name":"r","fields":[{"name":"x","type":["int","string"]}]}`:                                                   "column x",
		`{"type":"record","name":"r","fields":[{"name":"x","type":{"type":"record","name":"q","fields":[{"name":"y","type":"what"}]}}]}`: "column x.y",
		`{"type":"record","name":"r","fields":[{"name":"x","type":{"type":"bytes","logicalType":"decimal","precision":50,"scale":2}}]}`:  "column x",
		`{"type":"record","name":"r"}`:               "without fields",
		`{"type":"record","name":"r","fields":[{}]}`: "without a name",
	} {
		_, err := FromAvro(text)
		var ae *AvroError
		if !errors.As(err, &ae) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ToAvro(&column.Schema{Fields: []column.Field{fieldOf("no way", column.Int32, true)}}, "r", "n"); err == nil || !strings.Contains(err.Error(), "no way") {
		t.Errorf("got %v", err)
	}
}

func FuzzFromAvro(f *testing.F) {
	text, _ := ToAvro(everyKind(), "r", "n")
	f.Add(text)
	f.Add(`{"type":"record","name":"r","fields":[{"name":"x","type":"r"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := FromAvro(text)
		if err != nil {
			return
		}
		if out, err := ToAvro(s, "r", "n"); err == nil {
			if back, err := FromAvro(out); err != nil || len(back.Fields) != len(s.Fields) {
				t.Fatalf("%q became %q: %v", text, out, err)
			}
		}
	})
}
