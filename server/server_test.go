package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/shoaldb/shoal/engine"
)

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // connections are broken on purpose
	m.Run()
}

// testServer is a server over a warehouse of its own.
type testServer struct {
	*Server
	t      *testing.T
	w      *engine.Warehouse
	served chan error
	stop   context.CancelFunc
}

func start(t *testing.T, change func(*Config)) *testServer {
	t.Helper()
	return startRoot(t, t.TempDir(), change)
}

func startRoot(t *testing.T, root string, change func(*Config)) *testServer {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	w, err := engine.OpenWarehouse(t.Context(), engine.Options{Root: root, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Warehouse: w, Listen: "127.0.0.1:0", Logger: log, Version: "test"}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ts := &testServer{Server: s, t: t, w: w, served: make(chan error, 1), stop: cancel}
	go func() { ts.served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return ts
}

// dsn addresses the server; tail follows the slash.
func (s *testServer) dsn(who, tail string) string {
	return fmt.Sprintf("%s@tcp(%s)/%s", who, s.Addr(), tail)
}

func (s *testServer) open(tail string) *sql.DB {
	s.t.Helper()
	return openDSN(s.t, s.dsn("root", tail))
}

func openDSN(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

type querier interface {
	QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error)
}

func exec(t *testing.T, db querier, q string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), q, args...); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
}

// rows are those of a query, one a line, values between " | ".
func rows(t *testing.T, db querier, q string, args ...any) string {
	t.Helper()
	out, err := queryRows(t.Context(), db, q, args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return out
}

func queryRows(ctx context.Context, db querier, q string, args ...any) (string, error) {
	rs, err := db.QueryContext(ctx, q, args...)
	if err != nil {
		return "", err
	}
	defer rs.Close()
	names, err := rs.Columns()
	if err != nil {
		return "", err
	}
	var lines []string
	for rs.Next() {
		values := make([]sql.NullString, len(names))
		to := make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rs.Scan(to...); err != nil {
			return "", err
		}
		var line []string
		for _, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			line = append(line, v.String)
		}
		lines = append(lines, strings.Join(line, " | "))
	}
	return strings.Join(lines, "\n"), rs.Err()
}

func want(t *testing.T, db querier, expected, q string, args ...any) {
	t.Helper()
	if got := rows(t, db, q, args...); got != expected {
		t.Errorf("%s %v:\ngot  %s\nwant %s", q, args, got, expected)
	}
}

// fails wants a statement to fail with a MySQL error number and SQLSTATE.
func fails(t *testing.T, db querier, num uint16, state, part, q string, args ...any) {
	t.Helper()
	_, err := queryRows(t.Context(), db, q, args...)
	isError(t, q, err, num, state, part)
}

func isError(t *testing.T, what string, err error, num uint16, state, part string) {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != num || string(e.SQLState[:]) != state || !strings.Contains(e.Message, part) {
		t.Errorf("%s: got %v, want %d (%s): %s", what, err, num, state, part)
	}
}

func TestEveryWayToSendAStatementGivesTheSame(t *testing.T) {
	s := start(t, nil)
	exec(t, s.open(""), "CREATE DATABASE d")
	for name, tail := range map[string]string{"prepared": "d", "interpolated": "d?interpolateParams=true", "multi": "d?multiStatements=true"} {
		t.Run(name, func(t *testing.T) {
			db := s.open(tail)
			exec(t, db, "CREATE TABLE "+name+" (id INT PRIMARY KEY, city STRING, fare DECIMAL(10,2)) USING hudi PARTITIONED BY (city) TBLPROPERTIES (type = 'cow')")
			exec(t, db, "INSERT INTO "+name+" VALUES (?, ?, ?), (2, NULL, -0.5)", 1, "a => b", "12.50")
			want(t, db, "1 | a => b | 12.50\n2 | NULL | -0.50", "SELECT * FROM "+name+" ORDER BY id")
			want(t, db, "1", "SELECT id FROM "+name+" WHERE city = ?", "a => b")
			want(t, db, "hudi_table_version", "SELECT ? FROM "+name+" LIMIT 1", "hudi_table_version")
			if got := rows(t, db, "CALL show_commits(`table` => ?, limit => ?)", "d."+name, 5); !strings.Contains(got, " | commit | ") {
				t.Errorf("show_commits: %s", got)
			}
			fails(t, db, 1064, "42000", "syntax", "SELEC ? FROM "+name, 1)
			fails(t, db, 1146, "42S02", "absent", "SELECT * FROM absent WHERE id = ?", 1)
			fails(t, db, 1305, "42000", "nothing", "CALL nothing(a => ?)", 1)
			fails(t, db, 1062, "23000", "'1'", "INSERT INTO "+name+" VALUES (?, 'a => b', 0)", 1)
			fails(t, db, 1210, "HY000", "colour", "CALL show_commits(table => ?, colour => 'red')", name)
		})
	}
}

func TestSeveralStatementsInOneText(t *testing.T) {
	s := start(t, nil)
	db := s.open("?multiStatements=true")
	exec(t, db, "CREATE DATABASE d; USE d; CREATE TABLE t (a INT) USING hudi; INSERT INTO d.t VALUES (1); INSERT INTO d.t VALUES (2)")
	rs, err := db.QueryContext(t.Context(), "SELECT 'a;b => c'; CALL show_commits(table => 'd.t', limit => 1); SELECT COUNT(*) FROM d.t")
	if err != nil {
		t.Fatal(err)
	}
	defer rs.Close()
	var counts []int
	for {
		n := 0
		for rs.Next() {
			n++
		}
		counts = append(counts, n)
		if !rs.NextResultSet() {
			break
		}
	}
	if err := rs.Err(); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(counts) != "[1 1 1]" {
		t.Errorf("rows of the results: %v", counts)
	}
}

