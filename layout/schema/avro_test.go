package schema

import (
	"errors"
	"fmt"
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
		`{"type":"record","name":"r","fields":[{"name":"x","type":"int"},{"name":"x","type":"int"}]}`: "column x: appears twice",
		`{"type":"record","name":"r","namespace":"n","fields":[{"name":"x","type":["null","r"]}]}`:    "record n.r contains itself",
		`{"type":"record","name":"r","fields":[]} {}`:                                                 "text after",
	} {
		_, err := FromAvro(text)
		var ae *AvroError
		if !errors.As(err, &ae) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ToAvro(&column.Schema{}, "my-table", "n"); err == nil || !strings.Contains(err.Error(), "n.my-table") {
		t.Errorf("got %v", err)
	}
	if _, err := ToAvro(&column.Schema{Fields: []column.Field{fieldOf("no way", column.Int32, true)}}, "r", "n"); err == nil || !strings.Contains(err.Error(), "no way") {
		t.Errorf("got %v", err)
	}
}

// Records that each hold the one before twice grow without bound in little text.
func TestFromAvroBoundsTheSizeOfASchema(t *testing.T) {
	record := `{"type":"record","name":"r0","fields":[{"name":"x","type":"int"}]}`
	for i := 1; i < 40; i++ {
		record = fmt.Sprintf(`{"type":"record","name":"r%d","fields":[{"name":"a","type":%s},{"name":"b","type":"r%d"}]}`, i, record, i-1)
	}
	if _, err := FromAvro(record); err == nil {
		t.Error("2^39 columns accepted")
	}
}

func TestFromAvroSpellings(t *testing.T) {
	s, err := FromAvro(`{"type":"record","name":"r","namespace":"n","fields":[
		{"name":"a","type":["int","null"],"doc":"first"},
		{"name":"b","type":{"type":"int","logicalType":"time-millis"}},
		{"name":"c","type":{"type":"enum","name":"colour","symbols":["RED"]}},
		{"name":"d","type":["null","colour"]},
		{"name":"e","type":{"type":"record","name":"o.q","fields":[{"name":"f","type":{"type":"fixed","name":"id","size":4}}]}},
		{"name":"g","type":"o.id"},
		{"name":"h","type":{"type":"bytes","logicalType":"decimal","precision":6}},
		{"name":"i","type":{"type":"array","items":["string","null"]}},
		{"name":"j","type":{"type":"string","logicalType":"uuid"}},
		{"name":"k","type":["null"]},
		{"name":"l","type":{"type":"long","logicalType":"local-timestamp-millis"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	fixed := column.Type{Kind: column.Binary, FixedSize: 4}
	want := &column.Schema{Fields: []column.Field{
		fieldOf("a", column.Int32, true), fieldOf("b", column.Time, false), fieldOf("c", column.String, false), fieldOf("d", column.String, true),
		{Name: "e", Type: column.Type{Kind: column.Struct, Fields: []column.Field{{Name: "f", Type: fixed}}}},
		{Name: "g", Type: fixed},
		{Name: "h", Type: column.Type{Kind: column.Decimal, Precision: 6}},
		{Name: "i", Type: column.Type{Kind: column.List, Fields: []column.Field{fieldOf("element", column.String, true)}}},
		fieldOf("j", column.String, false), fieldOf("k", column.String, true),
		{Name: "l", Type: column.Type{Kind: column.TimestampMilli, Local: true}},
	}}
	if !s.Equal(want) || s.Fields[0].Doc != "first" {
		t.Fatalf("got  %v\nwant %v", s.Fields, want.Fields)
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
