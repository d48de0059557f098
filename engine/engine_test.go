package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/timeline"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

func openTestWarehouse(t testing.TB, root string) *Warehouse {
	t.Helper()
	w, err := OpenWarehouse(context.Background(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// tripSchema is id BIGINT, city STRING, fare DOUBLE NULL.
func tripSchema() *column.Schema {
	return &column.Schema{Fields: []column.Field{
		{Name: "id", Type: column.Type{Kind: column.Int64}},
		{Name: "city", Type: column.Type{Kind: column.String}, Nullable: true},
		{Name: "fare", Type: column.Type{Kind: column.Float64}, Nullable: true},
	}}
}

type trip struct {
	id   int64
	city string
	fare float64 // negative: NULL
}

func tripBatch(trips ...trip) *column.Batch {
	s := tripSchema()
	id, city, fare := column.NewBuilder(s.Fields[0].Type, 0), column.NewBuilder(s.Fields[1].Type, 0), column.NewBuilder(s.Fields[2].Type, 0)
	for _, tr := range trips {
		id.AppendInt64(tr.id)
		city.AppendBytes([]byte(tr.city))
		if tr.fare < 0 {
			fare.AppendNull()
		} else {
			fare.AppendFloat64(tr.fare)
		}
	}
	return &column.Batch{Schema: s, Len: len(trips), Cols: []*column.Vector{id.Finish(), city.Finish(), fare.Finish()}}
}

func newTrips(t testing.TB, w *Warehouse, name string, spec TableSpec) *Table {
	t.Helper()
	ctx := context.Background()
	if _, ok := w.HasDatabase("db"); !ok {
		if err := w.CreateDatabase(ctx, "db"); err != nil {
			t.Fatal(err)
		}
	}
	if spec.Schema == nil {
		spec.Schema = tripSchema()
	}
	tab, err := w.CreateTable(ctx, "db", name, spec)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func insert(tab *Table, trips ...trip) (CommitResult, error) {
	ctx := context.Background()
	w, err := tab.BeginInsert(ctx, InsertOptions{})
	if err != nil {
		return CommitResult{}, err
	}
	if err := w.Insert(ctx, tripBatch(trips...)); err != nil {
		return CommitResult{}, err
	}
	return w.Commit(ctx)
}

func mustInsert(t testing.TB, tab *Table, trips ...trip) CommitResult {
	t.Helper()
	res, err := insert(tab, trips...)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// rows renders what a scan gives, one "a|b|c" a row, sorted.
func rows(t testing.TB, s *Snapshot, p *predicate.Predicate, columns ...string) []string {
	t.Helper()
	ctx := context.Background()
	sc, err := s.Scan(ctx, ScanOptions{Columns: columns, Predicate: p})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	out := []string{}
	for {
		b, err := sc.Next(ctx)
		if err == io.EOF {
			sort.Strings(out)
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len {
			var line []string
			for _, c := range b.Cols {
				if c.Null(i) {
					line = append(line, "NULL")
				} else {
					line = append(line, strings.Trim(string(column.AppendJSON(nil, c, i)), `"`))
				}
			}
			out = append(out, strings.Join(line, "|"))
		}
	}
}

func snapshot(t testing.TB, tab *Table) *Snapshot {
	t.Helper()
	s, err := tab.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func equal(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

// files lists everything below a folder, without sidecars of the lock.
func files(t testing.TB, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if !d.IsDir() && !strings.HasSuffix(rel, "shoal.lock") {
			out = append(out, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestInsertThenReadBack(t *testing.T) {
	root := t.TempDir()
	w := openTestWarehouse(t, root)
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}, Partition: []string{"city"}})
	mustInsert(t, tab, trip{1, "lisbon", 2.5}, trip{2, "porto", -1})
	mustInsert(t, tab, trip{3, "lisbon", 4})
	want := []string{"1|lisbon|2.5", "2|porto|NULL", "3|lisbon|4"}
	equal(t, rows(t, snapshot(t, tab), nil), want)
	equal(t, snapshot(t, tab).Partitions(), []string{"city=lisbon", "city=porto"})
	if n, exact := snapshot(t, tab).Rows(); n != 3 || !exact {
		t.Fatalf("rows %d exact %v", n, exact)
	}
	equal(t, rows(t, snapshot(t, tab), nil, "_hoodie_record_key", "_hoodie_partition_path"),
		[]string{"1|city=lisbon", "2|city=porto", "3|city=lisbon"})

	// Opened afresh, with the catalog and without it.
	w.Close()
	equal(t, reopened(t, root), want)
	if err := os.RemoveAll(filepath.Join(root, ".shoal")); err != nil {
		t.Fatal(err)
	}
	equal(t, reopened(t, root), want)
}

func reopened(t testing.TB, root string) []string {
	t.Helper()
	w, err := OpenWarehouse(context.Background(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tab, err := w.Table(context.Background(), "DB", "Trips")
	if err != nil {
		t.Fatal(err)
	}
	return rows(t, snapshot(t, tab), nil)
}

func TestDuplicateKeyFailsAndLeavesNothing(t *testing.T) {
	w := openTestWarehouse(t, t.TempDir())
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}, Partition: []string{"city"}})
	mustInsert(t, tab, trip{1, "lisbon", 1})
	before := files(t, tab.BasePath())
	for _, bad := range [][]trip{
		{{7, "lisbon", 1}, {7, "lisbon", 2}}, // twice in one statement
		{{8, "faro", 1}, {1, "lisbon", 2}},   // already there, and a new partition
	} {
		_, err := insert(tab, bad...)
		var dup *DuplicateKeyError
		if !errors.As(err, &dup) || dup.Partition != "city=lisbon" {
			t.Fatalf("got %v", err)
		}
		equal(t, files(t, tab.BasePath()), before)
	}
	if _, err := os.Stat(filepath.Join(tab.BasePath(), "city=faro")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the new partition's folder stays")
	}
	// One key in two partitions is two records.
	mustInsert(t, tab, trip{1, "porto", 3})
	equal(t, rows(t, snapshot(t, tab), nil), []string{"1|lisbon|1", "1|porto|3"})
}

func TestGlobalIndexRefusesAKeyOfAnotherPartition(t *testing.T) {
	w := openTestWarehouse(t, t.TempDir())
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}, Partition: []string{"city"},
		Properties: map[string]string{"hoodie.index.type": "GLOBAL_BLOOM"}})
	mustInsert(t, tab, trip{1, "lisbon", 1})
	if _, err := insert(tab, trip{1, "porto", 3}); !errors.Is(err, ErrDuplicateKey) {
		t.Fatalf("got %v", err)
	}
}

func TestDuplicatePolicies(t *testing.T) {
	ctx := context.Background()
	w := openTestWarehouse(t, t.TempDir())
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}})
	mustInsert(t, tab, trip{1, "a", 1})
	ins := func(d Duplicates, trips ...trip) CommitResult {
		t.Helper()
		wr, err := tab.BeginInsert(ctx, InsertOptions{Duplicates: d, SetDuplicates: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := wr.Insert(ctx, tripBatch(trips...)); err != nil {
			t.Fatal(err)
		}
		res, err := wr.Commit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := ins(DuplicatesDrop, trip{1, "b", 2}, trip{2, "b", 2}, trip{2, "c", 3}); res.RowsWritten != 1 || res.RowsDropped != 2 {
		t.Fatalf("%+v", res)
	}
	if res := ins(DuplicatesDrop, trip{1, "b", 2}); res.RowsWritten != 0 || res.RowsDropped != 1 || res.Instant != "" {
		t.Fatalf("%+v", res)
	}
	ins(DuplicatesKeep, trip{1, "d", 4})
	equal(t, rows(t, snapshot(t, tab), nil), []string{"1|a|1", "1|d|4", "2|b|2"})
}

func TestKeylessTableGeneratesKeys(t *testing.T) {
	w := openTestWarehouse(t, t.TempDir())
	tab := newTrips(t, w, "trips", TableSpec{})
	res := mustInsert(t, tab, trip{1, "a", 1}, trip{1, "a", 1})
	equal(t, rows(t, snapshot(t, tab), nil, "_hoodie_record_key", "_hoodie_commit_seqno", "id"), []string{
		res.Instant + "_0_0|" + res.Instant + "_0_0|1", res.Instant + "_0_1|" + res.Instant + "_0_1|1"})
}

func TestEmptyInsertLeavesNoInstant(t *testing.T) {
	ctx := context.Background()
	w := openTestWarehouse(t, t.TempDir())
	tab := newTrips(t, w, "trips", TableSpec{})
	before := files(t, tab.BasePath())
	wr, err := tab.BeginInsert(ctx, InsertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := wr.Commit(ctx); err != nil || res.Instant != "" {
		t.Fatalf("%+v %v", res, err)
	}
	equal(t, files(t, tab.BasePath()), before)
}

func TestScanPrunesByPartitionAndStatistics(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	w := openTestWarehouse(t, root)
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}, Partition: []string{"city"}})
	for i := range 10 {
		city := "lisbon"
		if i%2 == 1 {
			city = "porto"
		}
		mustInsert(t, tab, trip{int64(10 * i), city, float64(i)}, trip{int64(10*i + 5), city, -1})
	}
	str := func(s string) []predicate.Value { return []predicate.Value{{Kind: column.String, B: []byte(s)}} }
	num := func(n int64) []predicate.Value { return []predicate.Value{{Kind: column.Int64, I: n}} }
	p := &predicate.Predicate{Op: predicate.And, Args: []*predicate.Predicate{
		{Op: predicate.Eq, Column: "city", Values: str("porto")},
		{Op: predicate.Ge, Column: "id", Values: num(70)},
	}}
	check := func(s *Snapshot) {
		t.Helper()
		sc, err := s.Scan(ctx, ScanOptions{Columns: []string{"id"}, Predicate: p})
		if err != nil {
			t.Fatal(err)
		}
		defer sc.Close()
		var ids []int64
		for {
			b, err := sc.Next(ctx)
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, b.Cols[0].I64...)
		}
		slices.Sort(ids)
		if !slices.Equal(ids, []int64{70, 75, 90, 95}) {
			t.Fatalf("ids %v", ids)
		}
		st := sc.Stats()
		// porto has five files (ids 10, 30, 50, 70, 90); two of them reach 70.
		if st.FilesTotal != 10 || st.PartitionsPruned != 1 || st.FilesPruned != 8 || st.FilesRead != 2 || st.RowsRead != 4 || st.RowsMatched != 4 {
			t.Fatalf("%+v", st)
		}
	}
	check(snapshot(t, tab))
	// Statistics from the catalog, and from the footers once it is gone.
	w.Close()
	for _, drop := range []bool{false, true} {
		if drop {
			os.RemoveAll(filepath.Join(root, ".shoal"))
		}
		w2, err := OpenWarehouse(ctx, Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		tab2, err := w2.Table(ctx, "db", "trips")
		if err != nil {
			t.Fatal(err)
		}
		check(snapshot(t, tab2))
		w2.Close()
	}
}

func TestTimeTravelSeesOlderInstants(t *testing.T) {
	ctx := context.Background()
	w := openTestWarehouse(t, t.TempDir())
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}})
	first := mustInsert(t, tab, trip{1, "a", 1})
	second := mustInsert(t, tab, trip{2, "b", 2})
	for instant, want := range map[string][]string{
		first.Instant:  {"1|a|1"},
		second.Instant: {"1|a|1", "2|b|2"},
		"99991231":     nil, // not a time
	} {
		s, err := tab.SnapshotAsOf(ctx, instant)
		if want == nil {
			if !errors.Is(err, ErrBadArgument) {
				t.Fatalf("%s: %v", instant, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		equal(t, rows(t, s, nil), want)
	}
	if _, err := tab.SnapshotAsOf(ctx, "20010101000000000"); !errors.Is(err, ErrNoSuchInstant) {
		t.Fatalf("got %v", err)
	}
}

// replaceAll rewrites all groups of a table into one file, as a clustering does.
func replaceAll(t testing.TB, tab *Table) (string, error) {
	t.Helper()
	ctx := context.Background()
	instant, err := tab.Schedule(ctx, func(s *Snapshot) (*timeline.RequestedReplace, error) {
		plan := &timeline.ClusteringPlan{}
		g := timeline.ClusteringGroup{NumOutputFileGroups: 1}
		for _, p := range s.Partitions() {
			for _, fg := range s.Groups(p) {
				g.Slices = append(g.Slices, timeline.SliceInfo{DataFilePath: tab.PlanPath(fg.Path()), FileID: fg.FileID, PartitionPath: p})
			}
		}
		plan.InputGroups = []timeline.ClusteringGroup{g}
		return clusteringRequest(plan), nil
	})
	if err != nil {
		return "", err
	}
	return instant, executeReplace(ctx, tab, instant)
}

func executeReplace(ctx context.Context, tab *Table, instant string) error {
	w, req, err := tab.BeginPending(ctx, instant, Config{})
	if err != nil {
		return err
	}
	defer w.Abort(ctx)
	var groups []*FileGroup
	for _, sl := range req.ClusteringPlan.InputGroups[0].Slices {
		g := w.Snapshot().Group(sl.PartitionPath, sl.FileID)
		if g == nil {
			return fmt.Errorf("no group %s", sl.FileID)
		}
		groups = append(groups, g)
		w.Replace(sl.PartitionPath, sl.FileID)
	}
	sc, err := w.Snapshot().ScanGroups(ctx, groups, ScanOptions{Columns: w.Snapshot().FullSchema().Names(), Ordered: true})
	if err != nil {
		return err
	}
	defer sc.Close()
	f, err := w.NewFile(ctx, FileOptions{Partition: groups[0].Partition})
	if err != nil {
		return err
	}
	for {
		b, err := sc.Next(ctx)
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if err := f.Write(ctx, b); err != nil {
			return err
		}
	}
	if _, err := f.Close(ctx); err != nil {
		return err
	}
	_, err = w.Commit(ctx)
	return err
}

func TestReplacedGroupsAreHiddenFromThatInstantOn(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	w := openTestWarehouse(t, root)
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}})
	mustInsert(t, tab, trip{1, "a", 1})
	last := mustInsert(t, tab, trip{2, "b", 2})
	old := snapshot(t, tab)
	meta := rows(t, old, nil, "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "id")
	if _, err := replaceAll(t, tab); err != nil {
		t.Fatal(err)
	}
	now := snapshot(t, tab)
	want := []string{"1|a|1", "2|b|2"}
	equal(t, rows(t, now, nil), want)
	if now.Files() != 1 {
		t.Fatalf("%d files", now.Files())
	}
	equal(t, rows(t, now, nil, "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "id"), meta)
	// The snapshot taken before, and the one as of before, still read the replaced files.
	equal(t, rows(t, old, nil), want)
	before, err := tab.SnapshotAsOf(ctx, last.Instant)
	if err != nil {
		t.Fatal(err)
	}
	if before.Files() != 2 {
		t.Fatalf("%d files as of before", before.Files())
	}
	equal(t, rows(t, before, nil), want)
	w.Close()
	equal(t, reopened(t, root), want)
}

func TestReplaceConflictsWithAReplaceThatCameFirst(t *testing.T) {
	ctx := context.Background()
	w := openTestWarehouse(t, t.TempDir())
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}})
	mustInsert(t, tab, trip{1, "a", 1})
	plan := func(s *Snapshot) (*timeline.RequestedReplace, error) {
		g := s.Groups("")[0]
		return clusteringRequest(&timeline.ClusteringPlan{InputGroups: []timeline.ClusteringGroup{{
			Slices: []timeline.SliceInfo{{DataFilePath: tab.PlanPath(g.Path()), FileID: g.FileID}}, NumOutputFileGroups: 1}}}), nil
	}
	a, err := tab.Schedule(ctx, plan)
	if err != nil {
		t.Fatal(err)
	}
	b, err := tab.Schedule(ctx, plan)
	if err != nil {
		t.Fatal(err)
	}
	// Both begin before either commits.
	wb, _, err := tab.BeginPending(ctx, b, Config{})
	if err != nil {
		t.Fatal(err)
	}
	group := wb.Snapshot().Groups("")[0]
	wb.Replace("", group.FileID)
	if err := executeReplace(ctx, tab, a); err != nil {
		t.Fatal(err)
	}
	_, err = wb.Commit(ctx)
	var c *ConflictError
	if !errors.As(err, &c) || c.Other != a || c.FileID != group.FileID {
		t.Fatalf("got %v", err)
	}
	equal(t, rows(t, snapshot(t, tab), nil), []string{"1|a|1"})
	if err := executeReplace(ctx, tab, a); !errors.Is(err, ErrConflict) {
		t.Fatalf("executing twice: %v", err)
	}
}

