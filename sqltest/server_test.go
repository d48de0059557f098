package sqltest

import (
	"context"
	"fmt"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/sirupsen/logrus"
)

// memoryServer starts a server that keeps its tables in memory and returns its data source name:
// something to play scripts on that does not depend on what is being tested with them.
func memoryServer(t *testing.T) string {
	t.Helper()
	logrus.SetLevel(logrus.PanicLevel) // statements that fail on purpose
	provider := memory.NewDBProvider()
	engine := sqle.NewDefault(provider)
	s, err := server.NewServer(server.Config{Protocol: "tcp", Address: "127.0.0.1:0"}, engine, sql.NewContext,
		memory.NewSessionBuilder(provider), nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Start() }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return fmt.Sprintf("root@tcp(%s)/", s.Listener.Addr())
}

func TestAScriptThatSaysWhatTheServerDoes(t *testing.T) {
	dsn := memoryServer(t)
	script := parse(t, "everything.test", `
# Each kind of block once.
CREATE TABLE t (
  id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10,2), f DOUBLE, r FLOAT, at DATETIME(6), doc JSON
);

INSERT INTO t VALUES
  (1, 'ann', 1.50, 0.1, 0.5, '2026-01-02 03:04:05', '{"a": [1]}'),
  (2, NULL, NULL, 1e20, NULL, '2026-01-02 03:04:05.250000', NULL),
  (3, '', -2, 0, -3e30, NULL, NULL);
----
affected 3

columns id:INT | name:VARCHAR | price:DECIMAL(10,2) | f
SELECT id, name, price, f FROM t;
----
1 | ann | 1.50 | 0.1
2 | NULL | NULL | 1e20
3 | '' | -2.00 | 0.0

SELECT id, at, r FROM t ORDER BY id DESC;
----
3 | NULL | -3e30
2 | 2026-01-02 03:04:05.250000 | NULL
1 | 2026-01-02 03:04:05.000000 | 0.5

# One row may come before the other.
sorted
SELECT id FROM t WHERE id < 3 ORDER BY id DESC;
----
1
2

SELECT doc->'$.a' FROM t WHERE id = 1;
----
[1]

SELECT id FROM t WHERE id > 3;
----

UPDATE t SET name = 'bob' WHERE id = 2;
----
affected 1

SELECT * FROM nowhere;
----
error 1146 (HY000): nowhere

SELECT nothing FROM t;
----
error

DROP TABLE IF EXISTS nowhere;
----
ok
---- warnings
Note 1051: nowhere

SELECT 1;
----
1
---- warnings

let $most = SELECT MAX(name) FROM t;
SELECT id, '$most', '${most}_', '$$most', '$DB' FROM t WHERE name = '$most';
----
2 | $most | ${most}_ | $$most | $DB

args 2 | 'b''
SELECT id + ?, concat(name, ?) FROM t WHERE id = 2;
----
4 | bobb'

connection other
SET @x = 'other';
SELECT @x, DATABASE();
----
other | everything

connection default
SELECT @x;
----
NULL

disconnect other
connection other
SELECT @x;
----
NULL

SELECT 'a|b', 'tab	here', ' x ', 'NULL', 'ok';
----
a\|b | tab\there | \x20x\x20 | \NULL | ok

skip-prepared
SELECT 'ok';
----
\ok

file people.csv <<END
1,ann

2,"b"
END
SELECT '$FILE(people.csv)' = concat('$TMP', '/people.csv');
----
1
`)
	report, err := Run(t.Context(), dsn, script, Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	checkPassed(t, report)
	text, _ := report.Count(Text)
	prepared, _ := report.Count(Prepared)
	if text != 22 || prepared != text {
		t.Errorf("%d statements as text, %d prepared, want 22 of each", text, prepared)
	}
	asText := 0
	for _, r := range report.Results {
		if r.Mode == Prepared && r.AsText {
			asText++
		}
	}
	if asText != 2 { // let, skip-prepared
		t.Errorf("%d statements were sent as text in prepared mode, want 2", asText)
	}
}

func checkPassed(t *testing.T, r *Report) {
	t.Helper()
	if r.Failed() {
		t.Errorf("failures:\n%s", failuresOf(t, r))
	}
}

func TestTheDatabaseIsFreshAndGoesAway(t *testing.T) {
	dsn := memoryServer(t)
	script := parse(t, "dir/My first-script.test", "CREATE TABLE t (id INT);\nSELECT DATABASE();\n----\nmy_first_script\n")
	check := parse(t, "look.test", "database none\nSHOW DATABASES LIKE 'my%';\n----\n")
	for range 2 {
		for _, s := range []*Script{script, check} {
			r, err := Run(t.Context(), dsn, s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkPassed(t, r)
		}
	}
	if _, err := Run(t.Context(), dsn, script, Options{KeepDatabase: true}); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), dsn, check, Options{Modes: []Mode{Text}})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Failed() {
		t.Error("the database was not kept")
	}
}

