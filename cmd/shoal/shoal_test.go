package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
)

// binary is the program, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // connections are broken on purpose
	dir, err := os.MkdirTemp("", "shoal-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "shoal")
	build := exec.Command("go", "build", "-tags", "gms_pure_go", "-o", binary, ".")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// shoal runs a command line in this process.
func shoal(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), code
}

func good(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := shoal(t, "", args...)
	if code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, errs)
	}
	return out
}

func bad(t *testing.T, part string, args ...string) {
	t.Helper()
	_, errs, code := shoal(t, "", args...)
	if code != 1 || !strings.Contains(errs, part) || strings.Contains(errs, "Usage:") {
		t.Errorf("%v: exit %d: %s, want %s", args, code, errs, part)
	}
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSQLFormats(t *testing.T) {
	w := t.TempDir()
	good(t, "sql", "-w", w, "-e", "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, name STRING, f DOUBLE, doc JSON, b VARBINARY(4)) USING hudi",
		"-e", `INSERT INTO d.t VALUES (1, 'a;b', 2500000, '{"a": [1]}', x'00ff'), (20, NULL, NULL, NULL, NULL), (3, '', -0.5, '[]', x'')`)
	const q = "SELECT * FROM t ORDER BY id"
	same(t, good(t, "sql", "-w", w, "-D", "d", "-e", "SELECT id, name, f FROM t ORDER BY id; -- nothing more\n"), `
+----+------+---------+
| id | name | f       |
+----+------+---------+
|  1 | a;b  | 2500000 |
|  3 |      |    -0.5 |
| 20 | NULL |    NULL |
+----+------+---------+
`)
	same(t, good(t, "sql", "-w", w, "-D", "d", "--format", "csv", "-e", "SELECT id, name, f, doc FROM t ORDER BY id"), `
id,name,f,doc
1,a;b,2500000,"{""a"": [1]}"
3,"",-0.5,[]
20,,,
`)
	out := good(t, "sql", "-w", w, "-D", "d", "--format", "json", "-e", q)
	same(t, out, `
[
{"id":1,"name":"a;b","f":2500000,"doc":{"a": [1]},"b":"AP8="},
{"id":3,"name":"","f":-0.5,"doc":[],"b":""},
{"id":20,"name":null,"f":null,"doc":null,"b":null}
]
`)
	if !json.Valid([]byte(out)) {
		t.Error("not JSON")
	}
	same(t, good(t, "sql", "-w", w, "-D", "d", "--format", "json", "-e", "SELECT 1 FROM t WHERE id > 99"), "[]\n")
}

func TestSQLScripts(t *testing.T) {
	w := t.TempDir()
	file := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(file, []byte("/* first */ CREATE DATABASE d;\n;USE d; -- then; this\nCREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);"), 0o644); err != nil {
		t.Fatal(err)
	}
	good(t, "sql", "-w", w, file)
	out, errs, code := shoal(t, "SELECT a + 1 AS n FROM d.t", "sql", "-w", w, "--format", "csv", "-")
	if out != "n\n2\n" || code != 0 {
		t.Errorf("%q, %d: %s", out, code, errs)
	}
	// What came before the failure has happened, what follows has not.
	out, errs, code = shoal(t, "", "sql", "-w", w, "-e", "INSERT INTO d.t VALUES (2); SELECT * FROM d.absent; INSERT INTO d.t VALUES (3)")
	if code != 1 || out != "" || !strings.HasPrefix(errs, "ERROR 1146 (42S02): ") || !strings.Contains(errs, "absent") {
		t.Errorf("exit %d: %q, %q", code, out, errs)
	}
	same(t, good(t, "sql", "-w", w, "--format", "csv", "-e", "SELECT COUNT(*) FROM d.t"), "COUNT(*)\n2\n")
	if _, errs, _ := shoal(t, "", "sql", "-w", w, "-e", "CALL run_clustering(table => 'd.t', op => 'execute')"); !strings.HasPrefix(errs, "Note (Code ") {
		t.Errorf("notes: %q", errs)
	}
}

func TestErrorsOfCommandLines(t *testing.T) {
	w := t.TempDir()
	bad(t, "ERROR 1064 (42000): ", "sql", "-w", w, "-e", "SELEC 1")
	bad(t, "ERROR 1049 (42000): ", "sql", "-w", w, "-D", "nothing", "-e", "SELECT 1")
	bad(t, "nothing to run", "sql", "-w", w)
	bad(t, "it is table, csv or json", "sql", "-w", w, "--format", "xml", "-e", "SELECT 1")
	bad(t, "see shoal sql --help", "sql", "--nonsense")
	bad(t, "--password-file", "serve", "-w", w, "--listen", "0.0.0.0:0")
	bad(t, "both a certificate and a key", "serve", "-w", w, "--listen", "127.0.0.1:0", "--tls-cert", "x.pem")
	bad(t, "512MiB", "serve", "-w", w, "--memory-limit", "lots")
	bad(t, "debug, info", "serve", "-w", w, "--log-level", "loud")
	bad(t, "unknown command", "nonsense")
	config := filepath.Join(t.TempDir(), "c.properties")
	if err := os.WriteFile(config, []byte("hoodie.parquet.max.file.size=1\nspark.master=local\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bad(t, "spark.master", "sql", "-w", w, "--config", config, "-e", "SELECT 1")
}

func TestConfigIsTheDefaultOfTables(t *testing.T) {
	w, config := t.TempDir(), filepath.Join(t.TempDir(), "c.properties")
	if err := os.WriteFile(config, []byte("# defaults\nhoodie.datasource.insert.dup.policy = drop\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	good(t, "sql", "-w", w, "-e", "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
	bad(t, "ERROR 1062", "sql", "-w", w, "-e", "INSERT INTO d.t VALUES (1)")
	good(t, "sql", "-w", w, "--config", config, "-e", "INSERT INTO d.t VALUES (1), (2)")
	same(t, good(t, "sql", "-w", w, "--format", "csv", "-e", "SELECT a FROM d.t ORDER BY a"), "a\n1\n2\n")
}

func TestImport(t *testing.T) {
	w, dir := t.TempDir(), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("a.csv", "id,day,v\n1,2026-01-01,0.5\n2,2026-01-02,\n"), write("b.csv", "id,day,v\n3,2026-01-01,7\n")
	bad(t, "--create", "import", "-w", w, "--table", "d.t", a)
	out := good(t, "import", "-w", w, "--table", "d.t", "--create", "--primary-key", "id", "--partition-by", "day", a, b)
	if !strings.HasPrefix(out, "3 rows of 2 files (") {
		t.Error(out)
	}
	same(t, good(t, "sql", "-w", w, "--format", "csv", "-e", "SELECT id, day, v FROM d.t ORDER BY id; SELECT COUNT(DISTINCT _hoodie_commit_time) AS c FROM d.t"), `
id,day,v
1,2026-01-01,0.5
2,2026-01-02,
3,2026-01-01,7
c
1
`)
	bad(t, "duplicate record key", "import", "-w", w, "--table", "d.t", b)
	if out := good(t, "import", "-w", w, "--table", "d.t", "--set", "hoodie.datasource.insert.dup.policy=drop", b); !strings.Contains(out, "1 rows with keys that exist were left out") {
		t.Error(out)
	}
	c := write("c.tsv", "9\t2026-01-03\tx\n")
	bad(t, "c.tsv", "import", "-w", w, "--table", "d.t", "--header", "false", c)
	same(t, good(t, "sql", "-w", w, "--format", "csv", "-e", "SELECT COUNT(*) AS c FROM d.t"), "c\n3\n")
}

func TestByteSizes(t *testing.T) {
	for in, want := range map[string]int64{"1": 1, "7b": 7, "512MiB": 512 << 20, "2 GiB": 2 << 30, "2g": 2 << 30, "5kb": 5000, "1TB": 1e12} {
		var b byteSize
		if err := b.Set(in); err != nil || int64(b) != want {
			t.Errorf("%s: %d, %v", in, int64(b), err)
		}
		var again byteSize
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%s: %s reads as %d, %v", in, b.String(), again, err)
		}
	}
	for _, in := range []string{"", "0", "-1", "1.5g", "g", "1x", "99999999999t", "0x10"} {
		var b byteSize
		if err := b.Set(in); err == nil {
			t.Errorf("%q is taken as %d", in, int64(b))
		}
	}
}

// process is a running `shoal serve`.
type process struct {
	*exec.Cmd
	address string
	stderr  *bytes.Buffer
}

var readyLine = regexp.MustCompile(`^ready: mysql -h (\S+) -P (\d+) -u (\S+)( -p)?$`)

func serveBinary(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), binary, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...), stderr: &bytes.Buffer{}}
	p.Env = append(os.Environ(), env...)
	p.Stderr = p.stderr
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // an error says that it has ended
	line, err := bufio.NewReader(stdout).ReadString('\n')
	m := readyLine.FindStringSubmatch(strings.TrimSpace(line))
	if err != nil || m == nil {
		t.Fatalf("%q, %v: %s", line, err, p.stderr)
	}
	p.address = m[1] + ":" + m[2]
	return p
}

func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestServeAndTerminate(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			w := filepath.Join(t.TempDir(), "new", "warehouse")
			p := serveBinary(t, []string{passwordVariable + "="}, "--warehouse", w)
			db := connect(t, "root@tcp("+p.address+")/?multiStatements=true")
			if _, err := db.Exec("CREATE DATABASE d; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil {
				t.Fatalf("%v: %s", err, p.stderr)
			}
			for _, part := range []string{"msg=serving", "msg=listening", "msg=stopped"} {
				if !strings.Contains(p.stderr.String(), part) {
					t.Errorf("the log lacks %s: %s", part, p.stderr)
				}
			}
			same(t, good(t, "sql", "-w", w, "--format", "csv", "-e", "SELECT a FROM d.t"), "a\n1\n")
		})
	}
}

