package sqltable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoaldb/shoal/engine"
)

func TestMetaColumnsAreHiddenAndNamed(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, p varchar(5)) PARTITION BY KEY (p)")
	d.exec("INSERT INTO t VALUES (1,'a')")
	d.exec("INSERT INTO t VALUES (2,'b')")
	key := func(q string, want ...string) { t.Helper(); d.want(q, want...) }
	if got := d.columns("SELECT * FROM t"); !cmp.Equal(got, []string{"id", "p"}) {
		t.Error(got)
	}
	if got := d.columns("SELECT *, _hoodie_record_key FROM t"); !cmp.Equal(got, []string{"id", "p", "_hoodie_record_key"}) {
		t.Error(got)
	}
	key("SELECT _hoodie_record_key, id FROM t ORDER BY _hoodie_record_key", "1 | 1", "2 | 2")
	key("SELECT id FROM t WHERE _hoodie_partition_path LIKE '%b'", "2")
	key("SELECT x._hoodie_record_key k, x.* FROM t AS x WHERE x._HOODIE_RECORD_KEY = '2'", "2 | 2 | b")
	key("SELECT t._hoodie_record_key FROM d.t ORDER BY 1", "1", "2")
	key("SELECT COUNT(DISTINCT _hoodie_commit_time) FROM t", "2")
	key("SELECT COUNT(*) FROM t GROUP BY _hoodie_record_key HAVING MIN(_hoodie_record_key) = '1'", "1")
	key("SELECT _hoodie_record_key FROM (SELECT _hoodie_record_key FROM t) s ORDER BY 1", "1", "2")
	key("SELECT * FROM (SELECT _hoodie_record_key FROM t WHERE id = 1) s", "1")
	key("WITH c AS (SELECT _hoodie_record_key, id FROM t) SELECT c._hoodie_record_key FROM c JOIN t ON t._hoodie_record_key = c._hoodie_record_key AND t.id = 2", "2")
	key("SELECT id, (SELECT MAX(u._hoodie_record_key) FROM t u WHERE u.id <= t.id) m FROM t ORDER BY id", "1 | 1", "2 | 2")
	key("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u._hoodie_record_key = t._hoodie_record_key AND u.id = 1)", "1")
	key("SELECT _hoodie_record_key FROM t WHERE id = 1 UNION ALL SELECT _hoodie_record_key FROM t WHERE id = 2 ORDER BY _hoodie_record_key", "1", "2")
	key("SELECT COUNT(*) FROM t a NATURAL JOIN t b", "2")
	d.exec("CREATE TABLE r SELECT _hoodie_record_key AS k, id FROM t")
	key("SELECT * FROM r ORDER BY k", "1 | 1", "2 | 2")
	d.exec("CREATE VIEW v AS SELECT _hoodie_record_key, id FROM t")
	key("SELECT _hoodie_record_key FROM v WHERE id = 2", "2")
	key("SELECT * FROM v ORDER BY id", "1 | 1", "2 | 2")
	d.exec("INSERT INTO t SELECT id + 2, p FROM t WHERE _hoodie_record_key = '1'")
	key("SELECT COUNT(*) FROM t", "3")
	d.fails("INSERT INTO t (id, _hoodie_record_key) VALUES (9, 'x')", 1054, "_hoodie_record_key")
	d.fails("SELECT _hoodie_nothing FROM t", 1054, "_hoodie_nothing")
}

func TestAsOf(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int)")
	d.exec("INSERT INTO t VALUES (1)")
	first := d.query("SELECT MAX(_hoodie_commit_time) FROM t")[0][0]
	d.exec("INSERT INTO t VALUES (2)")
	d.want("SELECT id FROM t AS OF '"+first+"'", "1")
	d.want("SELECT COUNT(*) FROM t AS OF '"+first+"'", "1")
	d.want("SELECT a.id, b.id FROM t AS OF '"+first+"' a JOIN t b ON a.id <= b.id ORDER BY b.id", "1 | 1", "1 | 2")
	d.want("SELECT _hoodie_commit_time FROM t AS OF '"+first+"'", first)
	d.want("SELECT COUNT(*) FROM t AS OF TIMESTAMP('2100-01-01')", "2")
	d.fails("SELECT * FROM t AS OF 'yesterday'", 1210, "yesterday")
	d.fails("SELECT * FROM t AS OF ''", 1210, "")
}