func TestSessionOptionsHaveDots(t *testing.T) {
	s := start(t, nil)
	for _, tail := range []string{"", "?interpolateParams=true"} {
		db := s.open(tail)
		db.SetMaxOpenConns(1)
		exec(t, db, "SET hoodie.parquet.small.file.limit = 0, SESSION hoodie.clustering.inline = true")
		want(t, db, "0 | true", "SELECT @@hoodie.parquet.small.file.limit, @@session.hoodie.clustering.inline")
		exec(t, db, "SET hoodie.parquet.small.file.limit = ?", "7")
		want(t, db, "7", "SELECT @@hoodie.parquet.small.file.limit")
	}
}

func TestWhatClientsAskFirst(t *testing.T) {
	s := start(t, nil)
	db := s.open("")
	want(t, db, "8.0.33-shoal-test | ShoalDB | 1", "SELECT @@version, @@version_comment, @@local_infile")
	want(t, db, "8.0.33-shoal-test", "SELECT VERSION()")
	want(t, db, "root@localhost", "SELECT CURRENT_USER()")
	if got := rows(t, db, "SHOW GRANTS FOR CURRENT_USER()"); !strings.Contains(got, "GRANT") {
		t.Errorf("SHOW GRANTS: %s", got)
	}
	want(t, db, "root", "SELECT User FROM mysql.user WHERE User = 'root'")
	rows(t, db, "SHOW VARIABLES LIKE 'hoodie%'")
	exec(t, db, "SET optimizer_switch = 'semijoin=off', SESSION max_statement_time = 0")
	want(t, db, "DISABLED", "SELECT @@have_ssl")
}

func TestAFailedStatementLeavesTheConnectionGood(t *testing.T) {
	s := start(t, nil)
	db := s.open("")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec(t, conn, "CREATE DATABASE d")
	exec(t, conn, "CREATE TABLE d.t (a INT NOT NULL PRIMARY KEY)")
	fails(t, conn, 1048, "23000", "a", "INSERT INTO d.t VALUES (1), (NULL)")
	exec(t, conn, "INSERT INTO d.t VALUES (1)")
	want(t, conn, "1", "SELECT * FROM d.t")
}

func TestManyRowsArriveInOrder(t *testing.T) {
	s := start(t, nil)
	db := s.open("")
	const q = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, REPEAT('x', 1000) FROM n"
	lines := strings.Split(rows(t, db, q), "\n")
	if len(lines) != 900 {
		t.Fatalf("%d rows", len(lines))
	}
	for i, l := range lines {
		if l != fmt.Sprintf("%d | %s", i+1, strings.Repeat("x", 1000)) {
			t.Fatalf("row %d: %.40s", i+1, l)
		}
	}
}

func TestLoadDataLocal(t *testing.T) {
	s := start(t, nil)
	db := s.open("")
	exec(t, db, "CREATE DATABASE d")
	exec(t, db, "CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(2000))")
	// More than 256 packets, so that their sequence numbers come round to that of a command.
	const n = 40000
	mysql.RegisterReaderHandler("lines", func() io.Reader {
		r, w := io.Pipe()
		go func() {
			for i := range n {
				if _, err := fmt.Fprintf(w, "%d,\x16%s\n", i, strings.Repeat("y", 500)); err != nil {
					return
				}
			}
			_ = w.Close() // always nil
		}()
		return r
	})
	defer mysql.DeregisterReaderHandler("lines")
	res, err := db.ExecContext(t.Context(), "LOAD DATA LOCAL INFILE 'Reader::lines' INTO TABLE d.t FIELDS TERMINATED BY ','")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := res.RowsAffected(); err != nil || got != n {
		t.Errorf("%d rows affected, %v", got, err)
	}
	want(t, db, fmt.Sprintf("%d | %d", n, n*501), "SELECT COUNT(*), CAST(SUM(LENGTH(s)) AS SIGNED) FROM d.t")
	// With LOCAL, keys that exist are passed over.
	exec(t, db, "LOAD DATA LOCAL INFILE 'Reader::lines' INTO TABLE d.t FIELDS TERMINATED BY ','")
	want(t, db, fmt.Sprint(n), "SELECT COUNT(*) FROM d.t")
}

func TestFilesOfTheServerNeedAnAllowedPath(t *testing.T) {
	s := start(t, nil)
	db := s.open("")
	exec(t, db, "CREATE DATABASE d")
	exec(t, db, "CREATE TABLE d.t (a TEXT)")
	fails(t, db, 1290, "HY000", "/etc/hostname", "LOAD DATA INFILE '/etc/hostname' INTO TABLE d.t")
	fails(t, db, 1290, "HY000", "/etc/hostname", "CALL import_files(table => 'd.t', path => '/etc/hostname')")
}

func TestTooManyConnections(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxConnections = 1 })
	db := s.open("")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	if err != nil || !strings.HasSuffix(string(b), "\xff\x10\x04Too many connections") {
		t.Errorf("got %q, %v", b, err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, db, "1", "SELECT 1")
}
