package sqltable

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

const everyType = `CREATE TABLE every (
  id bigint NOT NULL,
  b1 tinyint(1), i8 tinyint, i16 smallint, i24 mediumint, i32 int, i64 bigint,
  u8 tinyint unsigned, u16 smallint unsigned, u32 int unsigned, u64 bigint unsigned,
  f float, d double, n decimal(9,2), w decimal(38,10),
  c char(3), v varchar(20) COMMENT 'it''s a name', t text, e enum('x','y'), s set('p','q'), j json,
  bi binary(4), vb varbinary(8), bl blob,
  da date, ti time, dt datetime, dt6 datetime(6), ts timestamp(6), y year,
  PRIMARY KEY (id))`

func TestEveryTypeComesBack(t *testing.T) {
	d := open(t)
	d.exec(everyType)
	d.exec(`INSERT INTO every VALUES (1, true, -128, -32768, 8388607, -2147483648, 9223372036854775807,
	  255, 65535, 4294967295, 18446744073709551615,
	  1.5, 0.1, 1234567.89, 1234567890123456789012345678.0123456789,
	  'abc', 'Ünï', 'long text', 'y', 'p,q', '{"a": [1, 2]}',
	  'ab', 'cd', x'00ff',
	  '2024-02-29', '23:59:59.5', '2024-02-29 12:34:56', '1969-12-31 23:59:59.999999', '2024-02-29 12:34:56.789', 1999)`)
	d.exec("INSERT INTO every (id) VALUES (2)")
	want := []string{"1", "1", "-128", "-32768", "8388607", "-2147483648", "9223372036854775807",
		"255", "65535", "4294967295", "18446744073709551615",
		"1.5", "0.1", "1234567.89", "1234567890123456789012345678.0123456789",
		"abc", "Ünï", "long text", "y", "p,q", `{"a": [1, 2]}`,
		"ab\x00\x00", "cd", "\x00\xff",
		"2024-02-29", "23:59:59.500000", "2024-02-29 12:34:56", "1969-12-31 23:59:59.999999", "2024-02-29 12:34:56.789000", "1999"}
	null := append([]string{"2"}, strings.Split(strings.Repeat("NULL ", len(want)-2)+"NULL", " ")...)
	d.want("SELECT * FROM every ORDER BY id", strings.Join(want, " | "), strings.Join(null, " | "))
}

func TestShowCreateTableMakesTheTableAgain(t *testing.T) {
	d := open(t)
	d.exec(everyType)
	d.exec("CREATE TABLE part (a int NOT NULL, b varchar(10) NOT NULL DEFAULT 'x', p date, ts timestamp(6), PRIMARY KEY (b,a)) " +
		`COMMENT='it''s "mine"' ENGINE_ATTRIBUTE='{"preCombineField":"ts","hoodie.clustering.inline":"false"}' PARTITION BY KEY (p)`)
	for _, name := range []string{"every", "part"} {
		first := d.query("SHOW CREATE TABLE " + name)[0][1]
		d.exec("DROP TABLE " + name)
		d.exec(first)
		if again := d.query("SHOW CREATE TABLE " + name)[0][1]; again != first {
			t.Errorf("SHOW CREATE TABLE %s:\n%s\nbecame\n%s", name, first, again)
		}
	}
	want := "CREATE TABLE `part` (\n" +
		"  `a` int NOT NULL,\n" +
		"  `b` varchar(10) NOT NULL DEFAULT 'x',\n" +
		"  `p` date,\n" +
		"  `ts` timestamp(6),\n" +
		"  PRIMARY KEY (`b`,`a`)\n" +
		") ENGINE=Hudi DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin COMMENT='it''s \"mine\"' " +
		`ENGINE_ATTRIBUTE='{"hoodie.clustering.inline":"false","preCombineField":"ts"}'` +
		"\nPARTITION BY KEY (`p`)"
	if got := d.query("SHOW CREATE TABLE part")[0][1]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDescribe(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int, v varchar(5) NOT NULL DEFAULT 'd', w decimal(5,1), PRIMARY KEY (id))")
	d.want("DESCRIBE t",
		"id | int | NO | PRI | NULL | ",
		"v | varchar(5) | NO |  | 'd' | ",
		"w | decimal(5,1) | YES |  | NULL | ")
	d.want("SHOW KEYS FROM t", "t | 0 | PRIMARY | 1 | id | A | 0 | NULL | NULL |  | BLOOM |  |  | YES | NULL")
	d.want("SELECT column_name, data_type, column_key FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position",
		"id | int | PRI", "v | varchar | ", "w | decimal | ")
	d.want("SELECT constraint_name, column_name FROM information_schema.key_column_usage WHERE table_name = 't'", "PRIMARY | id")
	d.want("SELECT constraint_type FROM information_schema.table_constraints WHERE table_name = 't'", "PRIMARY KEY")
}

