package sqltable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
)

func TestInsertAffectedRows(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, v varchar(10) DEFAULT 'dflt', n int)")
	if n := d.exec("INSERT INTO t VALUES (1,'a',10), (2,DEFAULT,NULL)"); n != 2 {
		t.Errorf("%d rows", n)
	}
	d.exec("INSERT INTO t (n, id) VALUES (30, 3)")
	if n := d.exec("INSERT INTO t SELECT id + 10, v, n FROM t"); n != 3 {
		t.Errorf("%d rows", n)
	}
	if n := d.exec("INSERT INTO t SELECT * FROM t WHERE id > 100"); n != 0 {
		t.Errorf("%d rows", n)
	}
	d.want("SELECT * FROM t ORDER BY id", "1 | a | 10", "2 | dflt | NULL", "3 | dflt | 30", "11 | a | 10", "12 | dflt | NULL", "13 | dflt | 30")
	d.want("SELECT COUNT(*) FROM t", "6")
}

func TestDuplicateKeys(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, v varchar(10))")
	d.exec("INSERT INTO t VALUES (1,'a'), (2,'b')")
	d.fails("INSERT INTO t VALUES (3,'c'), (2,'x')", 1062, "Duplicate entry '2' for key 'PRIMARY'")
	d.fails("INSERT INTO t VALUES (4,'c'), (4,'x')", 1062, "Duplicate entry '4' for key 'PRIMARY'")
	d.exec("INSERT INTO t VALUES (5,'e')")
	d.want("SELECT * FROM t ORDER BY id", "1 | a", "2 | b", "5 | e")
	if n := d.exec("INSERT IGNORE INTO t VALUES (6,'f'), (1,'z'), (6,'g')"); n != 1 {
		t.Errorf("%d rows", n)
	}
	d.want("SHOW WARNINGS", "Warning | 1062 | 2 rows with a duplicate entry for key 'PRIMARY' were ignored")
	d.want("SELECT * FROM t WHERE id IN (1,6) ORDER BY id", "1 | a", "6 | f")
}

func TestOneKeyInTwoPartitions(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int, p varchar(5), v int, PRIMARY KEY (id)) PARTITION BY KEY (p)")
	d.exec("INSERT INTO t VALUES (1,'a',10), (1,'b',20), (2,'a',30)")
	d.want("SELECT p, v FROM t WHERE id = 1 ORDER BY p", "a | 10", "b | 20")
	d.want("SELECT x.p, y.p FROM t x JOIN t y ON x.id = y.id WHERE x.id = 1 ORDER BY 1, 2", "a | a", "a | b", "b | a", "b | b")
	d.want("SELECT DISTINCT id, v FROM t ORDER BY id, v", "1 | 10", "1 | 20", "2 | 30")
	d.want("SELECT DISTINCT id FROM t ORDER BY id", "1", "2")
	d.want("SELECT id, COUNT(*) FROM t GROUP BY id ORDER BY id", "1 | 2", "2 | 1")
	d.want("SELECT COUNT(*) FROM (SELECT id FROM t UNION SELECT id FROM t) u", "2")
	d.want("SELECT COUNT(*), COUNT(DISTINCT id) FROM t", "3 | 2")
	d.want("SELECT * FROM t WHERE id = 1 LIMIT 1,5", d.query("SELECT * FROM t WHERE id = 1")[1][0]+" | b | 20")
	d.fails("INSERT INTO t VALUES (1,'b',0)", 1062, "1")
}

