package sqltable

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/internal/fixtures"
)

// attach opens an engine with one fixture table as d.t.
func attach(t *testing.T, name string) *db {
	path := fixtures.Table(t, name)
	d := openRoot(t, t.TempDir(), engine.Options{AllowPaths: []string{"/"}})
	if _, err := d.w.AttachTable(d.context(), "d", "t", path); err != nil {
		d.t.Log(err)
	}
	return d
}

func TestRealTables(t *testing.T) {
	for _, c := range []struct {
		name string
		rows int
		sum  string // of the rows' partition paths and keys
	}{
		{"v5_cow_pt_tbl", 2, "1c1ae754d2a3833b"},
		{"v5_non_part_clustered", 3, "935fc5657cc70356"},
		{"v6_complexkeygen_hivestyle", 4, "d27edc170e37338a"},
		{"v6_dfs_source_nested_table", 50, "332b91c7033c88c4"},
		{"v6_empty", 0, "e3b0c44298fc1c14"},
		{"v6_logical_types", 20, "8a4af86b1f1ad5e7"},
		{"v6_nonpartitioned", 4, "855044cfc20bc879"},
		{"v6_simplekeygen_nonhivestyle", 4, "dd28e51bef75f2a7"},
		{"v6_trips_keyless", 5, "4e1283dee28bf531"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := attach(t, c.name)
			d.want("SELECT COUNT(*) FROM t", fmt.Sprint(c.rows))
			var keys []string
			for _, r := range d.query("SELECT _hoodie_partition_path, _hoodie_record_key FROM t") {
				keys = append(keys, r[0]+","+r[1]+"\n")
			}
			sort.Strings(keys)
			h := sha256.Sum256([]byte(strings.Join(keys, "")))
			if got := hex.EncodeToString(h[:])[:16]; got != c.sum {
				t.Errorf("key sum %s, want %s", got, c.sum)
			}
			if n := len(d.query("SELECT * FROM t")); n != c.rows {
				t.Errorf("SELECT * gave %d rows", n)
			}
			create := d.query("SHOW CREATE TABLE t")[0][1]
			d.exec(strings.Replace(create, "`t`", "`again`", 1))
			if again := d.query("SHOW CREATE TABLE again")[0][1]; again != strings.Replace(create, "`t`", "`again`", 1) {
				t.Errorf("%s\nbecame\n%s", create, again)
			}
			if n := d.exec("INSERT INTO again SELECT * FROM t"); int(n) != c.rows {
				t.Errorf("%d rows copied", n)
			}
			if len(d.query("SELECT * FROM t x JOIN again y USING ("+firstColumn(d)+")")) == 0 && c.rows > 0 {
				t.Error("the copy joins with nothing")
			}
		})
	}
}

func firstColumn(d *db) string { return "`" + d.columns("SELECT * FROM t")[0] + "`" }

func TestRealValues(t *testing.T) {
	d := attach(t, "v6_nonpartitioned")
	d.want("SELECT name, isActive, byteField, longField, floatField, doubleField, decimalField, dateField, timestampField, binaryField, structField FROM t WHERE id = 2",
		`Bob | 0 | 0 | 9876543210 | 2 | 2.71828 | 67890.12345 | 2023-04-02 | 2023-04-02 18:02:00.000000 | more binary data | {"field1":"Bob","field2":40,"child_struct":{"child_field1":789.012,"child_field2":false}}`)
	d.want("SELECT JSON_EXTRACT(structField, '$.child_struct.child_field2') FROM t WHERE id = 4", "true")
	d.want("SELECT id FROM t WHERE dateField >= '2023-04-03' AND isActive ORDER BY id", "3", "4")
	d.want("SELECT id FROM t WHERE timestampField = '2023-04-01 17:01:00'", "1")
	d.want("SELECT id FROM t WHERE decimalField > 60000 AND name LIKE 'D%'", "4")
	d.want("SELECT id FROM t AS OF '20240418173550988' WHERE name = 'Alice'", "1")
	d.want("SHOW COLUMNS FROM t LIKE 'id'", "id | int | NO | PRI | NULL | ")
}

func TestTablesThatAreRefused(t *testing.T) {
	for _, name := range []string{"v8_nonpartitioned", "v9_logical_types", "mor_v6_nonpartitioned", "v9_lance_nonpartitioned"} {
		t.Run(name, func(t *testing.T) {
			d := attach(t, name)
			_, _, err := d.run(d.context(), "SELECT * FROM t")
			if err == nil {
				t.Fatal("no error")
			}
		})
	}
}

func TestInsertIntoNestedColumns(t *testing.T) {
	d := attach(t, "v6_nonpartitioned")
	d.exec(`INSERT INTO t (id, name, arrayField, mapField, structField) VALUES (9, 'Eve', '[{"arr_struct_f1": "x", "arr_struct_f2": 1}, null]',
	  '{"k": {"map_field_value_struct_f1": 1.5, "map_field_value_struct_f2": true}}',
	  JSON_OBJECT('field1', 'E', 'field2', 1, 'child_struct', JSON_OBJECT('child_field1', 2.5, 'child_field2', false)))`)
	d.want("SELECT arrayField, mapField, structField, longField FROM t WHERE id = 9",
		`[{"arr_struct_f1":"x","arr_struct_f2":1},null] | {"k":{"map_field_value_struct_f1":1.5,"map_field_value_struct_f2":true}} | `+
			`{"field1":"E","field2":1,"child_struct":{"child_field1":2.5,"child_field2":false}} | NULL`)
	d.want("SELECT COUNT(*) FROM t", "5")
	d.fails(`INSERT INTO t (id, structField) VALUES (10, '{"field2": "many"}')`, 1210, "structField")
	d.fails(`INSERT INTO t (id, structField) VALUES (10, '[1]')`, 1210, "structField")
	d.fails(`INSERT INTO t (id, structField) VALUES (10, '{')`, 3140, "")
	d.want("SELECT COUNT(*) FROM t", "5")
}