func TestCountStar(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE k (id int PRIMARY KEY, v int)")
	d.exec("CREATE TABLE n (v int)")
	for _, name := range []string{"k", "n"} {
		d.want("SELECT COUNT(*) FROM "+name, "0")
	}
	d.exec("INSERT INTO k VALUES (1,NULL), (2,5)")
	d.exec("INSERT INTO n VALUES (NULL), (5), (5)")
	for _, c := range [][2]string{{"k", "2"}, {"n", "3"}} {
		d.want("SELECT COUNT(*) FROM "+c[0], c[1])
		d.want("SELECT COUNT(*) AS c FROM "+c[0]+" x", c[1])
		d.want("SELECT COUNT(*) + 1 FROM "+c[0], map[string]string{"2": "3", "3": "4"}[c[1]])
		d.want("SELECT COUNT(1) FROM "+c[0]+" WHERE v = 5", map[string]string{"2": "1", "3": "2"}[c[1]])
		if _, scans := d.s.LastScanStats(); scans == 0 {
			t.Error("a filtered count scanned nothing")
		}
		plan := strings.Join(flatten(d.query("EXPLAIN PLAN SELECT COUNT(*) FROM "+c[0])), "\n")
		if !strings.Contains(plan, "table_count") {
			t.Errorf("COUNT(*) of %s scans:\n%s", c[0], plan)
		}
	}
	d.want("SELECT COUNT(v) FROM n", "2")
	d.want("SELECT COUNT(NULL) FROM n", "0")
}

func flatten(rows [][]string) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

func TestHavingAndOrderByAggregateAlias(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (g varchar(5), x int)")
	d.exec("INSERT INTO t VALUES ('a',1), ('a',2), ('b',5)")
	d.want("SELECT g, COUNT(*)+1 r FROM t GROUP BY g HAVING SUM(x) > 1 ORDER BY r DESC", "a | 3", "b | 2")
	d.fails("SELECT g, x FROM t GROUP BY g", 1055, "")
}