func TestValuesThatDoNotFit(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (i int, s smallint, v varchar(3), n decimal(5,2), u int unsigned, b bool, e enum('a'), ti time, da date, nn int NOT NULL DEFAULT 7)")
	for _, c := range []struct {
		set string
		num int
	}{
		{"i) VALUES (2147483648", 1264}, {"s) VALUES (-32769", 1264}, {"u) VALUES (-1", 1264}, {"n) VALUES (1000", 1264},
		{"b) VALUES (2", 1264}, {"ti) VALUES ('24:00:00'", 1264}, {"ti) VALUES ('-01:00:00'", 1264},
		{"v) VALUES ('abcd'", 1406}, {"i) VALUES ('abc'", 1366}, {"e) VALUES ('z'", 1265}, {"da) VALUES ('yesterday'", 1292},
		{"da) VALUES ('0000-00-00'", 1292}, {"nn) VALUES (NULL", 1048}, {"nope) VALUES (1", 1054}, {"i) VALUES (1, 2", 1136},
	} {
		d.fails("INSERT INTO t ("+c.set+")", c.num, "")
	}
	d.want("SELECT COUNT(*) FROM t", "0")
	d.exec("INSERT INTO t (i, v, n) VALUES ('12', 'äöü', 1.005)")
	d.exec("INSERT IGNORE INTO t (i, v, nn) VALUES (9999999999, 'abcd', NULL)")
	d.want("SELECT i, v, n, nn FROM t ORDER BY i", "12 | äöü | 1.01 | 7", "2147483647 | abc | NULL | 0")
}

func TestNoDefaultForNotNull(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (a int NOT NULL, b int)")
	d.fails("INSERT INTO t (b) VALUES (1)", 1364, "a")
}

func TestStatementsThatAreRefused(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, v int)")
	d.exec("INSERT INTO t VALUES (1, 1)")
	for _, q := range []string{
		"UPDATE t SET v = 2", "UPDATE t SET v = 2 WHERE id = 1", "DELETE FROM t", "DELETE FROM t WHERE id = 1", "TRUNCATE TABLE t", "TRUNCATE t",
		"REPLACE INTO t VALUES (1, 2)", "INSERT INTO t VALUES (1, 2) ON DUPLICATE KEY UPDATE v = 2",
		"UPDATE t a JOIN t b ON a.id = b.id SET a.v = 2", "DELETE a FROM t a JOIN t b ON a.id = b.id",
	} {
		d.fails(q, 1235, "not supported yet")
	}
	d.want("SELECT * FROM t", "1 | 1")
}

func TestFailedInsertLeavesNothing(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, v varchar(4))")
	d.exec("CREATE TABLE numbers (n int)")
	d.exec("INSERT INTO numbers VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
	tens := "FROM numbers a, numbers b, numbers c, numbers e"
	// 10,000 rows are more than one batch, so the write has begun when the last row fails.
	d.fails("INSERT INTO t SELECT a.n*1000+b.n*100+c.n*10+e.n, IF(a.n*1000+b.n*100+c.n*10+e.n = 9999, 'toolong', 'ok') "+tens, 1406, "v")
	d.want("SELECT COUNT(*) FROM t", "0")
	ctx, cancel := context.WithCancel(context.Background())
	sctx := sql.NewContext(ctx, sql.WithSession(d.s))
	_, iter, _, err := d.e.Query(sctx, "INSERT INTO t SELECT a.n*1000+b.n*100+c.n*10+e.n, 'x' "+tens)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := iter.Next(sctx); err == nil {
		t.Error("a cancelled INSERT came through")
	}
	_ = iter.Close(sctx)
	if n := d.exec("INSERT INTO t SELECT a.n*1000+b.n*100+c.n*10+e.n, 'ok' " + tens); n != 10000 {
		t.Errorf("%d rows", n)
	}
	d.want("SELECT COUNT(*), MIN(id), MAX(id), COUNT(DISTINCT v) FROM t", "10000 | 0 | 9999 | 1")
	left, err := filepath.Glob(filepath.Join(d.w.Root(), "d", "t", "*.parquet"))
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
}

