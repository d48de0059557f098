package sqlproc

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/dolthub/vitess/go/vt/sqlparser"
)

func TestSparkTables(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE hudi_table (ts BIGINT, uuid STRING, rider STRING, driver STRING, fare DOUBLE, city STRING) USING HUDI PARTITIONED BY (city);")
	d.exec("CREATE TABLE t (id INT, name STRING, price DOUBLE, ts BIGINT) USING hudi TBLPROPERTIES (type='cow', primaryKey='id', preCombineField='ts');")
	d.exec("CREATE TABLE s (k STRING, n LONG, `order` INT, desc STRING, ts TIMESTAMP) COMMENT 'c' OPTIONS (primaryKey = k, hoodie.clustering.inline = false) USING hudi")
	d.exec("INSERT INTO hudi_table VALUES (1, 'u', 'r', 'd', 1.5, 'sf'), (2, 'v', 'r', 'd', 2.5, 'nyc')")
	d.exec("INSERT INTO s VALUES ('a', 1, 2, 'x', '2024-01-01 00:00:00.123456')")
	d.fails("INSERT INTO s (k) VALUES ('a')", 1062, "a")
	d.want("SELECT uuid, city FROM hudi_table WHERE city = 'sf'", "u | sf")
	d.want("SELECT * FROM s", "a | 1 | 2 | x | 2024-01-01 00:00:00.123456")
	for name, parts := range map[string][]string{
		"hudi_table": {"PARTITION BY KEY (`city`)"},
		"t":          {"PRIMARY KEY (`id`)", `"preCombineField":"ts"`},
		"s":          {`"primaryKey":"k"`, "COMMENT='c'", `"hoodie.clustering.inline":"false"`},
	} {
		create := d.query("SHOW CREATE TABLE " + name)[0][1]
		for _, p := range parts {
			if !strings.Contains(create, p) {
				t.Errorf("%s lacks %s:\n%s", name, p, create)
			}
		}
		d.exec("DROP TABLE " + name)
		d.exec(create)
		if again := d.query("SHOW CREATE TABLE " + name)[0][1]; again != create {
			t.Errorf("%s became\n%s", create, again)
		}
	}
}

func TestSparkTableOfAQuery(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE src (a int, b varchar(5))")
	d.exec("INSERT INTO src VALUES (1,'x'), (2,'y')")
	d.exec("CREATE TABLE q USING hudi PARTITIONED BY (b) TBLPROPERTIES (primaryKey='a') AS SELECT * FROM src")
	d.want("SELECT * FROM q ORDER BY a", "1 | x", "2 | y")
	create := d.query("SHOW CREATE TABLE q")[0][1]
	if !strings.Contains(create, "PRIMARY KEY (`a`)") || !strings.Contains(create, "PARTITION BY KEY (`b`)") || strings.Contains(create, noColumns) {
		t.Error(create)
	}
	d.exec("CREATE TABLE IF NOT EXISTS d.r (c INT) USING hudi AS SELECT a AS c FROM src")
	d.want("SELECT c FROM r ORDER BY c", "1", "2")
}

func TestSparkTableAtALocation(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY)")
	d.exec("INSERT INTO t VALUES (7)")
	table, err := d.w.Table(context.Background(), "d", "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(d.w.Root()+"/there", os.DirFS(table.BasePath())); err != nil {
		t.Fatal(err)
	}
	d.exec("CREATE TABLE u USING hudi LOCATION 'there'")
	d.want("SELECT * FROM u", "7")
}

func TestPartitionBy(t *testing.T) {
	d := open(t)
	for by, want := range map[string]string{
		"KEY (a, b)": "KEY (`a`,`b`)", "HASH (a)": "KEY (`a`)", "LIST COLUMNS (b)": "KEY (`b`)", "LIST (b)": "KEY (`b`)",
	} {
		d.exec("CREATE TABLE t (a int, b varchar(5), c int) PARTITION BY " + by)
		if create := d.query("SHOW CREATE TABLE t")[0][1]; !strings.Contains(create, "PARTITION BY "+want) {
			t.Errorf("%s: %s", by, create)
		}
		d.exec("DROP TABLE t")
	}
	d.fails("CREATE TABLE t (a int) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1))", 1235, "RANGE", "KEY")
	d.fails("CREATE TABLE t (a int) PARTITION BY HASH (a + 1)", 1235, "HASH")
	d.fails("CREATE TABLE t (a int) USING hudi PARTITIONED BY (a) PARTITION BY KEY (a)", 1210, "PARTITIONED BY")
	d.fails("CREATE TABLE t (a int) USING hudi TBLPROPERTIES (type = 'mor')", 1235, "merge-on-read")
	d.fails("CREATE TABLE t (a int) USING delta", 1064)
}

func TestOptions(t *testing.T) {
	d := open(t)
	d.exec("SET hoodie.parquet.max.file.size=1000")
	d.want("SELECT @@hoodie.parquet.max.file.size, @@session.hoodie.parquet.max.file.size", "1000 | 1000")
	d.exec("SET SESSION hoodie.clustering.plan.strategy.sort.columns = city, ts, hoodie.clustering.inline = true")
	d.want("SELECT @@hoodie.clustering.plan.strategy.sort.columns", "city, ts")
	d.exec("SET hoodie.made.up.Key = 'x'")
	got := d.s.Options()
	for k, v := range map[string]string{"hoodie.parquet.max.file.size": "1000", "hoodie.clustering.plan.strategy.sort.columns": "city, ts",
		"hoodie.clustering.inline": "true", "hoodie.made.up.Key": "x"} {
		if got[k] != v {
			t.Errorf("%s = %q, want %q", k, got[k], v)
		}
	}
	d.fails("SELECT @@hoodie.never.named", 1193, "hoodie.never.named")
}

func TestParseOneGivesTheIndexInTheText(t *testing.T) {
	d := open(t)
	p := NewParser(d.procs)
	first, second := "CALL show_commits(table => 't', limit => ?);", " SET hoodie.a = b"
	stmt, next, err := p.ParseOneWithOptions(context.Background(), first+second, sqlparser.ParserOptions{})
	if err != nil || next != len(first) {
		t.Errorf("next statement at %d of %q, %v", next, first+second, err)
	}
	if _, ok := stmt.(sqlparser.InjectedStatement); !ok {
		t.Errorf("%T", stmt)
	}
	stmt, parsed, rest, err := p.ParseWithOptions(context.Background(), first+second, ';', true, sqlparser.ParserOptions{})
	if err != nil || parsed == "" || !strings.Contains(rest, "SET") {
		t.Errorf("%T %q %q %v", stmt, parsed, rest, err)
	}
}