func TestConcurrentInsertsLoseNothing(t *testing.T) {
	root := t.TempDir()
	w := openTestWarehouse(t, root)
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}})
	// A second warehouse on the same files stands for another process.
	w2 := openTestWarehouse(t, root)
	tab2, err := w2.Table(context.Background(), "db", "trips")
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 5
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		target := tab
		if i%2 == 1 {
			target = tab2
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := range each {
				if _, err := insert(target, trip{int64(100*i + k), "x", 1}); err != nil {
					errs[i] = err
					return
				}
			}
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, tb := range []*Table{tab, tab2} {
		if got := rows(t, snapshot(t, tb), nil); len(got) != writers*each || len(slices.Compact(got)) != writers*each {
			t.Fatalf("%d rows: %q", len(got), got)
		}
	}
}

func TestConcurrentInsertsOfOneKeyLetOneThrough(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	w := openTestWarehouse(t, root)
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}})
	a, err := tab.BeginInsert(ctx, InsertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Insert(ctx, tripBatch(trip{1, "a", 1})); err != nil {
		t.Fatal(err)
	}
	mustInsert(t, tab, trip{1, "b", 2}) // commits first
	before := files(t, tab.BasePath())
	if _, err := a.Commit(ctx); !errors.Is(err, ErrDuplicateKey) {
		t.Fatalf("got %v", err)
	}
	after := files(t, tab.BasePath())
	for _, f := range after {
		if strings.Contains(f, a.Instant()) {
			t.Fatalf("left behind: %s", f)
		}
	}
	if len(after) >= len(before) {
		t.Fatalf("files before %q after %q", before, after)
	}
	equal(t, rows(t, snapshot(t, tab), nil), []string{"1|b|2"})
}