func TestTransactionsCommitEachStatement(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int)")
	d.exec("START TRANSACTION")
	d.exec("INSERT INTO t VALUES (1)")
	d.want("SELECT * FROM t", "1")
	d.other().want("SELECT * FROM t", "1")
	d.exec("SAVEPOINT s")
	d.exec("INSERT INTO t VALUES (2)")
	d.exec("ROLLBACK")
	d.want("SHOW WARNINGS", "Warning | 1196 | Some non-transactional changed tables couldn't be rolled back: each INSERT commits by itself")
	d.want("SELECT * FROM t ORDER BY id", "1", "2")
	d.exec("START TRANSACTION")
	d.exec("ROLLBACK")
	d.want("SHOW WARNINGS")
}

func TestStatementSeesOneSnapshot(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int)")
	d.exec("INSERT INTO t VALUES (1), (2)")
	ctx := d.context()
	_, iter, _, err := d.e.Query(ctx, "SELECT a.id, b.id FROM t a, t b")
	if err != nil {
		t.Fatal(err)
	}
	d.other().exec("INSERT INTO t VALUES (3)")
	rows, err := sql.RowIterToRows(ctx, iter)
	if err != nil || len(rows) != 4 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	d.want("SELECT COUNT(*) FROM t a, t b", "9")
}