// wrong says the opposite of what the server does, in each way that there is.
const wrong = `CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50));
----
error 1050

INSERT INTO t VALUES (1, 'one'), (2, 'two');
----
affected 3

SELECT * FROM t ORDER BY id;
----
1 | one
2 | zwei
3 | three

SELECT id FROM t ORDER BY id DESC;
----
1
2

SELECT * FROM nowhere;
----
1

SELECT * FROM nowhere;
----
error 1064

SELECT * FROM nowhere;
INSERT INTO t VALUES (3, 'three');
----

columns id:VARCHAR | t
SELECT * FROM t WHERE id = 3;
----
3 | three

DROP TABLE IF EXISTS nowhere;
----
ok
---- warnings

let $text = SELECT 'three and more';
INSERT INTO t VALUES (4, '$text'), (5, '${text}_x'), (6, '$$text');
SELECT s FROM t WHERE id > 3;

SELECT s FROM t WHERE id > 3;
----

SELECT id FROM t WHERE id = 1;
----
1

let $none = SELECT id FROM t WHERE id = 99;
SELECT '$none';
SELECT 1;
----
2
`

// wrongLines are the lines of the statements that fail.
var wrongLines = []int{1, 5, 9, 15, 20, 24, 28, 29, 33, 37, 46, 53, 54, 55}

func TestEachDifferenceIsAFailure(t *testing.T) {
	dsn := memoryServer(t)
	report, err := Run(t.Context(), dsn, parse(t, "wrong.test", wrong), Options{Modes: []Mode{Text}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, r := range report.Results {
		if r.Failure != "" {
			lines = append(lines, r.Line)
		}
	}
	diff(t, "lines that fail", lines, wrongLines)
	text := failuresOf(t, report)
	for _, want := range []string{
		"wrong.test:1: failed (text)\n    CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50))\n    want error 1050\n     got success\n",
		"    - affected 3\n    + affected 2\n",
		"      1 | one\n    - 2 | zwei\n    - 3 | three\n    + 2 | two\n",
		"    - 1\n      2\n    + 1\n",
		"want a result of 1 rows\n     got error 1146",
		"want error 1064\n     got error 1146",
		"want success\n     got error 1146",
		"want a result of 0 rows\n     got affected 1",
		"columns: want id:VARCHAR | t\n              got id:INT | s:VARCHAR\n",
		"warnings:\n    + Note 1051",
		"want one value\n     got no row\n",
		"$none has no value, since the step that sets it failed",
	} {
		if !containsText(text, want) {
			t.Errorf("the report lacks\n%s", want)
		}
	}
	if t.Failed() {
		t.Log("report:\n" + text)
	}
}

func TestRewritingMakesAScriptThatPasses(t *testing.T) {
	dsn := memoryServer(t)
	// Without the steps that no block can make right.
	from := wrong[:len(wrong)-len("let $none = SELECT id FROM t WHERE id = 99;\nSELECT '$none';\nSELECT 1;\n----\n2\n")]
	script := parse(t, "rewritten.test", from)
	report, err := Run(t.Context(), dsn, script, Options{Rewrite: true})
	if err != nil {
		t.Fatal(err)
	}
	want := `CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50));
----
ok

INSERT INTO t VALUES (1, 'one'), (2, 'two');
----
affected 2

SELECT * FROM t ORDER BY id;
----
1 | one
2 | two

SELECT id FROM t ORDER BY id DESC;
----
2
1

SELECT * FROM nowhere;
----
error 1146 (HY000): table not found: nowhere

SELECT * FROM nowhere;
----
error 1146 (HY000): table not found: nowhere

SELECT * FROM nowhere;
----
error 1146 (HY000): table not found: nowhere

INSERT INTO t VALUES (3, 'three');
----
affected 1

columns id:INT | s:VARCHAR
SELECT * FROM t WHERE id = 3;
----
3 | three

DROP TABLE IF EXISTS nowhere;
----
ok
---- warnings
Note 1051: Unknown table 'nowhere'

let $text = SELECT 'three and more';
INSERT INTO t VALUES (4, '$text'), (5, '${text}_x'), (6, '$$text');
SELECT s FROM t WHERE id > 3;

SELECT s FROM t WHERE id > 3;
----
$$text
$text
${text}_x

SELECT id FROM t WHERE id = 1;
----
1

`
	diff(t, "rewritten script", string(report.Rewritten), want)
	again, err := Run(t.Context(), dsn, parse(t, "rewritten.test", string(report.Rewritten)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkPassed(t, again)
	third, err := Run(t.Context(), dsn, parse(t, "rewritten.test", string(report.Rewritten)), Options{Rewrite: true})
	if err != nil {
		t.Fatal(err)
	}
	if third.Rewritten != nil {
		t.Errorf("a script that passes was rewritten:\n%s", third.Rewritten)
	}
}

func TestWhatKeepsAScriptFromBeingPlayedIsAnError(t *testing.T) {
	script := parse(t, "s.test", "SELECT 1;\n")
	if _, err := Run(t.Context(), "no dsn", script, Options{}); err == nil {
		t.Error("a bad data source name was taken")
	}
	if _, err := Run(t.Context(), "root@tcp(127.0.0.1:1)/", script, Options{}); err == nil {
		t.Error("a server that is not there played")
	}
	dsn := memoryServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, dsn, script, Options{}); err == nil {
		t.Error("an ended context played")
	}
	if _, err := Run(t.Context(), dsn, parse(t, "s.test", "disconnect other\n"), Options{}); err == nil {
		t.Error("a connection that was never opened was closed")
	}
}
