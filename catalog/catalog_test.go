package catalog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openTest(t *testing.T) *Catalog {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "catalog.db"))
}

func openAt(t *testing.T, path string) *Catalog {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// putTable adds table db.name and returns its id.
func putTable(t *testing.T, c *Catalog, name string) int64 {
	t.Helper()
	if err := c.PutDatabase(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	id, err := c.PutTable(t.Context(), Table{Database: "db", Name: name, Path: "/w/db/" + name})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTablesBelongToDatabases(t *testing.T) {
	c, ctx := openTest(t), t.Context()
	if _, err := c.PutTable(ctx, Table{Database: "nowhere", Name: "t", Path: "/p"}); !errors.Is(err, ErrNoDatabase) {
		t.Fatalf("table in an unknown database: %v", err)
	}
	for _, n := range []string{"b", "a", "b"} {
		check(t, c.PutDatabase(ctx, n))
	}
	dbs, err := c.Databases(ctx)
	check(t, err)
	diff(t, "databases", dbs, []string{"a", "b"})

	ids := map[string]int64{}
	for _, e := range []Table{
		{Database: "b", Name: "t2", Path: "/w/b/t2"},
		{Database: "b", Name: "t1", Path: "/w/b/t1"},
		{Database: "a", Name: "t1", Path: "/x y/ä'\"", Attached: true},
	} {
		id, err := c.PutTable(ctx, e)
		check(t, err)
		ids[e.Database+"."+e.Name] = id
	}
	tables, err := c.Tables(ctx)
	check(t, err)
	diff(t, "tables", tables, []Table{
		{ID: ids["a.t1"], Database: "a", Name: "t1", Path: "/x y/ä'\"", Attached: true},
		{ID: ids["b.t1"], Database: "b", Name: "t1", Path: "/w/b/t1"},
		{ID: ids["b.t2"], Database: "b", Name: "t2", Path: "/w/b/t2"},
	})

	check(t, c.DropTable(ctx, ids["b.t1"]))
	check(t, c.DropTable(ctx, ids["b.t1"])) // again: nothing to do
	check(t, c.DropDatabase(ctx, "a"))
	check(t, c.DropDatabase(ctx, "nowhere"))
	tables, err = c.Tables(ctx)
	check(t, err)
	diff(t, "tables left", tables, []Table{{ID: ids["b.t2"], Database: "b", Name: "t2", Path: "/w/b/t2"}})
}

func TestPuttingATableAgainKeepsItsStateUnlessThePathChanges(t *testing.T) {
	c, ctx := openTest(t), t.Context()
	id := putTable(t, c, "t")
	check(t, c.ReplaceState(ctx, id, &State{Fingerprint: "f"}))

	again, err := c.PutTable(ctx, Table{Database: "db", Name: "t", Path: "/w/db/t", Attached: true})
	check(t, err)
	if again != id {
		t.Fatalf("same path: id %d became %d", id, again)
	}
	s, err := c.LoadState(ctx, id)
	check(t, err)
	diff(t, "state", s, &State{Fingerprint: "f"})

	moved, err := c.PutTable(ctx, Table{Database: "db", Name: "t", Path: "/elsewhere"})
	check(t, err)
	if moved == id {
		t.Fatal("another path kept the id")
	}
	if s, err := c.LoadState(ctx, moved); s != nil || err != nil {
		t.Fatalf("state of the table at the new path: %v, %v", s, err)
	}
	if err := c.ReplaceState(ctx, id, &State{}); !errors.Is(err, ErrNoTable) {
		t.Fatalf("storing under the old id: %v", err)
	}
}

func TestIdsAreNotUsedAgain(t *testing.T) {
	c := openTest(t)
	first := putTable(t, c, "t")
	check(t, c.DropTable(t.Context(), first))
	if second := putTable(t, c, "t"); second == first {
		t.Fatalf("id %d was given twice", first)
	}
}

func TestNothingStoredIsNil(t *testing.T) {
	c := openTest(t)
	for _, id := range []int64{putTable(t, c, "t"), 99} {
		if s, err := c.LoadState(t.Context(), id); s != nil || err != nil {
			t.Errorf("table %d: %v, %v", id, s, err)
		}
	}
}

func TestStateAndDelta(t *testing.T) {
	c, ctx := openTest(t), t.Context()
	id, other := putTable(t, c, "t"), putTable(t, c, "other")
	otherState := &State{Fingerprint: "o", Instants: []Instant{{"20260101000000000", "commit", "completed", ""}}, Partitions: []string{""}}
	check(t, c.ReplaceState(ctx, other, otherState))

	old := &State{
		Fingerprint: "gone",
		Instants:    []Instant{{"1", "commit", "requested", ""}},
		Partitions:  []string{"x"},
		Slices:      []Slice{{"x", "f", "1", "f_1.parquet", 1, 1}},
		Replaced:    []Replaced{{"x", "g", "1"}},
	}
	check(t, c.ReplaceState(ctx, id, old))
	first := &State{
		Fingerprint: "one",
		Instants: []Instant{
			{"20260101000000000", "commit", "completed", "INSERT"},
			{"20260101000000000", "commit", "requested", ""},
			{"20260102000000000", "commit", "inflight", ""},
		},
		Partitions: []string{"", "day=1", "day=2"},
		Slices: []Slice{
			{"", "fa", "20260101000000000", "fa_0_20260101000000000.parquet", 1 << 40, -1},
			{"day=1", "fa", "20260101000000000", "a.parquet", 10, 0},
			{"day=2", "fb", "20260101000000000", "b.parquet", 20, 7},
		},
		Replaced: []Replaced{{"day=1", "fx", "20260101000000000"}},
	}
	check(t, c.ReplaceState(ctx, id, first))
	got, err := c.LoadState(ctx, id)
	check(t, err)
	diff(t, "state", got, first)

	check(t, c.ApplyDelta(ctx, id, &Delta{
		Base:           "one",
		Fingerprint:    "two",
		DropInstants:   []Instant{{Time: "20260102000000000", Action: "commit", State: "inflight"}, {Time: "never", Action: "commit", State: "completed"}},
		PutInstants:    []Instant{{"20260101000000000", "commit", "completed", "UPSERT"}, {"20260103000000000", "replacecommit", "completed", "CLUSTER"}},
		AddPartitions:  []string{"day=3", "day=1"},
		DropPartitions: []string{""},
		AddSlices:      []Slice{{"day=2", "fb", "20260103000000000", "b2.parquet", 21, 8}, {"day=2", "fb", "20260101000000000", "b.parquet", 20, 9}},
		DropSlices:     []Slice{{Partition: "", FileID: "fa", Instant: "20260101000000000"}},
		AddReplaced:    []Replaced{{"day=1", "fa", "20260103000000000"}},
		DropReplaced:   []Replaced{{"day=1", "fx", "20260101000000000"}},
	}))
	got, err = c.LoadState(ctx, id)
	check(t, err)
	second := &State{
		Fingerprint: "two",
		Instants: []Instant{
			{"20260101000000000", "commit", "completed", "UPSERT"},
			{"20260101000000000", "commit", "requested", ""},
			{"20260103000000000", "replacecommit", "completed", "CLUSTER"},
		},
		Partitions: []string{"day=1", "day=2", "day=3"},
		Slices: []Slice{
			{"day=1", "fa", "20260101000000000", "a.parquet", 10, 0},
			{"day=2", "fb", "20260101000000000", "b.parquet", 20, 9},
			{"day=2", "fb", "20260103000000000", "b2.parquet", 21, 8},
		},
		Replaced: []Replaced{{"day=1", "fa", "20260103000000000"}},
	}
	diff(t, "state after the delta", got, second)

	if err := c.ApplyDelta(ctx, id, &Delta{Base: "one", Fingerprint: "three", AddPartitions: []string{"no"}}); !errors.Is(err, ErrStale) {
		t.Fatalf("delta from an older state: %v", err)
	}
	got, err = c.LoadState(ctx, id)
	check(t, err)
	diff(t, "state after a refused delta", got, second)

	got, err = c.LoadState(ctx, other)
	check(t, err)
	diff(t, "state of the other table", got, otherState)
}

func TestDeltaNeedsAState(t *testing.T) {
	c := openTest(t)
	id := putTable(t, c, "t")
	if err := c.ApplyDelta(t.Context(), id, &Delta{Fingerprint: "f"}); !errors.Is(err, ErrNoState) {
		t.Errorf("table without state: %v", err)
	}
	if err := c.ApplyDelta(t.Context(), id+1, &Delta{Fingerprint: "f"}); !errors.Is(err, ErrNoTable) {
		t.Errorf("no table: %v", err)
	}
	if err := c.ReplaceState(t.Context(), id+1, &State{}); !errors.Is(err, ErrNoTable) {
		t.Errorf("replace without table: %v", err)
	}
}

func TestPlans(t *testing.T) {
	c, ctx := openTest(t), t.Context()
	id := putTable(t, c, "t")
	zone := time.FixedZone("", 3600)
	p := Plan{
		Instant: "20260102000000000", State: "inflight", Strategy: "size", Order: "linear(a,b)",
		Groups: 3, GroupsDone: 1, InputFiles: 12, InputBytes: 1 << 41, RowsIn: 5e9, RowsDone: 4e9,
		OutputFiles: 2, OutputBytes: 1 << 40, Owner: "host:1", Error: "e", Reason: "r",
		Started: time.Date(2026, 1, 2, 1, 0, 0, 123456789, zone), Updated: time.Date(2026, 1, 2, 2, 0, 0, 0, zone),
	}
	check(t, c.PutPlan(ctx, id, Plan{Instant: p.Instant, State: "requested"}))
	check(t, c.PutPlan(ctx, id, p))
	check(t, c.PutPlan(ctx, id, Plan{Instant: "20260103000000000", State: "requested"}))
	got, err := c.Plans(ctx, id)
	check(t, err)
	want := p
	want.Started = time.Date(2026, 1, 2, 0, 0, 0, 123456000, time.UTC)
	want.Updated = time.Date(2026, 1, 2, 1, 0, 0, 0, time.UTC)
	diff(t, "plans", got, []Plan{{Instant: "20260103000000000", State: "requested"}, want})

	if err := c.PutPlan(ctx, id+1, p); !errors.Is(err, ErrNoTable) {
		t.Errorf("plan of no table: %v", err)
	}
	check(t, c.DropTable(ctx, id))
	if got, err := c.Plans(ctx, id); len(got) != 0 || err != nil {
		t.Errorf("plans of a dropped table: %v, %v", got, err)
	}
}

func TestAnEndedContextIsTheError(t *testing.T) {
	c := openTest(t)
	id := putTable(t, c, "t")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("killed")
	s := &State{Fingerprint: "f"}
	for i := range 1000 {
		s.Partitions = append(s.Partitions, fmt.Sprint(i))
	}
	err := c.update(ctx, "cut short", func(tx *tx) error {
		check(t, tx.setFingerprint(id, "half"))
		cancel(why)
		for { // until database/sql has seen it
			if err := tx.add(id, nil, s.Partitions, nil, nil); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if s, err := c.LoadState(t.Context(), id); s != nil || err != nil {
		t.Errorf("a cut transaction left %v, %v", s, err)
	}
}

// TestConcurrentWriters has several goroutines over two openings of one file, as two processes
// would have them: nobody fails, and every read sees whole states.
func TestConcurrentWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	catalogs := make([]*Catalog, 2)
	var opening sync.WaitGroup
	for i := range catalogs {
		opening.Go(func() {
			c, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			catalogs[i] = c
		})
	}
	opening.Wait()
	if t.Failed() {
		return
	}
	for _, c := range catalogs {
		defer c.Close()
	}
	id := putTable(t, catalogs[0], "t")
	check(t, catalogs[0].ReplaceState(t.Context(), id, &State{Fingerprint: "start"}))

	const writers, rounds, slices = 4, 10, 20
	var wg sync.WaitGroup
	for w := range writers {
		c := catalogs[w%len(catalogs)]
		wg.Go(func() {
			for r := range rounds {
				d := &Delta{Fingerprint: fmt.Sprintf("%d.%d", w, r), AddPartitions: []string{fmt.Sprint(w)}}
				for i := range slices {
					d.AddSlices = append(d.AddSlices, Slice{fmt.Sprint(w), fmt.Sprintf("f%d", i), fmt.Sprint(r), "n", 1, 1})
				}
				if err := c.ApplyDelta(t.Context(), id, d); err != nil {
					t.Error(err)
				}
				s, err := c.LoadState(t.Context(), id)
				if err != nil {
					t.Error(err)
				} else if len(s.Slices)%slices != 0 {
					t.Errorf("saw a part of a delta: %d slices", len(s.Slices))
				}
			}
		})
	}
	wg.Wait()
	s, err := catalogs[1].LoadState(t.Context(), id)
	check(t, err)
	if len(s.Slices) != writers*rounds*slices || len(s.Partitions) != writers {
		t.Errorf("%d slices, %d partitions", len(s.Slices), len(s.Partitions))
	}
}