func TestBrokenTablesNameTheirFault(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	w := openTestWarehouse(t, root)
	good := newTrips(t, w, "good", TableSpec{})
	mustInsert(t, good, trip{1, "a", 1})
	props := func(name, content string) {
		dir := filepath.Join(root, "db", name, ".hoodie")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if content != "" {
			if err := os.WriteFile(filepath.Join(dir, "hoodie.properties"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	props("noprops", "")
	props("v8", "hoodie.table.name=v8\nhoodie.table.version=8\nhoodie.timeline.layout.version=2\nhoodie.table.type=COPY_ON_WRITE\n")
	props("mor", "hoodie.table.name=mor\nhoodie.table.version=6\nhoodie.timeline.layout.version=1\nhoodie.table.type=MERGE_ON_READ\n")
	props("lance", "hoodie.table.name=lance\nhoodie.table.version=6\nhoodie.timeline.layout.version=1\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.base.file.format=LANCE\n")
	for name, want := range map[string]struct {
		is   error
		text string
	}{
		"noprops": {ErrMalformed, "hoodie.properties"},
		"v8":      {ErrUnsupported, "table version 8"},
		"mor":     {ErrUnsupported, "MERGE_ON_READ"},
		"lance":   {ErrUnsupported, "LANCE"},
		"absent":  {ErrNoSuchTable, "db.absent"},
	} {
		_, err := w.Table(ctx, "db", name)
		if !errors.Is(err, want.is) || !strings.Contains(err.Error(), want.text) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, rows(t, snapshot(t, good), nil), []string{"1|a|1"})
}

func TestAttachedTablesSurviveTheCatalog(t *testing.T) {
	ctx := context.Background()
	elsewhere, root := t.TempDir(), t.TempDir()
	src := openTestWarehouse(t, elsewhere)
	mustInsert(t, newTrips(t, src, "trips", TableSpec{}), trip{1, "a", 1})
	path := filepath.Join(elsewhere, "db", "trips")
	before := files(t, path)

	w, err := OpenWarehouse(ctx, Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.CreateDatabase(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.AttachTable(ctx, "db", "trips", path); !errors.Is(err, ErrPathNotAllowed) {
		t.Fatalf("got %v", err)
	}
	w.Close()
	w, err = OpenWarehouse(ctx, Options{Root: root, AllowPaths: []string{elsewhere}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AttachTable(ctx, "db", "trips", path); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.Remove(filepath.Join(root, ".shoal", "catalog.db")); err != nil {
		t.Fatal(err)
	}
	equal(t, reopened(t, root), []string{"1|a|1"})
	equal(t, files(t, path), before) // reading writes nothing
	w = openTestWarehouse(t, root)
	if err := w.DropTable(ctx, "db", "trips"); err != nil {
		t.Fatal(err)
	}
	equal(t, files(t, path), before) // dropping an attached table detaches it
	if _, err := w.Table(ctx, "db", "trips"); !errors.Is(err, ErrNoSuchTable) {
		t.Fatalf("got %v", err)
	}
}

func clusteringRequest(p *timeline.ClusteringPlan) *timeline.RequestedReplace {
	return &timeline.RequestedReplace{OperationType: timeline.OpCluster, ClusteringPlan: p}
}

func TestACommitSwitchesOffAMetadataTableItDoesNotMaintain(t *testing.T) {
	ctx := context.Background()
	w := openTestWarehouse(t, t.TempDir())
	tab := newTrips(t, w, "trips", TableSpec{})
	err := timeline.UpdateProperties(ctx, tab.st, func(p *timeline.Properties) error {
		p.Set(timeline.KeyMetadataPartitions, "files")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	meta := filepath.Join(tab.BasePath(), ".hoodie", "metadata")
	if err := os.MkdirAll(filepath.Join(meta, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	mustInsert(t, tab, trip{1, "a", 1})
	props, err := timeline.ReadProperties(ctx, tab.st)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := props.Get(timeline.KeyMetadataPartitions); ok {
		t.Errorf("the key is still there: %q", v)
	}
	if _, err := os.Stat(meta); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	equal(t, rows(t, snapshot(t, tab), nil), []string{"1|a|1"})
}

func TestATableMadeAgainByAnotherProcessIsFound(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	w := openTestWarehouse(t, root)
	mustInsert(t, newTrips(t, w, "trips", TableSpec{}), trip{1, "a", 1})
	other := openTestWarehouse(t, root) // stands for another process
	if err := other.DropTable(ctx, "db", "trips"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Table(ctx, "db", "trips"); !errors.Is(err, ErrNoSuchTable) {
		t.Fatalf("got %v", err)
	}
	mustInsert(t, newTrips(t, other, "trips", TableSpec{}), trip{2, "b", 2})
	tab, err := w.Table(ctx, "db", "trips")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, rows(t, snapshot(t, tab), nil), []string{"2|b|2"})
	newTrips(t, other, "more", TableSpec{})
	if names, err := w.Tables("db"); err != nil || !slices.Equal(names, []string{"more", "trips"}) {
		t.Fatalf("%q %v", names, err)
	}
	// Dropped and made again between two looks.
	if err := other.DropTable(ctx, "db", "trips"); err != nil {
		t.Fatal(err)
	}
	mustInsert(t, newTrips(t, other, "trips", TableSpec{}), trip{3, "c", 3})
	if tab, err = w.Table(ctx, "db", "trips"); err != nil {
		t.Fatal(err)
	}
	equal(t, rows(t, snapshot(t, tab), nil), []string{"3|c|3"})
}
