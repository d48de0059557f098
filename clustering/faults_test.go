package clustering

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/storage"
)

// TestEveryCallToStorageMayFail fails each call that an execution makes to its storage, one a run.
// Either the clustering is there, or nothing of it but the plan, which can then be executed.
func TestEveryCallToStorageMayFail(t *testing.T) {
	ctx := context.Background()
	base := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}, Partition: []string{"p"}})
	for n := range 2 {
		base.insert(fmt.Sprintf(`%d,"b",null,"a"`, 2*n), fmt.Sprintf(`%d,"a",null,"b"`, 2*n+1))
	}
	base.run(Request{Op: Schedule, OrderBy: []string{"u"}})
	rows := base.content(base.snapshot())
	root := filepath.Dir(filepath.Dir(base.tab.BasePath()))
	base.w.Close()

	open := func(dir string, rules ...storage.Rule) (*bed, *storage.Faulty) {
		t.Helper()
		var faulty *storage.Faulty
		w, err := engine.OpenWarehouse(ctx, engine.Options{Root: dir, OpenStorage: func(path string) (storage.Storage, error) {
			l, err := storage.NewLocal(path)
			if err != nil {
				return nil, err
			}
			faulty = storage.NewFaulty(l, rules...)
			return faulty, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		tab, err := w.Table(ctx, "db", "t")
		if err != nil {
			t.Fatal(err)
		}
		return &bed{t: t, w: w, s: NewService(w, Options{}), tab: tab}, faulty
	}
	// How many calls there are, and how many of them open the table.
	whole, calls := open(clone(t, root))
	opened := len(calls.Calls())
	execute := Request{Op: Execute, Options: map[string]string{keyMaxParallelism: "1"}}
	whole.run(execute)
	total := len(calls.Calls())
	if total-opened < 20 {
		t.Fatalf("%d calls", total-opened)
	}
	step := 2
	if testing.Short() {
		step = 5
	}
	failed := 0
	for n := opened + 1; n <= total; n += step {
		dir := clone(t, root)
		b, faulty := open(dir, storage.Rule{Op: storage.OpAny, N: n})
		_, err := b.s.Run(ctx, b.tab, execute, nil)
		var hit string
		if c := faulty.Calls(); len(c) >= n {
			hit = fmt.Sprint(c[n-1])
		}
		b.w.Close()
		b, _ = open(dir)
		s := b.snapshot()
		if b.content(s) != rows {
			t.Fatalf("call %d %s: rows changed", n, hit)
		}
		written, globErr := filepath.Glob(filepath.Join(b.tab.BasePath(), "p=*", "*.parquet"))
		if globErr != nil {
			t.Fatal(globErr)
		}
		if err != nil {
			failed++
			if len(s.Pending()) != 1 || s.Files() != 4 || len(written) != 4 {
				t.Fatalf("call %d %s failed with %v: %d plans pending, %d live files, %d files", n, hit, err, len(s.Pending()), s.Files(), len(written))
			}
			b.run(execute)
			s = b.snapshot()
		}
		if len(s.Pending()) != 0 || s.Files() != 2 || b.content(s) != rows {
			t.Fatalf("call %d %s: %d plans pending, %d files", n, hit, len(s.Pending()), s.Files())
		}
		checkLayout(t, s, "p=a", []string{"u"})
		b.w.Close()
	}
	if failed < (total-opened)/step/2 {
		t.Errorf("%d of %d calls failed the execution", failed, (total-opened)/step)
	}
}

// clone copies a warehouse without its catalog.
func clone(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".shoal")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCancellationAtAnyBatch cancels an execution after each of its progress reports.
func TestCancellationAtAnyBatch(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{MemoryBytes: 20_000}, engine.TableSpec{RecordKey: []string{"id"}})
	for n := range 3 {
		var rows []string
		for i := range 300 {
			rows = append(rows, fmt.Sprintf(`%d,"text %d",%d,null`, 1000*n+i, i%17, i%5))
		}
		b.insert(rows...)
	}
	b.run(Request{Op: Schedule, OrderBy: []string{"u"}})
	rows, files := b.content(b.snapshot()), parquetFiles(t, b.tab.BasePath())
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(context.Background())
		reports := 0
		_, err := b.s.Run(ctx, b.tab, Request{Op: Execute}, func(Progress) {
			if reports++; reports == stop {
				cancel()
			}
		})
		cancel()
		if err == nil {
			if stop < 3 || reports >= stop {
				t.Fatalf("not cancelled at report %d of %d", stop, reports)
			}
			break
		}
		if !strings.Contains(err.Error(), "context canceled") {
			t.Fatal(err)
		}
		if s := b.snapshot(); len(s.Pending()) != 1 || parquetFiles(t, b.tab.BasePath()) != files || b.content(s) != rows {
			t.Fatalf("report %d: plan gone, files left or rows changed", stop)
		}
	}
	if s := b.snapshot(); s.Files() != 1 || b.content(s) != rows {
		t.Fatalf("%d files", s.Files())
	}
	plans, err := b.tab.Plans(context.Background())
	if err != nil || len(plans) != 1 || plans[0].State != "completed" || plans[0].RowsDone != 900 {
		t.Errorf("%+v %v", plans, err)
	}
}
