package sqlproc

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

func text(s string) sqlparser.Expr   { return sqlparser.NewStrVal([]byte(s)) }
func number(s string) sqlparser.Expr { return sqlparser.NewIntVal([]byte(s)) }

func TestArguments(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY)")
	d.exec("INSERT INTO t VALUES (1)")
	d.exec("INSERT INTO t VALUES (2)")
	one := func(q string) {
		t.Helper()
		if rows := d.query(q); len(rows) != 1 {
			t.Errorf("%s: %v", q, rows)
		}
	}
	one("CALL show_commits('t', 1)")
	one("CALL show_commits(table => 't', limit => 1)")
	one("CALL d.show_commits(`limit` => 0 + 1, TABLE => \"d.t\")")
	one("CALL system.show_commits('t', limit => '1')")
	one("CALL SHOW_COMMITS(limit => true, table => concat('', 't'))")
	one("CALL show_commits(table => '`d`.`t`', limit => 1.0)")
	if rows := d.query("CALL show_commits('t', NULL)"); len(rows) != 2 {
		t.Errorf("NULL for the default: %v", rows)
	}

	rows, err := d.prepared("CALL show_commits(table => ?, limit => ?)", text("t"), number("1"))
	if err != nil || len(rows) != 1 {
		t.Errorf("prepared: %v, %v", rows, err)
	}
	d.exec("PREPARE s FROM 'CALL show_commits(limit => ?, table => ?)'")
	d.exec("SET @n = 1, @t = 't'")
	one("EXECUTE s USING @n, @t")

	sig := "show_commits(table STRING required, limit INT = 10)"
	d.fails("CALL show_commits()", 1318, "table", "required", sig)
	d.fails("CALL show_commits('t', 1, 2)", 1318, "3 are given, it has 2", sig)
	d.fails("CALL show_commits('t', lim => 1)", 1210, "argument lim ", "none of this name", sig)
	d.fails("CALL show_commits('t', table => 't')", 1210, "argument table ", "twice", sig)
	d.fails("CALL show_commits('t', limit => 'many')", 1210, "argument limit ", "'many' is not of type INT", sig)
	d.fails("CALL show_commits('t', limit => 1.5)", 1210, "1.5 is not of type INT")
	d.fails("CALL show_commits('t', limit => -1)", 1210, "limit")
	d.fails("CALL show_commits(table => NULL)", 1210, "table", "NULL")
	d.fails("CALL show_commits(table => true)", 1210, "argument table ", "STRING")
	d.fails("CALL show_clustering('t', show_involved_partition => 'maybe')", 1210, "'maybe' is not of type BOOL")
	d.fails("CALL nope(a => 1)", 1305, "nope")
	d.fails("CALL nope('t')", 1305, "nope")
	d.s.SetCurrentDatabase("")
	d.fails("CALL nope('t')", 1305, "nope")
	one("CALL show_commits('d.t', 1)")
	d.s.SetCurrentDatabase("d")
	d.fails("CALL nodb.show_commits('t')", 1049, "nodb")
	d.fails("CALL show_commits('nope')", 1146, "nope")
	d.fails("CALL show_commits('nodb.t')", 1049, "nodb")
	_, err = d.prepared("CALL show_commits(table => ?, limit => ?)", text("t"), text("x"))
	d.isError("prepared", err, 1210, "limit", sig)

	d.s.SetCurrentDatabase("")
	d.fails("CALL show_commits('t')", 1046)
	one("CALL d.show_commits('t', 1)")
	one("CALL show_commits('d.t', 1)")
}