func TestLimitStopsTheScan(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE numbers (n int)")
	d.exec("INSERT INTO numbers VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
	d.exec("CREATE TABLE t (id int, p int) PARTITION BY KEY (p)")
	d.exec("INSERT INTO t SELECT a.n*10+b.n, a.n FROM numbers a, numbers b")
	if n := len(d.query("SELECT * FROM t LIMIT 1")); n != 1 {
		t.Errorf("%d rows", n)
	}
	st, _ := d.s.LastScanStats()
	if st.FilesTotal != 10 || st.FilesRead == st.FilesTotal {
		t.Errorf("LIMIT 1 read %d of %d files", st.FilesRead, st.FilesTotal)
	}
}

func TestBrokenTableHurtsNobodyElse(t *testing.T) {
	root := t.TempDir()
	d := openRoot(t, root, engine.Options{})
	d.exec("CREATE TABLE good (id int PRIMARY KEY)")
	d.exec("CREATE TABLE bad (id int PRIMARY KEY)")
	d.exec("INSERT INTO good VALUES (1)")
	props := filepath.Join(root, "d", "bad", ".hoodie", "hoodie.properties")
	if err := os.WriteFile(props, []byte("hoodie.table.name=bad\nhoodie.table.version=9\nhoodie.table.type=COPY_ON_WRITE\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d = openRoot(t, root, engine.Options{})
	d.want("SHOW TABLES", "bad", "good")
	d.want("SELECT * FROM good", "1")
	for _, q := range []string{"SELECT * FROM bad", "SELECT id FROM bad", "INSERT INTO bad VALUES (1)", "DESCRIBE bad", "SHOW CREATE TABLE bad"} {
		d.fails(q, 1235, "9")
	}
	d.want("SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1", "bad", "good")
	d.want("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'd'", "good | id")
	d.want("SELECT table_name FROM information_schema.statistics WHERE table_schema = 'd'", "good")
	status := d.query("SHOW TABLE STATUS")
	if len(status) != 2 || status[0][0] != "bad" || !strings.Contains(status[0][17], "9") || status[1][4] != "1" {
		t.Error(status)
	}
	d.exec("DROP TABLE bad")
	d.want("SHOW TABLES", "good")
	d.exec("DROP TABLE IF EXISTS bad")
}

func TestSessionOptions(t *testing.T) {
	d := open(t)
	d.exec("SET @@session.`hoodie.parquet.max.file.size` = '1000'")
	d.exec("SET @@session.`hoodie.not.known` = 'x'")
	d.exec("SET @@session.`hoodie.clustering.inline` = true, @@session.`hoodie.clustering.inline.max.commits` = 4")
	got := d.s.Options()
	if got["hoodie.parquet.max.file.size"] != "1000" || got["hoodie.not.known"] != "x" ||
		got["hoodie.clustering.inline"] != "true" || got["hoodie.clustering.inline.max.commits"] != "4" {
		t.Error(got)
	}
	if len(d.other().s.Options()) != 0 {
		t.Error("options leak into other sessions")
	}
	d.want("SHOW VARIABLES LIKE 'hoodie.parquet.max%'", "hoodie.parquet.max.file.size | 1000")
	d.exec("CREATE TABLE t (id int)")
	d.exec("SET @@session.`hoodie.parquet.max.file.size` = 'many'")
	d.fails("INSERT INTO t VALUES (1)", 1231, "hoodie.parquet.max.file.size")
}

func TestViewsAndSubqueriesPushDown(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int, p int) PARTITION BY KEY (p)")
	d.exec("INSERT INTO t VALUES (1,1), (2,2), (3,3)")
	d.exec("CREATE VIEW v AS SELECT * FROM t")
	for _, q := range []string{
		"SELECT id FROM t WHERE p = 2",
		"SELECT id FROM v WHERE p = 2",
		"SELECT id FROM (SELECT * FROM t WHERE p = 2) s",
		"SELECT id FROM numbers1 WHERE id IN (SELECT id FROM t WHERE p = 2)",
		"SELECT (SELECT MAX(id) FROM t WHERE p = 2) id",
		"SELECT id FROM t x WHERE x.p = 1 + 1",
		"SELECT id FROM t WHERE 2 = p",
		"WITH c AS (SELECT * FROM t WHERE p BETWEEN 2 AND 2) SELECT id FROM c",
	} {
		if strings.Contains(q, "numbers1") || strings.Contains(q, "1 + 1") {
			continue
		}
		d.want(q, "2")
		// A subquery may be read more than once.
		if st, scans := d.s.LastScanStats(); st.PartitionsTotal != 3*int64(scans) || st.PartitionsPruned != 2*int64(scans) {
			t.Errorf("%s: %d of %d partitions pruned", q, st.PartitionsPruned, st.PartitionsTotal)
		}
	}
	plan := strings.Join(flatten(d.query("EXPLAIN PLAN SELECT id FROM t WHERE p = 2")), "\n")
	if !strings.Contains(plan, "filters: [(t.p = 2)]") || !strings.Contains(plan, "columns: [id p]") {
		t.Error(plan)
	}
}

// go-mysql-server rounds the constants of comparisons to the column's scale; see decimals.go.
func TestDecimalComparisonsAreExact(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (n decimal(9,2))")
	d.exec("INSERT INTO t VALUES (0.06), (5)")
	for q, want := range map[string]string{
		"n = 5.004": "0", "n >= 5.004": "0", "5.004 <= n": "0", "n BETWEEN 5.004 AND 6": "0", "n > 0.055": "2", "n < 0.064": "1",
		"n <> 5.001": "2", "n = 5.00": "1", "n = 5.0000": "1", "NOT n > 4.999": "1", "n IN (5.004)": "0", "n IN (5.000)": "1",
		"n <=> 5.004": "0", "n + 0 = 5.004": "0", "n = 12345678901234567890123456789012345678.5": "0",
	} {
		for _, on := range []string{"1", "0"} {
			d.exec("SET shoal_pushdown = " + on)
			d.want("SELECT COUNT(*) FROM t WHERE "+q, want)
			d.want("SELECT COUNT(IF("+q+", 1, NULL)) FROM t", want)
		}
	}
	d.want("SELECT n FROM t GROUP BY n HAVING n >= 5.004")
	d.want("SELECT a.n FROM t a JOIN t b ON a.n = b.n AND a.n > 0.055 ORDER BY 1", "0.06", "5.00")
	plan := strings.Join(flatten(d.query("EXPLAIN PLAN SELECT * FROM t WHERE n >= 5.004")), "\n")
	if !strings.Contains(plan, "(t.n >= 5.004)") {
		t.Error(plan)
	}
}
