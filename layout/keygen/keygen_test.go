package keygen

import (
	"errors"
	"math"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
)

func testSchema() *column.Schema {
	f := func(name string, t column.Type) column.Field {
		return column.Field{Name: name, Type: t, Nullable: true}
	}
	return &column.Schema{Fields: []column.Field{
		f("id", column.Type{Kind: column.Int64}), f("name", column.Type{Kind: column.String}),
		f("day", column.Type{Kind: column.Date}), f("price", column.Type{Kind: column.Decimal, Precision: 10, Scale: 2}),
		f("ts", column.Type{Kind: column.Timestamp}), f("epoch", column.Type{Kind: column.Int64}),
	}}
}

// testRow has one JSON text a column of testSchema.
func testRow(t *testing.T, values ...string) *column.Batch {
	t.Helper()
	s := testSchema()
	b := &column.Batch{Schema: s, Len: 1}
	for i, f := range s.Fields {
		cb := column.NewBuilder(f.Type, 1)
		if err := cb.AppendJSON([]byte(values[i])); err != nil {
			t.Fatal(err)
		}
		b.Cols = append(b.Cols, cb.Finish())
	}
	return b
}

func TestKeysAndPaths(t *testing.T) {
	row := testRow(t, `7`, `"a/b"`, `"2024-02-29"`, `1.50`, `"1970-01-01 00:00:01"`, `1700000000`)
	nulls := testRow(t, `7`, `null`, `null`, `null`, `null`, `null`)
	unix := map[string]string{"hoodie.keygen.timebased.timestamp.type": "UNIX_TIMESTAMP",
		"hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd/HH"}
	for _, c := range []struct {
		name      string
		cfg       Config
		row       *column.Batch
		key, path string
	}{
		{"one key", Config{RecordKey: []string{"id"}}, row, "7", ""},
		{"simple", Config{RecordKey: []string{"ID"}, Partition: []string{"day"}, HiveStyle: true}, row, "7", "day=2024-02-29"},
		{"two keys", Config{RecordKey: []string{"id", "name"}, Partition: []string{"day"}}, row, "id:7,name:a/b", "2024-02-29"},
		{"null in a composite key", Config{RecordKey: []string{"id", "name"}}, nulls, "id:7,name:__null__", ""},
		{"slash makes levels", Config{RecordKey: []string{"id"}, Partition: []string{"name"}}, row, "7", "a/b"},
		{"url-encoded", Config{RecordKey: []string{"id"}, Partition: []string{"name"}, URLEncode: true, HiveStyle: true}, row, "7", "name=a%2Fb"},
		{"null partition", Config{RecordKey: []string{"id"}, Partition: []string{"name", "day"}, HiveStyle: true}, nulls, "7",
			"name=__HIVE_DEFAULT_PARTITION__/day=__HIVE_DEFAULT_PARTITION__"},
		{"decimal and timestamp", Config{RecordKey: []string{"price", "ts"}}, row, "price:1.50,ts:1000000", ""},
		{"complex, one field, bare", Config{Class: "org.apache.hudi.keygen.ComplexKeyGenerator", RecordKey: []string{"id"}, Partition: []string{"day"}}, row, "7", "2024-02-29"},
		{"complex, one field, prefixed", Config{Class: Complex, RecordKey: []string{"id"}, Partition: []string{"day"}, ComplexSingleFieldPrefix: true}, row, "id:7", "2024-02-29"},
		{"timestamp generator", Config{Class: TimestampBased, RecordKey: []string{"id"}, Partition: []string{"epoch"}, Properties: unix}, row, "7", "2023/11/14/22"},
		{"custom", Config{Class: Custom, RecordKey: []string{"id"}, Partition: []string{"name:SIMPLE", "epoch:TIMESTAMP"}, HiveStyle: true,
			Properties: unix}, row, "7", "name=a/b/epoch=2023/11/14/22"},
	} {
		g, err := New(c.cfg, testSchema())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		keys, err := g.RecordKeys(c.row)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		paths, err := g.PartitionPaths(c.row)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if k, p := string(keys.Bytes(0)), string(paths.Bytes(0)); k != c.key || p != c.path {
			t.Errorf("%s: key %q path %q, want %q %q", c.name, k, p, c.key, c.path)
		}
	}
}