func TestCreateTableRefusals(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE p (id int PRIMARY KEY)")
	for _, c := range []struct {
		q    string
		num  int
		part string
	}{
		{"CREATE TABLE t (id int PRIMARY KEY AUTO_INCREMENT)", 1235, "AUTO_INCREMENT of column id"},
		{"CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a+1) STORED)", 1235, "generated column b"},
		{"CREATE TABLE t (a timestamp DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)", 1235, "ON UPDATE of column a"},
		{"CREATE TABLE t (a int, FOREIGN KEY (a) REFERENCES p(id))", 1235, "foreign key"},
		{"CREATE TABLE t (a int CHECK (a > 0))", 1235, "CHECK"},
		{"CREATE TABLE t (a int, UNIQUE (a))", 1235, "UNIQUE"},
		{"CREATE TABLE t (a decimal(65,2))", 1235, "at most 38 digits"},
		{"CREATE TABLE t (a geometry)", 1235, "type geometry"},
		{"CREATE TABLE t (a bit(3))", 1235, "type bit(3)"},
		{"CREATE TABLE t (_hoodie_record_key text)", 1210, "_hoodie_record_key is reserved"},
		{"CREATE TABLE t (a int) PARTITION BY KEY (nope)", 1054, "nope"},
		{`CREATE TABLE t (a int) ENGINE_ATTRIBUTE='{"type":"mor"}'`, 1235, "merge-on-read"},
		{`CREATE TABLE t (a int) ENGINE_ATTRIBUTE='{"type":"heap"}'`, 1231, "heap"},
		{`CREATE TABLE t (a int) ENGINE_ATTRIBUTE='{"primaryKey":"b"}'`, 1054, "b"},
		{`CREATE TABLE t (a int) ENGINE_ATTRIBUTE='nonsense'`, 1210, "JSON"},
		{"CREATE TABLE p (id int PRIMARY KEY)", 1050, "p"},
		{"CREATE TEMPORARY TABLE t (a int)", 1235, "temporary"},
		{"CREATE TABLE nodb.t (a int)", 1049, "nodb"},
		{"ALTER TABLE p ADD COLUMN x int", 1235, ""},
		{"RENAME TABLE p TO q", 1235, ""},
		{"CREATE INDEX i ON p (id)", 1235, ""},
		{"DROP TABLE nope", 1146, "nope"},
		{"SELECT * FROM nope", 1146, "nope"},
		{"USE nodb", 1049, "nodb"},
		{"CREATE DATABASE d", 1007, "d"},
		{"DROP DATABASE nodb", 1049, "nodb"},
		{"CALL nope()", 1305, "nope"},
		{"CREATE PROCEDURE x() SELECT 1", 1235, "CREATE PROCEDURE"},
		{"DROP PROCEDURE x", 1305, "x"},
		{"CREATE TRIGGER x BEFORE INSERT ON p FOR EACH ROW SET NEW.id = 1", 1235, "CREATE TRIGGER"},
		{"DROP TRIGGER x", 1360, "x"},
	} {
		d.fails(c.q, c.num, c.part)
	}
	d.want("SHOW TABLES", "p")
}

func TestCreateTableWarnings(t *testing.T) {
	d := open(t)
	d.exec(`CREATE TABLE t (a int, KEY k (a)) COMMENT='hoodie.made.up=1,hoodie.clustering.inline=false'`)
	d.want("SHOW WARNINGS",
		"Warning | 1231 | Unknown table properties are kept and have no effect here: hoodie.made.up",
		"Note | 1235 | Index k is left out: files are skipped by statistics, cluster the table by its columns instead")
	create := d.query("SHOW CREATE TABLE t")[0][1]
	if !strings.Contains(create, `ENGINE_ATTRIBUTE='{"hoodie.clustering.inline":"false","hoodie.made.up":"1"}'`) || strings.Contains(create, "COMMENT") {
		t.Error(create)
	}
	d.exec("CREATE TABLE IF NOT EXISTS t (b int)")
	d.want("SHOW WARNINGS", "Note | 1050 | Table 't' already exists")
	d.want("SHOW COLUMNS FROM t", "a | int | YES |  | NULL | ")
}

