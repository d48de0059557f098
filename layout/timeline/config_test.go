package timeline

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoaldb/shoal/internal/fixtures"
)

func TestChecksum(t *testing.T) {
	// Values of Hudi's own files.
	for _, c := range []struct{ database, table, want string }{
		{"default", "v6_empty", "1980710965"},
		{"default", "v6_nonpartitioned", "1363530505"},
		{"", "hudi_non_part_cow_clustered", "4043259202"},
	} {
		if got := Checksum(c.database, c.table); got != c.want {
			t.Errorf("%s.%s: %s, want %s", c.database, c.table, got, c.want)
		}
	}
}

func TestParseTableConfigDefaults(t *testing.T) {
	c, err := ParseTableConfig(NewProperties(KeyName, "t"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "t" || c.Database != "" || c.Type != CopyOnWrite || c.Version != 0 || c.LayoutVersion != 0 ||
		c.RecordKeyFields != nil || c.PartitionFields != nil || c.PrecombineField != "" || c.KeyGenerator != "" ||
		c.HiveStylePartitioning || c.URLEncodePartition || c.DropPartitionColumns || c.CreateSchema != "" ||
		!c.PopulateMetaFields || c.Timezone != "LOCAL" || c.MetadataPartitions != nil || c.BaseFileFormat != "PARQUET" ||
		c.PayloadClass != "" || c.ArchiveFolder != "archived" || c.Props == nil || c.Location() != time.Local {
		t.Errorf("%+v", c)
	}
}

func TestParseTableConfig(t *testing.T) {
	c, err := ParseTableConfig(NewProperties(
		KeyName, "t", KeyDatabase, "db", KeyType, "merge_on_read", KeyVersion, "6", KeyLayoutVersion, "1",
		KeyRecordKeyFields, "a, b", KeyPartitionFields, "x:SIMPLE,y:timestamp,odd:name", KeyOrderingFields, "ts",
		KeyKeyGeneratorType, "CUSTOM", KeyHiveStylePartitioning, "TRUE", KeyPopulateMetaFields, "false",
		KeyTimezone, "utc", KeyMetadataPartitions, "files,column_stats", KeyMetadataInflight, "record_index",
		KeyBaseFileFormat, "lance", KeyCreateSchema, "{}", KeyArchiveFolder, "old", "hoodie.unknown", "kept"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Type != MergeOnRead || c.Database != "db" || c.Version != 6 || c.LayoutVersion != 1 || c.PrecombineField != "ts" ||
		c.KeyGenerator != "CUSTOM" || !c.HiveStylePartitioning || c.PopulateMetaFields || c.Location() != time.UTC ||
		c.BaseFileFormat != "LANCE" || c.CreateSchema != "{}" || c.ArchiveFolder != "old" {
		t.Errorf("%+v", c)
	}
	for what, got := range map[string][2][]string{
		"record key": {c.RecordKeyFields, {"a", "b"}},
		"partition":  {c.PartitionFields, {"x", "y", "odd:name"}},
		"types":      {c.PartitionTypes, {"SIMPLE", "TIMESTAMP", ""}},
		"metadata":   {c.MetadataPartitions, {"files", "column_stats"}},
		"inflight":   {c.MetadataInflight, {"record_index"}},
	} {
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	if v, ok := c.Props.Get("hoodie.unknown"); v != "kept" || !ok {
		t.Error("an unknown key was lost")
	}
}

func TestParseTableConfigNamesTheKey(t *testing.T) {
	for _, c := range []struct{ key, value string }{
		{KeyName, ""},
		{KeyType, "COPY"},
		{KeyVersion, "six"},
		{KeyVersion, "-1"},
		{KeyVersion, "99999999999"},
		{KeyLayoutVersion, "1.0"},
		{KeyHiveStylePartitioning, "yes"},
		{KeyPopulateMetaFields, "1"},
		{KeyTimezone, "CET"},
		{KeyChecksum, "12"},
	} {
		_, err := ParseTableConfig(NewProperties(KeyName, "t", c.key, c.value))
		var ce *ConfigError
		if !errors.As(err, &ce) || ce.Key != c.key || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s=%s: %v", c.key, c.value, err)
		}
		if errors.Is(err, ErrChecksum) != (c.key == KeyChecksum) {
			t.Errorf("%s=%s: %v", c.key, c.value, err)
		}
	}
	if _, err := ParseTableConfig(&Properties{}); err == nil {
		t.Error("a table without a name")
	}
}

// The values are those of the fixtures' description.
func TestRealTableConfigs(t *testing.T) {
	for _, c := range []struct {
		table     string
		version   int
		typ       string
		keys      string
		partition string
		hive      bool
	}{
		{"v0_impala_hudi_parquet", 0, CopyOnWrite, "", "", false},
		{"v3_stock_ticks", 3, CopyOnWrite, "key", "date", false},
		{"mor_v4_upgrade", 4, MergeOnRead, "id", "partition", false},
		{"v5_cow_pt_tbl", 5, CopyOnWrite, "id", "dt,hh", true},
		{"v5_non_part_clustered", 5, CopyOnWrite, "rowId", "", false},
		{"v6_complexkeygen_hivestyle", 6, CopyOnWrite, "id,name", "byteField,shortField", true},
		{"v6_trips_keyless", 6, CopyOnWrite, "", "city", false},
		{"mor_v8_custom_keygen", 8, MergeOnRead, "", "partition_field_country,partition_field_date", true},
	} {
		p, err := ReadProperties(bg, open(t, fixtures.Table(t, c.table)))
		if err != nil {
			t.Fatalf("%s: %v", c.table, err)
		}
		got, err := ParseTableConfig(p)
		if err != nil {
			t.Fatalf("%s: %v", c.table, err)
		}
		keys := strings.Join(got.RecordKeyFields, ",")
		if c.table == "mor_v8_custom_keygen" {
			keys = ""
		}
		if got.Version != c.version || got.Type != c.typ || keys != c.keys ||
			strings.Join(got.PartitionFields, ",") != c.partition || got.HiveStylePartitioning != c.hive {
			t.Errorf("%s: %+v", c.table, got)
		}
	}
	// All of them, whatever their version, are understood and carry the right checksum.
	for _, name := range fixtures.Tables(t) {
		p, err := ParseProperties(fixtures.Files(t, name, Dir)[propertiesName])
		if err == nil {
			_, err = ParseTableConfig(p)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
