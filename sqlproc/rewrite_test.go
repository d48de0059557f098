package sqlproc

import (
	"strings"
	"testing"
)

// readable shows marks and carriers in a form that tests can spell.
func readable(s string) string {
	s = strings.ReplaceAll(s, namedMark, "named:")
	return strings.ReplaceAll(s, carrierMark, "carrier:")
}

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"CALL p(a => 1, b=>'x', `order` => NULL, 5)", "CALL p('named:a', 1, 'named:b','x', 'named:order', NULL, 5)"},
		{"call d.p(table => ?, x => (1 + 2), ?)", "call d.p('named:table', ?, 'named:x', (1 + 2), ?)"},
		{"CALL system.run_clustering(table => 't')", "CALL run_clustering('named:table', 't')"},
		{"CALL p(a => 'x => y', \"b => c\", /* d => 1 */ e => 2) -- f => 3", "CALL p('named:a', 'x => y', \"b => c\", /* d => 1 */ 'named:e', 2) -- f => 3"},
		{"/*! CALL p(a => 1) */", "/*! CALL p('named:a', 1) */"},
		{"CALL p(a => 1); SELECT '=>'; CALL q(b => 2)", "CALL p('named:a', 1); SELECT '=>'; CALL q('named:b', 2)"},
		{"CALL p(f(a => 1))", "CALL p(f(a => 1))"},
		{"SELECT 'CALL p(a => 1)'", "SELECT 'CALL p(a => 1)'"},
		{"CALL p(a <=> 1)", "CALL p(a <=> 1)"},
		{"CALL p('it''s \\' a => 1', b => 2)", "CALL p('it''s \\' a => 1', 'named:b', 2)"},
		{"CALL p(a => 'open", "CALL p(a => 'open"},
		{"CALL p(v => @@hoodie.a.b)", "CALL p('named:v', @@session.`hoodie.a.b`)"},

		{"SET hoodie.a.b=v", "SET @@session.`hoodie.a.b`='v'"},
		{"SET hoodie.a.b = org.apache.X", "SET @@session.`hoodie.a.b` = 'org.apache.X'"},
		{"SET SESSION hoodie.a = 1, GLOBAL hoodie.b = 'q', x = 3", "SET @@session.`hoodie.a` = '1', @@global.`hoodie.b` = 'q', x = 3"},
		{"SET hoodie.a = city, ts", "SET @@session.`hoodie.a` = 'city, ts'"},
		{"SET hoodie.a = city, @@hoodie.b = 2", "SET @@session.`hoodie.a` = 'city', @@session.`hoodie.b` = '2'"},
		{"SET @@hoodie.a.b := true; SET x = 1", "SET @@session.`hoodie.a.b` := 'true'; SET x = 1"},
		{"SET `hoodie.a.b` = ?, hoodie.c = NULL, hoodie.d = DEFAULT", "SET @@session.`hoodie.a.b` = ?, @@session.`hoodie.c` = NULL, @@session.`hoodie.d` = DEFAULT"},
		{"SET hoodie.a = CONCAT('a', 'b'), hoodie.c = -1", "SET @@session.`hoodie.a` = CONCAT('a', 'b'), @@session.`hoodie.c` = '-1'"},
		{"SET @@GLOBAL.hoodie.a = @@hoodie.b", "SET @@GLOBAL.`hoodie.a` = @@session.`hoodie.b`"},
		{"SET shoal.x.y = 5", "SET @@session.`shoal.x.y` = '5'"},
		{"SET names utf8mb4 /* hoodie.a = b */", "SET names utf8mb4 /* hoodie.a = b */"},
		{"SELECT @@hoodie.a.b, @@session.hoodie.c, @@global.`hoodie.d`, hoodie.a FROM hoodie", "SELECT @@session.`hoodie.a.b`, @@session.`hoodie.c`, @@global.`hoodie.d`, hoodie.a FROM hoodie"},

		{"CREATE TABLE t (a INT) COMMENT 'using hudi'", "CREATE TABLE t (a INT) COMMENT 'using hudi'"},
		{"CREATE TABLE t (a STRING) USING parquet -- hudi", "CREATE TABLE t (a STRING) USING parquet -- hudi"},
		{"CREATE TABLE t (a INT) USING hudi PARTITIONED BY (?)", "CREATE TABLE t (a INT) USING hudi PARTITIONED BY (?)"},
		{"CREATE TABLE t (a INT) USING hudi PARTITIONED BY (b STRING)", "CREATE TABLE t (a INT) USING hudi PARTITIONED BY (b STRING)"},
		{"CREATE TABLE t USING hudi", "CREATE TABLE t USING hudi"},
		{"CREATE VIEW v AS SELECT @@hoodie.a.b", "CREATE VIEW v AS SELECT @@session.`hoodie.a.b`"},
		{"INSERT INTO t VALUES ('hoodie.a', '@@hoodie.a')", "INSERT INTO t VALUES ('hoodie.a', '@@hoodie.a')"},
	} {
		got := Rewrite(c.in)
		if readable(got) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, readable(got), c.want)
		}
		if again := Rewrite(got); again != got {
			t.Errorf("%s\nagain %s", got, again)
		}
	}
}