func TestCreateTableLikeAndSelect(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE src (a int NOT NULL, b varchar(10) NOT NULL, p varchar(10), ts bigint, PRIMARY KEY (b,a)) " +
		`COMMENT='c' ENGINE_ATTRIBUTE='{"preCombineField":"ts"}' PARTITION BY KEY (p)`)
	d.exec("INSERT INTO src VALUES (1,'x','p1',1), (2,'y','p2',2)")
	d.exec("CREATE TABLE dupe LIKE src")
	src := d.query("SHOW CREATE TABLE src")[0][1]
	if got := d.query("SHOW CREATE TABLE dupe")[0][1]; got != strings.Replace(src, "`src`", "`dupe`", 1) {
		t.Errorf("LIKE made\n%s", got)
	}
	d.want("SELECT COUNT(*) FROM dupe", "0")
	if n := d.exec("CREATE TABLE sel (PRIMARY KEY (a)) PARTITION BY KEY (p) SELECT a, p, b AS c FROM src"); n != 2 {
		t.Errorf("%d rows", n)
	}
	d.want("SELECT * FROM sel ORDER BY a", "1 | p1 | x", "2 | p2 | y")
	if got := d.query("SHOW CREATE TABLE sel")[0][1]; !strings.Contains(got, "PARTITION BY KEY (`p`)") || !strings.Contains(got, "PRIMARY KEY (`a`)") {
		t.Error(got)
	}
	d.fails("CREATE TABLE dup (PRIMARY KEY (k)) SELECT 1 AS k FROM src", 1062, "1")
	d.want("SHOW TABLES", "dupe", "sel", "src")
	if n := d.exec("CREATE TABLE IF NOT EXISTS sel SELECT * FROM src"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// The options that a parser adds reach the tables whatever the grammar.
func TestTableOptions(t *testing.T) {
	d := open(t)
	ctx := d.context()
	base := &Database{p: NewProvider(d.w), name: "d"}
	schema := sql.NewPrimaryKeySchema(sql.Schema{{Name: "Id", Type: types.Int32, Source: "t", Nullable: true},
		{Name: "p", Type: types.Date, Source: "t", Nullable: true}, {Name: "ts", Type: types.Int64, Source: "t", Nullable: true}})
	err := base.createTable(ctx, definition{name: "t", schema: schema, options: map[string]any{
		optPartitionBy:   "`P`",
		optTblProperties: `{"type":"COW","PRIMARYKEY":"id","precombinefield":"ts","hoodie.parquet.max.file.size":134217728}`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := "CREATE TABLE `t` (\n  `Id` int NOT NULL,\n  `p` date,\n  `ts` bigint,\n  PRIMARY KEY (`Id`)\n" +
		") ENGINE=Hudi DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin " +
		`ENGINE_ATTRIBUTE='{"hoodie.parquet.max.file.size":"134217728","preCombineField":"ts"}'` + "\nPARTITION BY KEY (`p`)"
	if got := d.query("SHOW CREATE TABLE t")[0][1]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	d.exec("INSERT INTO t VALUES (1,'2024-01-01',5)")
	// LOCATION serves a table where it lies, under another name.
	path := filepath.Join(d.w.Root(), "d", "t")
	if err := base.createTable(ctx, definition{name: "there", options: map[string]any{optLocation: path}}); err != nil {
		t.Fatal(err)
	}
	d.want("SELECT Id FROM there", "1")
	if err := base.createTable(ctx, definition{name: "no", options: map[string]any{optLocation: "/etc"}}); err == nil {
		t.Error("a location outside was taken")
	}
}

func TestDeclarationsThatDoNotFitArePassedOver(t *testing.T) {
	for _, text := range []string{"", "varchar", "int) SELECT (1", "foo", "int, d int", "varchar(10) DEFAULT", "\x00"} {
		if d, err := parseDeclaration(text); err == nil {
			t.Errorf("%q: %v", text, d)
		}
	}
	for _, text := range []string{"int", "varchar(20) DEFAULT 'a'", "enum('x','y')", "decimal(10,2)", "varchar(5) COLLATE utf8mb4_0900_ai_ci"} {
		d, err := parseDeclaration(text)
		if err != nil || d.String() != text {
			t.Errorf("%q became %q, %v", text, d, err)
		}
	}
}

func FuzzParseDeclaration(f *testing.F) {
	for _, s := range []string{"int", "varchar(20) DEFAULT 'a'", "enum('x')", "decimal(999,2)", "char(-1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDeclaration(s)
		if err != nil {
			return
		}
		if _, err := parseDeclaration(d.String()); err != nil {
			t.Errorf("%q gave %q, which does not parse: %v", s, d, err)
		}
	})
}