func TestShowProcedures(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, p varchar(5)) PARTITION BY KEY (p)")
	d.want("CALL show_commits('t')")
	d.exec("INSERT INTO t VALUES (1,'a'), (2,'b')")
	d.exec("INSERT INTO t VALUES (3,'a')")
	rows := d.query("CALL show_commits('t')")
	if len(rows) != 2 || rows[0][0] <= rows[1][0] || rows[1][1] != "commit" || strings.Join(rows[1][3:], " ") != "2 0 2 2 0 0" {
		t.Errorf("%v", rows)
	}

	d.want("CALL show_scan_stats()")
	d.want("SHOW WARNINGS", "Note | 1105 | no statement of this session has read a table")
	d.exec("SELECT * FROM t WHERE p = 'b'")
	rows = d.query("CALL show_scan_stats()")
	if len(rows) != 1 || rows[0][7] != "1" || rows[0][11] != "2" || rows[0][12] != "1" {
		t.Errorf("%v", rows)
	}

	table, err := d.w.Table(context.Background(), "d", "t")
	if err != nil {
		t.Fatal(err)
	}
	want := "hoodie.table.partition.fields | p"
	for _, q := range []string{"CALL show_table_properties('t')", "CALL show_table_properties(path => '" + table.BasePath() + "')"} {
		found := false
		for _, r := range d.query(q) {
			found = found || strings.Join(r, " | ") == want
		}
		if !found {
			t.Errorf("%s: no %s", q, want)
		}
	}
	if rows := d.query("CALL show_table_properties('t', limit => 2)"); len(rows) != 2 {
		t.Errorf("%v", rows)
	}
	d.fails("CALL show_table_properties()", 1318, "one of table and path")
	d.fails("CALL show_table_properties(path => 'd/nothing')", 1146, "attach_table")
	d.fails("CALL show_table_properties(path => '/etc')", 1290, "/etc")
}

func TestHelp(t *testing.T) {
	d := open(t)
	rows := d.query("CALL help")
	if len(rows) != len(d.procs.List()) || !strings.HasPrefix(rows[0][0], "run_clustering(table STRING, path STRING, predicate STRING, ") {
		t.Errorf("%v", rows)
	}
	rows = d.query("CALL help(cmd => 'show_commits')")
	if len(rows) != 1 || !strings.Contains(rows[0][0], "CALL show_commits(table STRING required, limit INT = 10)") {
		t.Errorf("%v", rows)
	}
	d.fails("CALL help('nope')", 1305, "nope")
}

func TestAttachAndDetach(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY)")
	d.exec("INSERT INTO t VALUES (1)")
	table, err := d.w.Table(context.Background(), "d", "t")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(d.w.Root(), "elsewhere")
	if err := os.CopyFS(elsewhere, os.DirFS(table.BasePath())); err != nil {
		t.Fatal(err)
	}
	d.want("CALL attach_table(table => 'u', path => 'elsewhere')", "d.u is "+elsewhere)
	d.want("SELECT * FROM u", "1")
	d.fails("CALL attach_table('u', 'elsewhere')", 1050, "u")
	d.fails("CALL attach_table('v', '/etc')", 1290, "/etc")
	d.want("CALL detach_table('d.u')", "d.u is no longer served; its files stay")
	d.fails("SELECT * FROM u", 1146)
	if _, err := os.Stat(filepath.Join(elsewhere, ".hoodie")); err != nil {
		t.Error(err)
	}
}

func TestImportFiles(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, s varchar(10))")
	dir := filepath.Join(d.w.Root(), "in")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"a.csv": "id,s\n1,x\n2,y\n", "b.csv": "id,s\n3,z\n", "bad.txt": "id;s\n4;x\nfour;y\n", "good.txt": "5;v\n", "other.csv": "id,q\n9,z\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rows := d.query("CALL import_files(table => 't', path => 'in/[ab].csv', format => 'csv')")
	if len(rows) != 1 || strings.Join(rows[0][:3], " ") != "2 3 22" {
		t.Errorf("%v", rows)
	}
	commits := d.query("CALL show_commits('t')")
	if len(commits) != 1 || commits[0][0] != rows[0][3] {
		t.Errorf("%v is not the commit of %v", commits, rows)
	}
	d.fails("CALL import_files('t', 'in/bad.txt', delimiter => ';')", 1366, "bad.txt", "four")
	d.fails("CALL import_files('t', 'in/other.csv', header => true)", 1210, "other.csv", "q")
	d.fails("CALL import_files('t', 'in/a.csv')", 1062, "1")
	d.fails("CALL import_files('t', 'in/none*')", 1210, "none")
	d.fails("CALL import_files('t', '/etc/passwd')", 1290, "/etc")
	d.fails("CALL import_files('t', 'in/a.csv', format => 'xml')", 1210, "format")
	d.fails("CALL import_files('t', 'in/a.csv', delimiter => ';;')", 1210, "delimiter")
	d.exec("CALL import_files('t', 'in/good.txt', header => false, delimiter => ';')")
	d.want("SELECT * FROM t ORDER BY id", "1 | x", "2 | y", "3 | z", "5 | v")
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	d.fails("CALL import_files('t', 'in/*.csv')", 1290, "/etc")
	d.exec("CREATE TABLE k (id int PRIMARY KEY, s varchar(10))")
	d.exec("CALL import_files('k', 'in/a.csv', options => 'hoodie.datasource.insert.dup.policy=drop')")
	d.exec("CALL import_files('k', 'in/a.csv', options => 'hoodie.datasource.insert.dup.policy=drop')")
	d.want("SELECT COUNT(*) FROM k", "2")
}