func TestRewriteCreate(t *testing.T) {
	for _, c := range []struct {
		in, want string // carriers decoded
	}{
		{"CREATE TABLE hudi_table (ts BIGINT, uuid STRING, fare DOUBLE, city STRING) USING HUDI PARTITIONED BY (city);",
			`CREATE TABLE hudi_table (` + "`ts` BIGINT, `uuid` LONGTEXT, `fare` DOUBLE, `city` LONGTEXT" + `) {"partitionBy":["city"]} ;`},
		{"CREATE TABLE t (id INT, ts LONG) USING hudi TBLPROPERTIES (type='cow', primaryKey = 'id', hoodie.a.b = 5, 'x y' = \"it's\")",
			"CREATE TABLE t (`id` INT, `ts` BIGINT) " + `{"properties":{"hoodie.a.b":"5","primaryKey":"id","type":"cow","x y":"it's"}} `},
		{"create table if not exists d.t (id INT COMMENT 'using hudi', s STRING NOT NULL, n DECIMAL(10,2)) comment 'c' options (a=b) partitioned by (`s`, n) using `hudi` AS SELECT 1, ?",
			"create table if not exists d.t (`id` INT COMMENT 'using hudi', `s` LONGTEXT NOT NULL, `n` DECIMAL(10,2)) comment 'c' " +
				`{"partitionBy":["s","n"],"properties":{"a":"b"}}   AS SELECT 1, ?`},
		{"CREATE EXTERNAL TABLE t USING org.apache.hudi LOCATION '/a/b'",
			`CREATE  TABLE t (shoal_no_columns INT) {"location":"/a/b","noColumns":true} `},
		{"CREATE TABLE t USING hudi TBLPROPERTIES (primaryKey='a') AS SELECT 1 AS a",
			`CREATE TABLE t (PRIMARY KEY (shoal_no_columns)) {"properties":{"primaryKey":"a"},"noColumns":true}  AS SELECT 1 AS a`},
		{"CREATE TABLE t COMMENT 'c' USING hudi AS SELECT 1",
			`CREATE TABLE t (PRIMARY KEY (shoal_no_columns)) COMMENT 'c' {"noColumns":true} AS SELECT 1`},
	} {
		got := Rewrite(c.in)
		if d := decodeCarriers(t, got); d != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, d, c.want)
		}
		if again := Rewrite(got); again != got {
			t.Errorf("%s\nagain %s", got, again)
		}
	}
}

func FuzzRewrite(f *testing.F) {
	for _, s := range []string{
		"CALL p(a => 1, `b` => 'x', ?)", "CALL system.p(/*x*/ a => ?)", "/*!40101 SET hoodie.a = b, c */;",
		"SET SESSION hoodie.a.b = c, d; SELECT @@hoodie.x, @@global.`hoodie.y`",
		"CREATE TABLE t (a STRING, b LONG) USING hudi PARTITIONED BY (a) TBLPROPERTIES (k='v', x.y = 1) LOCATION '/x' COMMENT 'c' AS SELECT ?",
		"CREATE TABLE t COMMENT 'a' USING hudi LOCATION 'x'", "CREATE EXTERNAL TABLE `a`.`b` USING hudi AS SELECT 1",
		"CALL p(a => 'it''s', \"q\\\"\" , b=>-1) -- x => 1\n; CALL q(#\n c => 2)", "CALL p(", "CREATE TABLE t USING hudi (", "CALL (0=>0=>0",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, edits := rewrite(s)
		if again := Rewrite(out); again != out {
			t.Fatalf("%q gave\n%q, and that\n%q", s, out, again)
		}
		before, ok := lex(s)
		if !ok {
			if out != s {
				t.Fatalf("%q, which does not end, gave %q", s, out)
			}
			return
		}
		after, ok := lex(out)
		if !ok {
			t.Fatalf("%q gave %q, which does not end", s, out)
		}
		if a, b := parameters(s, before), parameters(out, after); a != b {
			t.Fatalf("%q has %d parameters, %q %d", s, a, out, b)
		}
		at := 0
		for _, e := range edits {
			if e.from < at || e.to < e.from || e.to > len(s) {
				t.Fatalf("%q: edits %v", s, edits)
			}
			at = e.to
		}
		if n := original(edits, len(out)); n != len(s) {
			t.Fatalf("%q: the end of %q is at %d", s, out, n)
		}
	})
}

func parameters(s string, tokens []token) int {
	n := 0
	for _, t := range tokens {
		if t.kind == tokPunct && s[t.from] == '?' {
			n++
		}
	}
	return n
}
