package sqltest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/storage"
)

// These tests play real data over the wire: tables that Hudi wrote, and a public Parquet file.

// realTables are the copy-on-write tables of version 6, with their number of rows as the
// fixtures' documentation states it, and a column to cluster by.
var realTables = map[string]struct {
	rows  int
	order string
}{
	"v6_complexkeygen_hivestyle":              {4, "name,id"},
	"v6_dfs_source_nested_table":              {50, "rider,driver"},
	"v6_empty":                                {0, "id"},
	"v6_logical_types":                        {20, "rider"},
	"v6_nonpartitioned":                       {4, "name"},
	"v6_simplekeygen_hivestyle_no_metafields": {4, "name"},
	"v6_simplekeygen_nonhivestyle":            {4, "id"},
	"v6_trips_keyless":                        {5, "rider"},
}

// realServer starts a server and returns a connection to an empty database on it.
func realServer(t *testing.T) (*sql.DB, string) {
	t.Helper()
	dir := t.TempDir()
	if startServer == nil {
		t.Skip("no server to test on")
	}
	db, err := sql.Open("mysql", startServer(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	mustExec(t, db, "CREATE DATABASE real_data")
	mustExec(t, db, "USE real_data")
	return db, dir
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// queryRows reads a result as maps of text; NULL is absent.
func queryRows(t *testing.T, db *sql.DB, query string, args ...any) []map[string]string {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for rows.Next() {
		cells := make([]sql.NullString, len(names))
		ptrs := make([]any, len(names))
		for i := range cells {
			ptrs[i] = &cells[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for i, n := range names {
			if cells[i].Valid {
				row[n] = cells[i].String
			}
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

func TestTablesOfHudiOverTheWire(t *testing.T) {
	fixtures.Dir(t)
	db, dir := realServer(t)
	for name, real := range realTables {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(dir, name)
			if err := os.CopyFS(base, os.DirFS(fixtures.Table(t, name))); err != nil {
				t.Fatal(err)
			}
			mustExec(t, db, "CALL attach_table(table => ?, path => ?)", "real_data."+name, base)
			all := "SELECT _hoodie_commit_time, _hoodie_record_key, _hoodie_partition_path, " + quoted(columnsOf(t, db, name)) + " FROM " + name
			want := fixtures.Expected(t, name)
			if len(want) != real.rows {
				t.Fatalf("%d rows expected, the documentation says %d", len(want), real.rows)
			}
			before := queryRows(t, db, all)
			compareText(t, before, want)
			if got := queryRows(t, db, "SELECT COUNT(*) AS n FROM "+name)[0]["n"]; got != strconv.Itoa(real.rows) {
				t.Errorf("COUNT(*) is %s", got)
			}
			files := len(queryRows(t, db, "SELECT DISTINCT _hoodie_file_name FROM "+name))
			mustExec(t, db, "CALL run_clustering(table => ?, order => ?)", name, real.order)
			compareText(t, queryRows(t, db, all), want)
			if n := len(queryRows(t, db, "SELECT DISTINCT _hoodie_file_name FROM "+name)); n > files {
				t.Errorf("%d files after clustering, %d before", n, files)
			}
			mustExec(t, db, "CALL detach_table(table => ?)", name)
		})
	}
}

func columnsOf(t *testing.T, db *sql.DB, table string) []string {
	t.Helper()
	var out []string
	for _, r := range queryRows(t, db, "SHOW COLUMNS FROM "+table) {
		out = append(out, r["Field"])
	}
	return out
}

func quoted(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, "`"+n+"`")
	}
	return strings.Join(out, ", ")
}

func compareText(t *testing.T, got []map[string]string, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	used := make([]bool, len(got))
	for _, w := range want {
		found := false
		for i, g := range got {
			if !used[i] && sameRow(g, w) {
				used[i], found = true, true
				break
			}
		}
		if !found {
			t.Errorf("no row like %v\namong %v", w, got)
			return
		}
	}
}

func sameRow(got map[string]string, want map[string]any) bool {
	for name, w := range want {
		g, ok := got[name]
		if w == nil {
			if ok {
				return false
			}
			continue
		}
		if !ok || !sameCell(g, w) {
			return false
		}
	}
	return true
}

// sameCell compares a cell's text with an expected JSON value.
func sameCell(got string, want any) bool {
	switch w := want.(type) {
	case bool:
		return got == map[bool]string{true: "1", false: "0"}[w] || got == strconv.FormatBool(w)
	case json.Number:
		return sameNumber(got, w.String())
	case string:
		return got == w || fmt.Sprintf("%x", got) == w || plainTime(got) == plainTime(w) ||
			strings.Contains(w, ".") && sameNumber(got, w)
	}
	d := json.NewDecoder(strings.NewReader(got))
	d.UseNumber()
	var g any
	if d.Decode(&g) != nil {
		return false
	}
	return sameJSON(g, want)
}

func sameJSON(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			if !sameJSON(g[k], w[k]) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, w, sameJSON)
	case nil:
		return got == nil
	case bool:
		return got == w
	}
	return sameCell(fmt.Sprint(got), want)
}

func sameNumber(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && (x == y || math.Abs(x-y) <= 1e-6*math.Abs(y))
}

func plainTime(s string) string {
	s = strings.TrimSuffix(s, "+00")
	if strings.Contains(s, ":") && strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// TestRealParquetFileInFiftyCommits imports a public file of 231,083 flights in 50 commits, asks,
// clusters by two columns and asks again. The sums are those of the file's documentation.
func TestRealParquetFileInFiftyCommits(t *testing.T) {
	source := filepath.Join(fixtures.Dir(t), "parquet", "real", "flights-200k.parquet")
	db, dir := realServer(t)
	parts := splitParquet(t, source, dir, 50)
	mustExec(t, db, "CREATE TABLE flights (delay INT, distance INT, time FLOAT)")
	for _, p := range parts {
		mustExec(t, db, "CALL import_files(table => 'flights', path => ?)", p)
	}
	questions := []string{
		"SELECT COUNT(*), SUM(delay), SUM(distance), MIN(time), MAX(time) FROM flights",
		"SELECT COUNT(*), SUM(distance) FROM flights WHERE delay BETWEEN 100 AND 110 AND distance > 1000",
		"SELECT COUNT(*), MIN(time) FROM flights WHERE delay = 60 AND distance < 300",
		"SELECT delay, COUNT(*) AS n FROM flights WHERE delay > 300 GROUP BY delay ORDER BY n DESC, delay LIMIT 5",
	}
	ask := func() (answers []string) {
		for _, q := range questions {
			answers = append(answers, fmt.Sprint(queryRows(t, db, q)))
		}
		return answers
	}
	before := ask()
	total := queryRows(t, db, questions[0])[0]
	for name, want := range map[string]string{"COUNT(*)": "231083", "SUM(delay)": "1833299", "SUM(distance)": "117113444",
		"MIN(time)": "0.016666668", "MAX(time)": "23.983334"} {
		if !sameNumber(total[name], want) {
			t.Errorf("%s is %s, want %s", name, total[name], want)
		}
	}
	files := func() int { return len(queryRows(t, db, "SELECT DISTINCT _hoodie_file_name FROM flights")) }
	if n := files(); n != 50 {
		t.Fatalf("%d files after 50 commits", n)
	}
	mustExec(t, db, "CALL run_clustering(table => 'flights', order => 'delay,distance', options => 'hoodie.clustering.plan.strategy.target.file.max.bytes=1000000')")
	if after := ask(); !slices.Equal(before, after) {
		t.Errorf("answers changed:\n%s\nwere\n%s", after, before)
	}
	n := files()
	if n >= 50 || n < 2 {
		t.Errorf("%d files after clustering", n)
	}
	queryRows(t, db, questions[2])
	st := queryRows(t, db, "CALL show_scan_stats()")
	if read, err := strconv.Atoi(st[0]["files_read"]); err != nil || read >= n {
		t.Errorf("the point query read %v of %d files", st, n)
	}
}

// splitParquet writes the rows of a Parquet file as n files.
func splitParquet(t *testing.T, source, dir string, n int) []string {
	t.Helper()
	ctx := context.Background()
	st, err := storage.NewLocal(filepath.Dir(source))
	if err != nil {
		t.Fatal(err)
	}
	f, err := st.Open(ctx, filepath.Base(source))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	bf, err := basefile.Open(f, source)
	if err != nil {
		t.Fatal(err)
	}
	var batches []*column.Batch
	for g := range bf.NumRowGroups() {
		r := bf.Read(ctx, g, nil, int(bf.Rows()))
		for {
			b, err := r.Next()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, b)
		}
	}
	all := column.ConcatBatches(bf.Schema(), batches)
	var out []string
	for i := range n {
		var buf bytes.Buffer
		w, err := basefile.NewWriter(&buf, basefile.WriterOptions{Schema: bf.Schema()})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(all.Slice(i*all.Len/n, (i+1)*all.Len/n)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("part-%02d.parquet", i))
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}
