package clustering

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/storage"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

type bed struct {
	t   *testing.T
	w   *engine.Warehouse
	s   *Service
	tab *engine.Table
}

// newBed makes db.t(id INT64, u STRING NULL, d FLOAT64 NULL, p STRING) with the given key and
// partition columns.
func newBed(t *testing.T, o engine.Options, so Options, spec engine.TableSpec) *bed {
	t.Helper()
	ctx := context.Background()
	if o.Root == "" {
		o.Root = t.TempDir()
	}
	w, err := engine.OpenWarehouse(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.CreateDatabase(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	spec.Schema = &column.Schema{Fields: []column.Field{
		{Name: "id", Type: column.Type{Kind: column.Int64}},
		{Name: "u", Type: column.Type{Kind: column.String}, Nullable: true},
		{Name: "d", Type: column.Type{Kind: column.Float64}, Nullable: true},
		{Name: "p", Type: column.Type{Kind: column.String}, Nullable: true},
	}}
	tab, err := w.CreateTable(ctx, "db", "t", spec)
	if err != nil {
		t.Fatal(err)
	}
	return &bed{t: t, w: w, s: NewService(w, so), tab: tab}
}

// insert commits rows given as JSON: [id, u, d, p]; d may be "NaN".
func (b *bed) insert(rows ...string) {
	b.t.Helper()
	ctx := context.Background()
	w, err := b.tab.BeginInsert(ctx, engine.InsertOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	s := w.Schema()
	cols := make([]*column.Builder, len(s.Fields))
	for i, f := range s.Fields {
		cols[i] = column.NewBuilder(f.Type, len(rows))
	}
	for _, r := range rows {
		for i, v := range strings.Split(r, ",") {
			if err := cols[i].AppendJSON([]byte(v)); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	batch := &column.Batch{Schema: s, Len: len(rows)}
	for _, c := range cols {
		batch.Cols = append(batch.Cols, c.Finish())
	}
	if err := w.Insert(ctx, batch); err != nil {
		b.t.Fatal(err)
	}
	if _, err := w.Commit(ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) snapshot() *engine.Snapshot {
	b.t.Helper()
	s, err := b.tab.Snapshot(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// content is every row with all columns but the file name, sorted.
func (b *bed) content(s *engine.Snapshot) string {
	b.t.Helper()
	var cols []string
	for _, n := range s.FullSchema().Names() {
		if n != column.MetaFileName {
			cols = append(cols, n)
		}
	}
	out := b.read(s, cols, s.Partitions())
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// read gives the rows of partitions in the order of files and of rows in them.
func (b *bed) read(s *engine.Snapshot, cols, partitions []string) []string {
	b.t.Helper()
	ctx := context.Background()
	var out []string
	for _, p := range partitions {
		sc, err := s.ScanGroups(ctx, s.Groups(p), engine.ScanOptions{Columns: cols, Ordered: true})
		if err != nil {
			b.t.Fatal(err)
		}
		defer sc.Close()
		for {
			batch, err := sc.Next(ctx)
			if err == io.EOF {
				break
			} else if err != nil {
				b.t.Fatal(err)
			}
			for i := range batch.Len {
				var line []byte
				for _, c := range batch.Cols {
					line = append(column.AppendJSON(line, c, i), ' ')
				}
				out = append(out, strings.TrimSpace(string(line)))
			}
		}
	}
	return out
}

func (b *bed) run(r Request) *Result {
	b.t.Helper()
	res, err := b.s.Run(context.Background(), b.tab, r, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

func TestClusteringSortsWithNullsFirst(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	for i, u := range []string{`"c"`, `null`, `"a"`, `null`, `"b"`} {
		b.insert(fmt.Sprintf(`%d,%s,null,null`, i+1, u))
	}
	before := b.snapshot()
	rows := b.content(before)
	res := b.run(Request{OrderBy: []string{"U"}})
	if len(res.Rows) != 1 || res.Rows[0].State != "COMPLETED" || res.Rows[0].InputGroups != 1 || len(res.Stats) != 1 || res.Stats[0].Rows != 5 {
		t.Fatalf("%+v", res)
	}
	after := b.snapshot()
	if after.Files() != 1 {
		t.Fatalf("%d files", after.Files())
	}
	if got := strings.Join(b.read(after, []string{"u"}, []string{""}), " "); got != `null null "a" "b" "c"` {
		t.Fatalf("order %s", got)
	}
	if got := b.content(after); got != rows {
		t.Fatalf("rows changed:\n%s\n%s", rows, got)
	}
	old, err := b.tab.SnapshotAsOf(context.Background(), before.Instant())
	if err != nil || old.Files() != 5 || b.content(old) != rows {
		t.Fatalf("as of before: %v", err)
	}
	// A second time there is nothing to do, and it says why.
	res = b.run(Request{OrderBy: []string{"u"}})
	if len(res.Rows) != 0 || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "already laid out") {
		t.Fatalf("%+v", res)
	}
}

func TestScheduleThenExecute(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	for i := range 3 {
		b.insert(fmt.Sprintf(`%d,"x",null,null`, i))
	}
	res := b.run(Request{Op: Schedule})
	if len(res.Rows) != 1 || res.Rows[0].State != "REQUESTED" || b.snapshot().Files() != 3 {
		t.Fatalf("%+v", res)
	}
	plan := res.Rows[0].Instant
	// Every group is pending now, so there is nothing to schedule.
	if res = b.run(Request{Op: Schedule}); len(res.Rows) != 0 || !strings.Contains(res.Notes[0], "3 files are in a plan that is pending") {
		t.Fatalf("%+v", res)
	}
	show, err := b.s.Show(context.Background(), b.tab, 0)
	if err != nil || len(show) != 1 || show[0].Instant != plan || show[0].State != "REQUESTED" || show[0].InputGroups != 1 {
		t.Fatalf("%+v %v", show, err)
	}
	if res = b.run(Request{Op: Execute}); len(res.Rows) != 1 || res.Rows[0].Instant != plan || res.Rows[0].State != "COMPLETED" {
		t.Fatalf("%+v", res)
	}
	if b.snapshot().Files() != 1 {
		t.Fatalf("%d files", b.snapshot().Files())
	}
	if res = b.run(Request{Op: Execute}); len(res.Rows) != 0 {
		t.Fatalf("%+v", res)
	}
	plans, err := b.tab.Plans(context.Background())
	if err != nil || len(plans) != 1 || plans[0].State != "completed" || plans[0].RowsDone != 3 {
		t.Fatalf("%+v %v", plans, err)
	}
}

func TestBadRequestsSayWhatIsWrong(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	b.insert(`1,"x",null,null`)
	for want, r := range map[string]Request{
		"Order column not exist:nope":           {OrderBy: []string{"nope"}},
		"20200101000000000":                     {Op: Execute, Instants: []string{"20200101000000000"}},
		"execute, when instants are named":      {Op: Schedule, Instants: []string{"20200101000000000"}},
		"hoodie.clustering.plan.strategy.class": {Options: map[string]string{keyPlanClass: "com.example.Mine"}},
		keyMaxGroups:                            {Options: map[string]string{keyMaxGroups: "0"}},
		"z-order":                               {OrderBy: []string{"u"}, OrderStrategy: "z-order"},
		keyPartitionRegex:                       {Options: map[string]string{keyPartitionRegex: "("}},
	} {
		_, err := b.s.Run(context.Background(), b.tab, r, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if show, err := b.s.Show(context.Background(), b.tab, 0); err != nil || len(show) != 0 {
		t.Errorf("%+v %v", show, err)
	}
}

func TestPartitionsAreClusteredApart(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}, Partition: []string{"p"}})
	for i := range 6 {
		b.insert(fmt.Sprintf(`%d,"x",null,"a"`, i), fmt.Sprintf(`%d,"y",null,"b"`, i))
	}
	res := b.run(Request{SelectedPartitions: []string{"p=b"}})
	if len(res.Rows) != 1 || strings.Join(res.Rows[0].Partitions, " ") != "p=b" {
		t.Fatalf("%+v", res)
	}
	s := b.snapshot()
	if len(s.Groups("p=a")) != 6 || len(s.Groups("p=b")) != 1 {
		t.Fatalf("files a %d b %d", len(s.Groups("p=a")), len(s.Groups("p=b")))
	}
}

// TestGroupLargerThanTheBudget sorts in ranges of the first column: NaN last, nulls first, equal
// values together, nothing lost.
func TestGroupLargerThanTheBudget(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{MemoryBytes: 64 << 10}, engine.TableSpec{RecordKey: []string{"id"}})
	n := 0
	for range 4 {
		var rows []string
		for range 3000 {
			d := fmt.Sprint((n * 7919) % 1000)
			switch n % 10 {
			case 0:
				d = "null"
			case 1:
				d = `"NaN"`
			}
			rows = append(rows, fmt.Sprintf(`%d,"some text %d",%s,null`, n, n%97, d))
			n++
		}
		b.insert(rows...)
	}
	rows := b.content(b.snapshot())
	b.run(Request{OrderBy: []string{"d", "id"}, Options: map[string]string{keyTargetBytes: "60000"}})
	s := b.snapshot()
	if b.content(s) != rows {
		t.Fatal("rows changed")
	}
	if s.Files() < 2 {
		t.Fatalf("%d files", s.Files())
	}
	rank := func(text string) float64 {
		switch text {
		case "null":
			return -1
		case `"NaN"`:
			return math.MaxFloat64
		}
		var f float64
		fmt.Sscan(text, &f)
		return f
	}
	// Each file is in order, and the files' ranges follow one another.
	type key struct {
		d  float64
		id int64
	}
	less := func(a, b key) bool { return a.d < b.d || a.d == b.d && a.id < b.id }
	byFile := map[string][]key{}
	for _, line := range b.read(s, []string{"_hoodie_file_name", "d", "id"}, []string{""}) {
		f := strings.Fields(line)
		var id int64
		fmt.Sscan(f[2], &id)
		byFile[f[0]] = append(byFile[f[0]], key{rank(f[1]), id})
	}
	var files [][]key
	for _, keys := range byFile {
		files = append(files, keys)
	}
	sort.Slice(files, func(i, j int) bool { return less(files[i][0], files[j][0]) })
	last := key{math.Inf(-1), -1}
	for _, keys := range files {
		for _, k := range keys {
			if less(k, last) {
				t.Fatalf("row %v comes after %v", k, last)
			}
			last = k
		}
	}
}

func TestTwoExecutionsOfOnePlan(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	for i := range 5 {
		b.insert(fmt.Sprintf(`%d,"x",null,null`, i))
	}
	rows := b.content(b.snapshot())
	b.run(Request{Op: Schedule})
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, errs[i] = b.s.Run(context.Background(), b.tab, Request{Op: Execute}, nil)
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, engine.ErrConflict) {
			t.Errorf("got %v", err)
		}
	}
	if errs[0] != nil && errs[1] != nil {
		t.Errorf("both failed: %v", errs)
	}
	if s := b.snapshot(); s.Files() != 1 || b.content(s) != rows {
		t.Errorf("%d files", s.Files())
	}
}

func TestFailedExecutionLeavesNoFilesAndKeepsThePlan(t *testing.T) {
	var faulty *storage.Faulty
	rules := []storage.Rule{{Op: storage.OpCommit, Path: "*.parquet", N: 7}}
	b := newBed(t, engine.Options{OpenStorage: func(path string) (storage.Storage, error) {
		l, err := storage.NewLocal(path)
		if err != nil {
			return nil, err
		}
		faulty = storage.NewFaulty(l, rules...)
		return faulty, nil
	}}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	for i := range 6 { // files 1 to 6; the clustered one is the seventh
		b.insert(fmt.Sprintf(`%d,"x",null,null`, i))
	}
	rows := b.content(b.snapshot())
	before := parquetFiles(t, b.tab.BasePath())
	if _, err := b.s.Run(context.Background(), b.tab, Request{OrderBy: []string{"u"}}, nil); !errors.Is(err, storage.ErrInjected) || !strings.Contains(err.Error(), "stays pending") {
		t.Fatalf("got %v", err)
	}
	if after := parquetFiles(t, b.tab.BasePath()); after != before {
		t.Fatalf("files %s\nwere  %s", after, before)
	}
	if len(b.snapshot().Pending()) != 1 || b.content(b.snapshot()) != rows {
		t.Fatal("plan gone or rows changed")
	}
	if res := b.run(Request{Op: Execute}); len(res.Rows) != 1 || b.snapshot().Files() != 1 || b.content(b.snapshot()) != rows {
		t.Fatalf("%+v", res)
	}
}

func TestCancelledExecutionKeepsThePlan(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	b.insert(`1,"x",null,null`)
	b.insert(`2,"x",null,null`)
	b.run(Request{Op: Schedule})
	before := parquetFiles(t, b.tab.BasePath())
	ctx, cancel := context.WithCancel(context.Background())
	_, err := b.s.Run(ctx, b.tab, Request{Op: Execute}, func(Progress) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if parquetFiles(t, b.tab.BasePath()) != before || len(b.snapshot().Pending()) != 1 {
		t.Fatal("files left or plan gone")
	}
}

func parquetFiles(t *testing.T, root string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, " ")
}

func TestKeylessTablesAreClusteredToo(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{})
	for range 3 {
		b.insert(`1,"same",0,null`)
	}
	rows := b.content(b.snapshot())
	b.run(Request{OrderBy: []string{"u"}})
	if s := b.snapshot(); s.Files() != 1 || b.content(s) != rows {
		t.Fatalf("%d files", s.Files())
	}
}

// TestRealTablesAreClustered rewrites copies of tables that Hudi wrote.
func TestRealTablesAreClustered(t *testing.T) {
	for name, order := range map[string]string{
		"v6_complexkeygen_hivestyle": "name", "v6_nonpartitioned": "id", "v6_simplekeygen_nonhivestyle": "name",
		"v6_trips_keyless": "rider", "v6_simplekeygen_hivestyle_no_metafields": "id", "v6_dfs_source_nested_table": "rider,driver",
	} {
		t.Run(name, func(t *testing.T) {
			base := fixtures.Table(t, name)
			b := newBed(t, engine.Options{AllowPaths: []string{filepath.Dir(base)}}, Options{}, engine.TableSpec{})
			var err error
			if b.tab, err = b.w.AttachTable(context.Background(), "db", "real", base); err != nil {
				t.Fatal(err)
			}
			rows, files := b.content(b.snapshot()), b.snapshot().Files()
			res := b.run(Request{OrderBy: strings.Split(order, ",")})
			if len(res.Rows) != 1 || res.Rows[0].State != "COMPLETED" {
				t.Fatalf("%+v", res)
			}
			s := b.snapshot()
			if got := b.content(s); got != rows || s.Files() > files {
				t.Fatalf("%d files, were %d; rows\n%s\nwere\n%s", s.Files(), files, got, rows)
			}
		})
	}
}