func TestLoadData(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, name varchar(20), amount decimal(8,2), day date)")
	file := filepath.Join(d.w.Root(), "in.csv")
	text := "id;name;amount;day\n1;\"semi;colon\";12.50;2024-01-01\n2;\\N;-3;2024-01-02\n3;'quoted';0.01;2024-01-03\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if n := d.exec(fmt.Sprintf(`LOAD DATA INFILE '%s' INTO TABLE t FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '"' IGNORE 1 LINES`, file)); n != 3 {
		t.Errorf("%d rows", n)
	}
	d.want("SELECT * FROM t ORDER BY id", "1 | semi;colon | 12.50 | 2024-01-01", "2 | NULL | -3.00 | 2024-01-02", "3 | 'quoted' | 0.01 | 2024-01-03")
	d.fails(fmt.Sprintf(`LOAD DATA INFILE '%s' INTO TABLE t FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '"' IGNORE 1 LINES`, file), 1062, "1")
	if n := d.exec(fmt.Sprintf(`LOAD DATA INFILE '%s' IGNORE INTO TABLE t FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '"' IGNORE 1 LINES`, file)); n != 0 {
		t.Errorf("%d rows", n)
	}
	d.fails("LOAD DATA INFILE '/etc/passwd' INTO TABLE t", 1290, "/etc/passwd")
	d.exec("CREATE TABLE u (a varchar(5), b int, c int)")
	if err := os.WriteFile(file, []byte("7,x\n8,y\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.exec(fmt.Sprintf(`LOAD DATA INFILE '%s' INTO TABLE u FIELDS TERMINATED BY ',' (b, a)`, file))
	d.want("SELECT * FROM u ORDER BY b", "x | 7 | NULL", "y | 8 | NULL")
}

func TestFilesOfTheServer(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (a int)")
	d.exec("INSERT INTO t VALUES (1)")
	file := filepath.Join(d.w.Root(), "in.txt")
	if err := os.WriteFile(file, []byte("inside"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.want("SELECT LOAD_FILE('"+file+"'), LOAD_FILE('/etc/passwd'), LOAD_FILE('"+file+"x'), LOAD_FILE(NULL), LOAD_FILE(5)", "inside | NULL | NULL | NULL | NULL")
	d.fails("SELECT * FROM t INTO OUTFILE '"+file+".out'", 1290, "OUTFILE")
	d.fails("SELECT * FROM t INTO DUMPFILE '"+file+".out'", 1290, "OUTFILE")
	d.exec("SELECT a FROM t INTO @x")
	d.want("SELECT @x", "1")
}

func TestWithUsersAndPrivileges(t *testing.T) {
	d := open(t)
	d.e.Analyzer.Catalog.MySQLDb.AddRootAccount()
	d.e.Analyzer.Catalog.MySQLDb.SetPersister(&mysql_db.NoopPersister{})
	d.exec("CREATE TABLE t (id int PRIMARY KEY, p int) PARTITION BY KEY (p)")
	d.exec("INSERT INTO t VALUES (1,1),(2,2)")
	d.exec("CREATE TABLE c SELECT * FROM t")
	d.exec("CREATE VIEW v AS SELECT * FROM t")
	d.want("SELECT _hoodie_partition_path, id FROM v JOIN t USING (id) WHERE t.p = 2", "p=2 | 2")
	d.want("SHOW TABLES", "c", "t", "v")
	d.want("SHOW KEYS FROM t", "t | 0 | PRIMARY | 1 | id | A | 0 | NULL | NULL |  | BLOOM | unique within a partition |  | YES | NULL")
	if n := len(d.query("SHOW TABLE STATUS")); n != 2 {
		t.Errorf("%d tables", n)
	}
	d.fails("CALL nope()", 1305, "nope")
	d.fails("DELETE FROM t", 1235, "DELETE")
	d.exec("CREATE USER reader@localhost")
	d.exec("GRANT SELECT ON d.t TO reader@localhost")
	reader := d.other()
	reader.s.SetClient(sql.Client{User: "reader", Address: "localhost"})
	reader.want("SELECT _hoodie_record_key FROM t ORDER BY 1", "1", "2")
	reader.fails("SELECT * FROM c", 1142, "denied")
	reader.fails("SELECT _hoodie_record_key FROM c", 1142, "denied")
	reader.fails("INSERT INTO t VALUES (3,3)", 1142, "denied")
	reader.fails("DROP TABLE t", 1142, "denied")
	reader.want("SHOW TABLES", "t", "v")
	if n := len(reader.query("SHOW TABLE STATUS")); n != 1 {
		t.Errorf("a reader of one table sees the status of %d", n)
	}
	d.exec("DROP TABLE c")
	d.exec("DROP VIEW v")
	d.want("SHOW TABLES", "t")
}

// panicRows gives n rows and then panics.
type panicRows struct{ n, given int }

func (p *panicRows) Next(*sql.Context) (sql.Row, error) {
	if p.given == p.n {
		panic("broken source")
	}
	p.given++
	return sql.NewRow(int32(p.given)), nil
}

func (p *panicRows) Close(*sql.Context) error { return nil }

func TestPanicAbortsTheInsert(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY)")
	for _, n := range []int{1, insertRows + 1} {
		ctx := d.context()
		base, err := (&Database{p: NewProvider(d.w), name: "d"}).mustTable(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := writeRows(ctx, base, &panicRows{n: n}, insertOf{schema: base.schema}); err == nil || !strings.Contains(err.Error(), "broken source") {
			t.Errorf("%d rows: %v", n, err)
		}
		d.want("SELECT COUNT(*) FROM t", "0")
	}
	d.exec("INSERT INTO t VALUES (1)")
	d.want("SELECT * FROM t", "1")
}

func (d *Database) mustTable(ctx *sql.Context, name string) (*Table, error) {
	t, _, err := d.table(ctx, name, "")
	return tableOf(t), err
}

func TestTableIsAnInserterItself(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY)")
	for _, keep := range []bool{false, true} {
		ctx := d.context()
		tab, err := (&Database{p: NewProvider(d.w), name: "d"}).mustTable(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		ins := tab.Inserter(ctx)
		ins.StatementBegin(ctx)
		if err := ins.Insert(ctx, sql.NewRow(int32(7))); err != nil {
			t.Fatal(err)
		}
		if keep {
			err = ins.StatementComplete(ctx)
		}
		if err := errors.Join(err, ins.Close(ctx)); err != nil {
			t.Fatal(err)
		}
		d.want("SELECT COUNT(*) FROM t", map[bool]string{false: "0", true: "1"}[keep])
	}
}