func TestBadKeysAndPathsNameTheField(t *testing.T) {
	row := func(id, name string) *column.Batch { return testRow(t, id, name, `null`, `null`, `null`, `null`) }
	for _, c := range []struct {
		cfg Config
		row *column.Batch
	}{
		{Config{RecordKey: []string{"id"}}, row(`null`, `"x"`)},
		{Config{RecordKey: []string{"name"}}, row(`1`, `""`)},
		{Config{RecordKey: []string{"id", "name"}}, row(`null`, `null`)},
		{Config{RecordKey: []string{"id"}, Partition: []string{"name"}}, row(`1`, `"../../etc"`)},
		{Config{RecordKey: []string{"id"}, Partition: []string{"name"}, HiveStyle: true}, row(`1`, `"x/../../../y"`)},
		{Config{RecordKey: []string{"id"}, Partition: []string{"name"}}, row(`1`, `"/abs"`)},
		{Config{RecordKey: []string{"id"}, Partition: []string{"name"}}, row(`1`, `".hoodie"`)},
		{Config{RecordKey: []string{"id"}, Partition: []string{"name"}}, row(`1`, `"a//b"`)},
		{Config{RecordKey: []string{"id"}, Partition: []string{"name"}}, row(`1`, `"a/.hidden"`)},
		{Config{RecordKey: []string{"id"}, Partition: []string{"name"}}, row(`1`, `"a\u0000"`)},
		// Escaping leaves dots alone.
		{Config{RecordKey: []string{"id"}, Partition: []string{"name"}, URLEncode: true}, row(`1`, `".."`)},
		{Config{}, row(`1`, `"x"`)}, // keyless
	} {
		g, err := New(c.cfg, testSchema())
		if err != nil {
			t.Fatal(err)
		}
		_, kerr := g.RecordKeys(c.row)
		_, perr := g.PartitionPaths(c.row)
		var fe *FieldError
		if !g.Keyless() && !errors.As(errors.Join(kerr, perr), &fe) || g.Keyless() && kerr == nil {
			t.Errorf("%+v accepted", c.cfg)
		}
	}
	for _, cfg := range []Config{{Class: "com.example.Mine"}, {RecordKey: []string{"nope"}}, {Partition: []string{"nope"}},
		{Class: TimestampBased, Partition: []string{"epoch"}}} {
		if _, err := New(cfg, testSchema()); err == nil {
			t.Errorf("%+v accepted", cfg)
		}
	}
}

func TestPartitionValuesAreTheInverseWherePathsTell(t *testing.T) {
	s := testSchema()
	v, ok := PartitionValues(Config{Partition: []string{"day", "name"}, HiveStyle: true}, s, "day=1970-01-11/name=x=y")
	if !ok || v["day"].I != 10 || v["day"].Kind != column.Date || string(v["name"].B) != "x=y" {
		t.Fatalf("%v %v", v, ok)
	}
	v, ok = PartitionValues(Config{Partition: []string{"id"}}, s, "42")
	if !ok || v["id"].I != 42 {
		t.Fatalf("%v %v", v, ok)
	}
	for _, c := range []struct {
		cfg  Config
		path string
	}{
		{Config{Partition: []string{"name"}}, "2018/08/31"},                 // one field, three levels
		{Config{Partition: []string{"name", "day"}}, "2018/10/05/10"},       // cannot be split
		{Config{Partition: []string{"name"}}, "12%3A30"},                    // escaped though urlencode is false
		{Config{Partition: []string{"id"}}, "042"},                          // not how the value is written
		{Config{Class: TimestampBased, Partition: []string{"epoch"}}, "20"}, // formatted
		{Config{Partition: []string{"name"}}, "__HIVE_DEFAULT_PARTITION__"}, // null or empty
		{Config{Partition: []string{"nope"}}, "x"},
	} {
		if v, ok := PartitionValues(c.cfg, s, c.path); ok {
			t.Errorf("%v %q: %v", c.cfg.Partition, c.path, v)
		}
	}
	v, ok = PartitionValues(Config{Partition: []string{"id"}, HiveStyle: true}, s, "id=__HIVE_DEFAULT_PARTITION__")
	if !ok || !v["id"].Null {
		t.Fatalf("%v %v", v, ok)
	}
}

func TestClassInference(t *testing.T) {
	for want, c := range map[string][2][]string{
		Nonpartitioned: {{"a", "b"}, nil},
		Simple:         {{"a"}, {"p"}},
		Complex:        {{"a", "b"}, {"p"}},
		Custom:         {{"a"}, {"p:SIMPLE"}},
	} {
		if got := ClassFor(c[0], c[1]); got != want {
			t.Errorf("%v: %s, want %s", c, got, want)
		}
	}
}

