package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/column"
)

// fixtureTables are the copy-on-write tables of versions up to 6 written by Hudi, with the number
// of rows that the fixtures' own documentation states.
var fixtureTables = map[string]int{
	"v3_multiwriter_trips": 3000, "v3_stock_ticks": 99, "v5_cow_pt_tbl": 2, "v5_non_part_clustered": 3,
	"v6_complexkeygen_hivestyle": 4, "v6_dfs_source_nested_table": 50, "v6_empty": 0, "v6_logical_types": 20,
	"v6_nonpartitioned": 4, "v6_simplekeygen_hivestyle_no_metafields": 4, "v6_simplekeygen_nonhivestyle": 4,
	"v6_trips_keyless": 5,
}

// noRowsFile are tables whose rows are too many to be listed.
var noRowsFile = map[string]bool{"v3_multiwriter_trips": true}

// attachFixture serves a fixture table in a fresh warehouse.
func attachFixture(t *testing.T, name string) *Table {
	t.Helper()
	base := fixtures.Table(t, name)
	w, err := OpenWarehouse(context.Background(), Options{Root: t.TempDir(), AllowPaths: []string{filepath.Dir(base)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.CreateDatabase(context.Background(), "db"); err != nil {
		t.Fatal(err)
	}
	tab, err := w.AttachTable(context.Background(), "db", name, base)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestFixtureTablesGiveTheirRows(t *testing.T) {
	fixtures.Dir(t)
	for name, want := range fixtureTables {
		t.Run(name, func(t *testing.T) {
			tab := attachFixture(t, name)
			before := files(t, tab.BasePath())
			s := snapshot(t, tab)
			if n, exact := s.Rows(); int(n) != want || !exact {
				t.Errorf("%d rows (exact %v), want %d", n, exact, want)
			}
			got := jsonRows(t, s)
			if len(got) != want {
				t.Fatalf("%d rows scanned, want %d", len(got), want)
			}
			if !noRowsFile[name] {
				compareRows(t, got, fixtures.Expected(t, name))
			}
			for _, instant := range fixtures.Instants(t, name) {
				old, err := tab.SnapshotAsOf(context.Background(), instant)
				if err != nil {
					t.Fatal(err)
				}
				compareRows(t, jsonRows(t, old), fixtures.ExpectedAsOf(t, name, instant))
			}
			if after := files(t, tab.BasePath()); !slices.Equal(before, after) {
				t.Errorf("reading changed the table's folder:\n%q\n%q", before, after)
			}
		})
	}
}

// TestFixtureTimeTravel checks row counts as of each instant of the table with seven commits.
func TestFixtureTimeTravel(t *testing.T) {
	fixtures.Dir(t)
	tab := attachFixture(t, "v3_multiwriter_trips")
	for instant, want := range map[string]struct {
		rows int
		sum  int64 // of distance_in_meters
	}{
		"20211022144701": {1000, -33115815744}, "20211022144707": {1450, -5220454591},
		"20211022144712": {1900, 43797957151}, "20211022144717": {2350, 39430565483},
		"20211022144722": {2800, 62606948774}, "20211022144726": {3000, -1349065184},
		"20211022144731": {3000, -25562568185},
	} {
		s, err := tab.SnapshotAsOf(context.Background(), instant)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		var sum int64
		for _, row := range jsonRows(t, s) {
			d, err := row["distance_in_meters"].(json.Number).Int64()
			if err != nil {
				t.Fatal(err)
			}
			n++
			sum += d
		}
		if n != want.rows || sum != want.sum {
			t.Errorf("%s: %d rows, sum %d; want %d, %d", instant, n, sum, want.rows, want.sum)
		}
	}
}

// TestFixturesOfLaterVersionsAreRefusedByName covers what this engine does not read.
func TestFixturesOfLaterVersionsAreRefusedByName(t *testing.T) {
	fixtures.Dir(t)
	for name, want := range map[string]string{
		"v8_nonpartitioned":       "table version 8",
		"v9_txns_simple_nometa":   "table version 9",
		"mor_v6_nonpartitioned":   "MERGE_ON_READ",
		"v9_lance_nonpartitioned": "table version 9",
	} {
		base := fixtures.Table(t, name)
		w, err := OpenWarehouse(context.Background(), Options{Root: t.TempDir(), AllowPaths: []string{"/"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.CreateDatabase(context.Background(), "db"); err != nil {
			t.Fatal(err)
		}
		if _, err = w.AttachTable(context.Background(), "db", name, base); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		w.Close()
	}
}

// jsonRows reads all columns but sequence number and file name, which the expected rows leave out.
func jsonRows(t *testing.T, s *Snapshot) []map[string]any {
	t.Helper()
	ctx := context.Background()
	var cols []string
	for _, n := range s.FullSchema().Names() {
		if n != column.MetaCommitSeqno && n != column.MetaFileName {
			cols = append(cols, n)
		}
	}
	sc, err := s.Scan(ctx, ScanOptions{Columns: cols})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	var out []map[string]any
	for {
		b, err := sc.Next(ctx)
		if err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len {
			row := map[string]any{}
			for c, v := range b.Cols {
				d := json.NewDecoder(strings.NewReader(string(column.AppendJSON(nil, v, i))))
				d.UseNumber()
				var x any
				if err := d.Decode(&x); err != nil {
					t.Fatalf("column %s: %v", cols[c], err)
				}
				row[cols[c]] = x
			}
			out = append(out, row)
		}
	}
}

func compareRows(t *testing.T, got, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	order := func(rows []map[string]any) {
		key := func(r map[string]any) string {
			return fmt.Sprint(r["_hoodie_partition_path"], r["_hoodie_record_key"], r["id"], r["key"])
		}
		sort.Slice(rows, func(i, j int) bool { return key(rows[i]) < key(rows[j]) })
	}
	order(got)
	order(want)
	for i := range want {
		for name, w := range want[i] {
			if g := got[i][name]; !same(g, w) {
				t.Errorf("row %d, %s: got %v, want %v", i, name, g, w)
			}
		}
		for name, g := range got[i] {
			if _, ok := want[i][name]; !ok && g != nil {
				t.Errorf("row %d: column %s is not expected", i, name)
			}
		}
	}
}

// same compares a value of ours with an expected one: large integers, decimals and times are
// strings there, and floats are widened to doubles.
func same(got, want any) bool {
	switch w := want.(type) {
	case nil:
		return got == nil
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			if !same(g[k], w[k]) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case json.Number:
		g, ok := got.(json.Number)
		if !ok {
			return false
		}
		a, _ := g.Float64()
		b, _ := w.Float64()
		return g == w || a == b || math.Abs(a-b) <= 1e-6*math.Abs(b)
	case string:
		if g, ok := got.(json.Number); ok {
			return g.String() == w
		}
		g, ok := got.(string)
		return ok && (g == w || plainTime(g) == plainTime(w))
	}
	return got == want
}

// plainTime drops the zone and a fraction's trailing zeros.
func plainTime(s string) string {
	s = strings.TrimSuffix(s, "+00")
	if i := strings.IndexByte(s, '.'); i >= 0 && strings.Contains(s, ":") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
