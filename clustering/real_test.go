package clustering

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/internal/fixtures"
)

func attach(t *testing.T, name string, o Options) *bed {
	t.Helper()
	base := fixtures.Table(t, name)
	b := newBed(t, engine.Options{AllowPaths: []string{filepath.Dir(base)}}, o, engine.TableSpec{})
	var err error
	if b.tab, err = b.w.AttachTable(context.Background(), "db", "real", base); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRealTablesOfEveryTypeAreSorted clusters tables that Hudi wrote by each of their plain columns
// in turn, with a budget that few rows exceed, so that ranges of every type are made.
func TestRealTablesOfEveryTypeAreSorted(t *testing.T) {
	for _, name := range []string{"v6_logical_types", "v6_dfs_source_nested_table", "v6_trips_keyless", "v6_complexkeygen_hivestyle"} {
		t.Run(name, func(t *testing.T) {
			b := attach(t, name, Options{MemoryBytes: 2000})
			rows := b.content(b.snapshot())
			n := 0
			for _, f := range b.snapshot().Schema().Fields {
				if f.Type.Kind.Nested() {
					continue
				}
				n++
				before := b.snapshot()
				res := b.run(Request{OrderBy: []string{strings.ToUpper(f.Name)}})
				if len(res.Rows) != 1 {
					t.Fatalf("%s: %+v", f.Name, res)
				}
				s := b.snapshot()
				if b.content(s) != rows {
					t.Fatalf("%s: rows changed", f.Name)
				}
				for _, p := range s.Partitions() {
					checkLayout(t, s, p, []string{f.Name})
				}
				// Who reads the table as of before sees the files of before.
				old, err := b.tab.SnapshotAsOf(context.Background(), before.Instant())
				if err != nil || old.Files() != before.Files() || b.content(old) != rows {
					t.Fatalf("%s: as of %s: %v", f.Name, before.Instant(), err)
				}
			}
			if n < 3 {
				t.Fatalf("%d columns", n)
			}
		})
	}
}

// TestTablesThatAreNotWritten: what the engine does not write is refused before anything is stored.
func TestTablesThatAreNotWritten(t *testing.T) {
	b := attach(t, "v5_non_part_clustered", Options{})
	_, err := b.s.Run(context.Background(), b.tab, Request{}, nil)
	if err == nil || !strings.Contains(err.Error(), "version 5") {
		t.Fatalf("got %v", err)
	}
	// The clustering that is there, of another engine, is listed.
	if list, err := b.s.Show(context.Background(), b.tab, 0); err != nil || len(list) != 1 || list[0].State != "COMPLETED" || list[0].InputGroups < 1 {
		t.Fatalf("%+v %v", list, err)
	}
}
