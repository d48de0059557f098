package clustering

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// filesInOrder reads the base files of a partition and puts them in the order of their first rows;
// the rows of each stay as they lie.
func filesInOrder(t *testing.T, s *engine.Snapshot, partition string, order []string) []*column.Batch {
	t.Helper()
	ctx := context.Background()
	var files []*column.Batch
	for _, g := range s.Groups(partition) {
		sc, err := s.ScanGroups(ctx, []*engine.FileGroup{g}, engine.ScanOptions{Columns: s.FullSchema().Names(), Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		var parts []*column.Batch
		for {
			b, err := sc.Next(ctx)
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, b)
		}
		sc.Close()
		files = append(files, column.ConcatBatches(s.FullSchema(), parts))
	}
	sort.SliceStable(files, func(i, j int) bool {
		a, b := files[i], files[j]
		if c := compareRows(a, 0, b, 0, order); c != 0 {
			return c < 0
		}
		return compareRows(a, a.Len-1, b, b.Len-1, order) < 0
	})
	return files
}

func compareRows(a *column.Batch, i int, b *column.Batch, j int, order []string) int {
	for _, name := range order {
		if c := column.Compare(a.Column(name), i, b.Column(name), j); c != 0 {
			return c
		}
	}
	return 0
}

// checkLayout reports rows that are out of order within a file, and files whose ranges overlap.
func checkLayout(t *testing.T, s *engine.Snapshot, partition string, order []string) {
	t.Helper()
	var last *column.Batch
	for k, f := range filesInOrder(t, s, partition, order) {
		if last != nil && compareRows(last, last.Len-1, f, 0, order) > 0 {
			t.Errorf("file %d begins before its predecessor ends", k)
		}
		for i := 1; i < f.Len; i++ {
			if compareRows(f, i-1, f, i, order) > 0 {
				t.Fatalf("file %d: row %d is below the row before it", k, i)
			}
		}
		last = f
	}
}

// TestRowsAreSortedWithinAnyBudget clusters tables whose values are drawn to be awkward: many nulls,
// NaN, few or heavy values, text and numbers, with budgets from a few rows to all of them.
func TestRowsAreSortedWithinAnyBudget(t *testing.T) {
	for seed := range 16 {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { sortAwkwardRows(t, rand.New(rand.NewPCG(uint64(seed), 1))) })
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func sortAwkwardRows(t *testing.T, r *rand.Rand) {
	b := newBed(t, engine.Options{}, Options{MemoryBytes: pick[int64](r, 8000, 40_000, 200_000, 1<<20)},
		engine.TableSpec{RecordKey: []string{"id"}})
	distinct := pick(r, 1, 2, 10, 5000)
	nulls := pick(r, 0, 3, 90, 100)
	nan := pick(r, 0, 3, 90)
	draw := func(n int) int { return n * 2654435761 % 1000003 }
	id := 0
	for range 1 + r.IntN(4) {
		var rows []string
		for range 1 + r.IntN(1500) {
			id++
			x := draw(id)
			u, d := fmt.Sprintf(`"text %d"`, x%distinct), fmt.Sprint(float64(x%distinct)/2-1)
			if x/7%100 < nulls {
				u = "null"
			}
			if x/11%100 < nulls {
				d = "null"
			} else if x/13%100 < nan {
				d = `"NaN"`
			}
			rows = append(rows, fmt.Sprintf(`%d,%s,%s,null`, id, u, d))
		}
		b.insert(rows...)
	}
	before := b.content(b.snapshot())
	order := pick(r, []string{"u"}, []string{"d"}, []string{"d", "u"}, []string{"u", "d", "id"}, []string{"id"}, []string{"p", "d"})
	target := pick(r, "30000", "60000", "1000000")
	b.run(Request{OrderBy: order, Options: map[string]string{keyTargetBytes: target}})
	if b.content(b.snapshot()) != before {
		t.Fatal("rows changed")
	}
	checkLayout(t, b.snapshot(), "", order)
	// Sorted already: a second run leaves everything as it is.
	if res := b.run(Request{OrderBy: order, Options: map[string]string{keyTargetBytes: target}}); len(res.Rows) != 0 {
		t.Fatalf("%+v", res)
	}
}

// TestSortIsStable: rows that are equal in the sort columns stay as they came, also where they do not
// fit in memory together.
func TestSortIsStable(t *testing.T) {
	for _, memory := range []int64{6000, 1 << 30} {
		b := newBed(t, engine.Options{}, Options{MemoryBytes: memory}, engine.TableSpec{RecordKey: []string{"id"}})
		id := 0
		for range 3 {
			var rows []string
			for range 500 {
				id++
				rows = append(rows, fmt.Sprintf(`%d,"%c",null,null`, id, 'a'+id%2))
			}
			b.insert(rows...)
		}
		b.run(Request{OrderBy: []string{"u"}})
		f := filesInOrder(t, b.snapshot(), "", []string{"u", "id"})[0]
		if f.Len != 1500 {
			t.Fatalf("%d rows", f.Len)
		}
		// The groups of a plan go from the largest file to the smallest; the files here are told
		// apart by their commit times.
		for i := 1; i < f.Len; i++ {
			same := string(f.Column("u").Bytes(i-1)) == string(f.Column("u").Bytes(i)) &&
				string(f.Column(column.MetaCommitTime).Bytes(i-1)) == string(f.Column(column.MetaCommitTime).Bytes(i))
			if same && f.Column("id").I64[i-1] > f.Column("id").I64[i] {
				t.Fatalf("memory %d: row %d overtook another", memory, i)
			}
		}
	}
}

func TestBoundsOfASample(t *testing.T) {
	for _, c := range []struct {
		sample []float64
		n      int
		want   string
	}{
		{nil, 4, ""},
		{[]float64{5}, 2, "5 heavy"},
		{[]float64{5, 5, 5, 5}, 4, "5 heavy"},
		{[]float64{4, 3, 2, 1}, 2, "3 heavy"}, // one bound: its rows apart, so that both sides shrink
		{[]float64{8, 7, 6, 5, 4, 3, 2, 1}, 4, "3, 5, 7"},
		{[]float64{1, 1, 1, 1, 1, 1, 2, 3}, 4, "1 heavy, 2"},
		{[]float64{math.Copysign(0, -1), 0, math.Copysign(0, -1), 0, 0, 1}, 6, "0 heavy, 1"},
	} {
		v := column.NewBuilder(column.Type{Kind: column.Float64}, 0)
		for _, f := range c.sample {
			v.AppendFloat64(f)
		}
		x := sampled{values: v.Finish()}
		var got []string
		for _, b := range x.bounds(c.n) {
			text := fmt.Sprint(b.value.F + 0)
			if b.heavy {
				text += " heavy"
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%v in %d: %q, want %q", c.sample, c.n, got, c.want)
		}
	}
}

// TestSpansKeepNaN: no predicate can ask for NaN, so the span picks the rows itself.
func TestSpansKeepNaN(t *testing.T) {
	s := &column.Schema{Fields: []column.Field{{Name: "f", Type: column.Type{Kind: column.Float32}, Nullable: true}, {Name: "n", Type: column.Type{Kind: column.Int64}}}}
	f, n := column.NewBuilder(s.Fields[0].Type, 0), column.NewBuilder(s.Fields[1].Type, 0)
	for i, x := range []float64{1, math.NaN(), 0, math.NaN(), math.Inf(1)} {
		if x == 0 {
			f.AppendNull()
		} else {
			f.AppendFloat64(x)
		}
		n.AppendInt64(int64(i))
	}
	b := &column.Batch{Schema: s, Cols: []*column.Vector{f.Finish(), n.Finish()}, Len: 5}
	kept := span{nan: []string{"f"}}.keep(b)
	if !slices.Equal(kept.Column("n").I64, []int64{1, 3}) {
		t.Fatalf("%v", kept.Column("n").I64)
	}
	if all := (span{}).keep(b); all.Len != 5 {
		t.Fatalf("%d rows", all.Len)
	}
}

func TestSpansNarrow(t *testing.T) {
	p := func(col string) *predicate.Predicate { return &predicate.Predicate{Op: predicate.IsNull, Column: col} }
	r := span{equal: 1, nan: []string{"x"}}
	one := r.and(p("a"))
	two := one.and(p("b"))
	if r.where != nil || one.where.String() != p("a").String() || !slices.Equal(two.where.Columns(), []string{"a", "b"}) || two.equal != 1 || len(two.nan) != 1 {
		t.Fatalf("%+v %+v %+v", r, one, two)
	}
}

func TestOutputFilesAreNearTheTarget(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	id := 0
	for range 10 {
		var rows []string
		for range 4000 {
			id++
			rows = append(rows, fmt.Sprintf(`%d,"value %d",%d.5,null`, id, id*7919%100003, id*31%977))
		}
		b.insert(rows...)
	}
	total := b.snapshot().Bytes()
	target := total / 4
	b.run(Request{OrderBy: []string{"u"}, Options: map[string]string{keyTargetBytes: fmt.Sprint(target)}})
	s := b.snapshot()
	checkLayout(t, s, "", []string{"u"})
	if s.Files() < 2 || s.Files() > 6 {
		t.Errorf("%d files of %d bytes for %d, target %d", s.Files(), s.Bytes(), total, target)
	}
	for _, g := range s.Groups("") {
		if l := g.Latest(); l.Size > target+target/10 {
			t.Errorf("%d bytes in a file, target %d", l.Size, target)
		}
	}
}

func TestOutputIsClosedOnce(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	b.insert(`1,"x",null,null`)
	register(t, "TestTwice", executionFunc(func(ctx context.Context, j *Job) error {
		out := j.Output()
		if err := j.Read(ctx, func(b *column.Batch) error { return out.Write(ctx, b) }); err != nil {
			return err
		}
		return errors.Join(out.Close(ctx), out.Close(ctx))
	}))
	_, err := b.s.Run(context.Background(), b.tab, Request{Options: map[string]string{keyExecutionClass: "TestTwice"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "closed twice") {
		t.Fatalf("got %v", err)
	}
}