func TestFlinkNamesOfGenerators(t *testing.T) {
	for name, want := range map[string]string{
		"org.apache.hudi.keygen.SimpleAvroKeyGenerator": Simple, "ComplexAvroKeyGenerator": Complex,
		"NON_PARTITION_AVRO": Nonpartitioned, "TimestampBasedAvroKeyGenerator": TimestampBased, "CUSTOM_AVRO": Custom,
	} {
		if got, err := resolveClass(Config{Class: name}); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	var ce *ClassError
	if _, err := New(Config{Class: "com.example.Mine"}, testSchema()); !errors.As(err, &ce) || !strings.Contains(err.Error(), "com.example.Mine") {
		t.Errorf("got %v", err)
	}
}

func TestMembersOfStructsAsFields(t *testing.T) {
	fare := column.Type{Kind: column.Struct, Fields: []column.Field{{Name: "currency", Type: column.Type{Kind: column.String}, Nullable: true}}}
	s := &column.Schema{Fields: []column.Field{{Name: "id", Type: column.Type{Kind: column.Int32}}, {Name: "fare", Type: fare, Nullable: true}}}
	id, fares := column.NewBuilder(s.Fields[0].Type, 2), column.NewBuilder(fare, 2)
	id.AppendInt64(1)
	id.AppendInt64(2)
	if err := fares.AppendJSON([]byte(`{"currency":"USD"}`)); err != nil {
		t.Fatal(err)
	}
	fares.AppendNull()
	g, err := New(Config{RecordKey: []string{"id"}, Partition: []string{"fare.currency"}, HiveStyle: true}, s)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := g.PartitionPaths(&column.Batch{Schema: s, Len: 2, Cols: []*column.Vector{id.Finish(), fares.Finish()}})
	if err != nil || string(paths.Bytes(0)) != "fare.currency=USD" || string(paths.Bytes(1)) != "fare.currency=__HIVE_DEFAULT_PARTITION__" {
		t.Errorf("%v, %v", paths, err)
	}
	for _, bad := range []string{"fare", "fare.x", "id.x", "fare.currency.x", "."} {
		if _, err := New(Config{Partition: []string{bad}}, s); err == nil {
			t.Errorf("%s accepted", bad)
		}
	}
}

// TestPathsStayInsideAndTellTheirValues: whatever the values, a path is clean and relative, equal
// values have equal paths in any batch, and what PartitionValues says of a path is true of the row.
func TestPathsStayInsideAndTellTheirValues(t *testing.T) {
	texts := rapid.OneOf(rapid.StringMatching(`[a./=%_ ]{0,6}`), rapid.String(), rapid.Just("__HIVE_DEFAULT_PARTITION__"))
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{HiveStyle: rapid.Bool().Draw(t, "hive"), URLEncode: rapid.Bool().Draw(t, "encode"), RecordKey: []string{"id"},
			Partition: rapid.SampledFrom([][]string{{"name"}, {"name", "id"}, {"id", "day"}, {"day", "name"}}).Draw(t, "fields")}
		s := testSchema()
		b := &column.Batch{Schema: s, Len: 1}
		for _, f := range s.Fields {
			cb := column.NewBuilder(f.Type, 1)
			switch {
			case rapid.IntRange(0, 5).Draw(t, "null") == 0:
				cb.AppendNull()
			case f.Type.Kind == column.String:
				if rapid.Bool().Draw(t, "dict") {
					cb = column.NewDictBuilder(f.Type, 1)
				}
				cb.AppendBytes([]byte(texts.Draw(t, "text")))
			default:
				cb.AppendInt64(rapid.Int64Range(-100, 100).Draw(t, "n"))
			}
			b.Cols = append(b.Cols, cb.Finish())
		}
		g, err := New(cfg, s)
		if err != nil {
			t.Fatal(err)
		}
		paths, err := g.PartitionPaths(b)
		if err != nil {
			return
		}
		p := string(paths.Bytes(0))
		if path.Clean("/"+p) != "/"+p || p == "" || strings.HasPrefix(p, ".") {
			t.Fatalf("path %q", p)
		}
		values, ok := PartitionValues(cfg, s, p)
		if !ok {
			return
		}
		for _, name := range cfg.Partition {
			v, x := b.Column(name), values[name]
			switch {
			case v.Null(0) || x.Null:
				if v.Null(0) != x.Null {
					t.Fatalf("%q: %s is %v", p, name, x)
				}
			case v.Type.Kind == column.String && string(v.Bytes(0)) != string(x.B),
				v.Type.Kind == column.Int64 && v.I64[0] != x.I, v.Type.Kind == column.Date && int64(v.I32[0]) != x.I:
				t.Fatalf("%q: %s is %v", p, name, x)
			}
		}
	})
}

// TestZerosHaveTheirOwnPaths: -0 and 0 are equal, but their text is not.
func TestZerosHaveTheirOwnPaths(t *testing.T) {
	s := &column.Schema{Fields: []column.Field{{Name: "f", Type: column.Type{Kind: column.Float64}}}}
	b := column.NewBuilder(s.Fields[0].Type, 3)
	for _, f := range []float64{0, math.Copysign(0, -1), 0} {
		b.AppendFloat64(f)
	}
	v := b.Finish()
	g, err := New(Config{Partition: []string{"f"}}, s)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := g.PartitionPaths(&column.Batch{Schema: s, Len: 3, Cols: []*column.Vector{v}})
	if err != nil || string(paths.Bytes(0)) != "0.0" || string(paths.Bytes(1)) != "-0.0" || string(paths.Bytes(2)) != "0.0" {
		t.Errorf("%q %q %q, %v", paths.Bytes(0), paths.Bytes(1), paths.Bytes(2), err)
	}
}