func TestServeWithPasswordAndBrokenTable(t *testing.T) {
	w := t.TempDir()
	good(t, "sql", "-w", w, "-e", "CREATE DATABASE d; CREATE TABLE d.fine (a INT); CREATE TABLE d.torn (a INT)")
	if err := os.WriteFile(filepath.Join(w, "d", "torn", ".hoodie", "hoodie.properties"), []byte("hoodie.table.version=99\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveBinary(t, nil, "--warehouse", w, "--user", "ada", "--password-file", secret, "--log-format", "json")
	db := connect(t, "ada:s3cret@tcp("+p.address+")/d")
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM fine").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if err := connect(t, "ada:wrong@tcp("+p.address+")/d").Ping(); err == nil {
		t.Error("a wrong password is taken")
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	var said bool
	for line := range strings.Lines(p.stderr.String()) {
		var e struct{ Msg, Table, Reason string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		said = said || e.Table == "d.torn" && e.Reason != ""
	}
	if !said {
		t.Errorf("nothing about the broken table: %s", p.stderr)
	}
}

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if out := good(t, args...); !strings.HasPrefix(out, "shoal ") {
			t.Error(out)
		}
	}
}

// flagName finds the names in the lines about flags.
var flagName = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`)

func TestHelpHasExamples(t *testing.T) {
	for _, c := range newRootCommand().Commands() {
		if c.Name() == "version" || c.Name() == "completion" || c.Name() == "help" {
			continue
		}
		if c.Example == "" || c.Long == "" {
			t.Errorf("%s: no example, or no text", c.Name())
		}
		if c.Name() == "demo" {
			continue
		}
		for _, m := range flagName.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
			if !strings.Contains(c.Example, m[1]) {
				t.Errorf("%s: no example of %s", c.Name(), m[1])
			}
		}
	}
}

func TestDemo(t *testing.T) {
	out, errs, code := shoal(t, "", "demo", "--warehouse", t.TempDir(), "--files", "5", "--rows", "200")
	if code != 0 || !strings.Contains(out, "same answer") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
}