func TestCancelledImportWritesNothing(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int)")
	if err := os.WriteFile(filepath.Join(d.w.Root(), "a.csv"), []byte("id\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base, cancel := context.WithCancel(context.Background())
	ctx := sql.NewContext(base, sql.WithSession(d.s))
	q := "CALL import_files('t', 'a.csv')"
	_, iter, _, err := d.e.Query(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	d.want("CALL show_commits('t')") // nothing runs before the first row is fetched
	cancel()
	_, err = iter.Next(ctx)
	d.isError(q, err, 1317)
	d.want("CALL show_commits('t')")
	d.want("SELECT * FROM t")
}

func TestClustering(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY, p varchar(5)) PARTITION BY KEY (p)")
	for _, v := range []string{"(3,'a')", "(1,'a')", "(2,'b')", "(4,'b')"} {
		d.exec("INSERT INTO t VALUES " + v)
	}
	d.fails("CALL run_clustering()", 1318, "one of table and path", "run_clustering(table STRING, path STRING")
	d.fails("CALL show_clustering()", 1318, "one of table and path")
	d.fails("CALL run_clustering('t', op => 'dance')", 1231, "dance")
	d.fails("CALL run_clustering('t', order => 'nope')", 1054, "nope")
	d.fails("CALL run_clustering('t', predicate => 'p = ')", 1210, "predicate")
	rows := d.query("CALL run_clustering(table => 't', op => 'schedule', predicate => \"p = 'a'\", order => 'id', show_involved_partition => true)")
	if len(rows) != 1 || strings.Join(rows[0][1:], " ") != "1 REQUESTED a" && strings.Join(rows[0][1:], " ") != "1 REQUESTED p=a" {
		t.Fatalf("%v", rows)
	}
	plan := rows[0][0]
	d.want("CALL show_clustering('t')", plan+" | 1 | REQUESTED | *")
	d.want("CALL run_clustering(table => 't', instants => '"+plan+"')", plan+" | 1 | COMPLETED | *")
	d.want("SELECT id FROM t ORDER BY id", "1", "2", "3", "4")
	rows = d.query("CALL run_clustering('t', order => 'id')")
	if len(rows) != 1 || rows[0][2] != "COMPLETED" {
		t.Errorf("%v", rows)
	}
	if rows = d.query("CALL show_clustering(table => 't', limit => 1)"); len(rows) != 1 || rows[0][0] <= plan {
		t.Errorf("%v", rows)
	}
	d.want("CALL run_clustering('t', order => 'id')")
	if w := d.query("SHOW WARNINGS"); len(w) == 0 || w[0][0] != "Note" {
		t.Errorf("%v", w)
	}
	d.want("SELECT id FROM t ORDER BY id", "1", "2", "3", "4")
}

func TestAccess(t *testing.T) {
	d := open(t)
	d.exec("CREATE TABLE t (id int PRIMARY KEY)")
	checker := &grants{}
	d.procs.SetAccess(checker)
	for _, c := range []struct{ q, needs string }{
		{"CALL show_commits('t')", "SELECT on d.t"},
		{"CALL show_table_properties('d.t')", "SELECT on d.t"},
		{"CALL show_clustering('t')", "SELECT on d.t"},
		{"CALL run_clustering('t')", "SELECT on d.t"},
		{"CALL detach_table('t')", "DROP on d.t"},
		{"CALL attach_table('u', 'x')", "CREATE on d"},
	} {
		d.fails(c.q, 1370, c.needs, "root")
	}
	checker.all = true
	d.exec("CALL show_commits('t')")
	d.want("CALL help('help')", "CALL help(cmd STRING)\nLists the procedures, or says how one is called.\n  cmd STRING: name of a procedure\nResult: result")
}

type grants struct{ all bool }

func (g *grants) UserHasPrivileges(*sql.Context, ...sql.PrivilegedOperation) bool { return g.all }
func (g *grants) RoutineAdminCheck(*sql.Context, ...sql.PrivilegedOperation) bool { return g.all }
