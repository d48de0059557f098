package clustering

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/timeline"
)

// twoPartitions has three files in p=a and two in p=b.
func twoPartitions(t *testing.T) *bed {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}, Partition: []string{"p"}})
	b.insert(`1,"c",null,"a"`, `2,"x",null,"b"`)
	b.insert(`3,"a",null,"a"`, `4,"w",null,"b"`)
	b.insert(`5,"b",null,"a"`)
	return b
}

func requestFile(b *bed, instant string) *timeline.RequestedReplace {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.tab.BasePath(), ".hoodie", instant+".replacecommit.requested"))
	if err != nil {
		b.t.Fatal(err)
	}
	req, err := timeline.DecodeRequestedReplace(data)
	if err != nil {
		b.t.Fatal(err)
	}
	return req
}

// TestStoredPlan holds the file of a requested plan against docs/format.md, field by field.
func TestStoredPlan(t *testing.T) {
	b := twoPartitions(t)
	instant := b.run(Request{Op: Schedule, OrderBy: []string{"U", "id"}}).Rows[0].Instant
	req := requestFile(b, instant)
	cp := req.ClusteringPlan
	if req.OperationType != "CLUSTER" || cp == nil || len(cp.InputGroups) != 2 || cp.PreserveHoodieMetadata == nil || !*cp.PreserveHoodieMetadata ||
		cp.ExtraMetadata["shoal.clustering.layout"] != `{"order":"linear","columns":["u","id"]}` {
		t.Fatalf("%+v", req)
	}
	if s := cp.Strategy; s.StrategyClassName != "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy" ||
		!cmp.Equal(s.StrategyParams, map[string]string{"hoodie.clustering.plan.strategy.sort.columns": "u,id"}) {
		t.Errorf("%+v", s)
	}
	for i, partition := range []string{"p=a", "p=b"} {
		g := cp.InputGroups[i]
		if g.NumOutputFileGroups != 1 || len(g.Slices) != 3-i || g.Metrics["TOTAL_IO_MB"] <= 0 || g.Metrics["TOTAL_LOG_FILES"] != 0 {
			t.Errorf("%+v", g)
		}
		for _, sl := range g.Slices {
			fg := b.snapshot().Group(partition, sl.FileID)
			if fg == nil || sl.PartitionPath != partition || sl.DataFilePath != "file://"+b.tab.BasePath()+"/"+fg.Path() {
				t.Errorf("%+v", sl)
			}
		}
	}
	// Read back it is the plan that was made.
	snap := b.snapshot()
	got, err := planOf(instant, req, snap)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ResolvePlanOptions(engine.NewConfig(map[string]string{keySortColumns: "u,id"}), snap.Schema())
	if err != nil {
		t.Fatal(err)
	}
	in := PlanInput{}
	for _, p := range snap.Partitions() {
		part := PartitionInput{Path: p}
		for _, g := range snap.Groups(p) {
			l := g.Latest()
			part.Slices = append(part.Slices, SliceInput{FileID: g.FileID, FileName: l.FileName, Instant: l.Instant, Bytes: l.Size, Rows: l.Rows})
		}
		in.Partitions = append(in.Partitions, part)
	}
	if diff := cmp.Diff(MakePlan(in, o), got); diff != "" {
		t.Errorf("read back (+) the plan differs:\n%s", diff)
	}
}

func TestCompletedClustering(t *testing.T) {
	b := twoPartitions(t)
	old := b.snapshot()
	instant := b.run(Request{OrderBy: []string{"u"}}).Rows[0].Instant
	m, err := b.tab.CommitMetadata(context.Background(), instant)
	if err != nil {
		t.Fatal(err)
	}
	if m.OperationType != "CLUSTER" || m.ExtraMetadata["shoal.clustering.layout"] != `{"order":"linear","columns":["u"]}` || m.ExtraMetadata["schema"] == "" {
		t.Errorf("%s %v", m.OperationType, m.ExtraMetadata)
	}
	for _, p := range []string{"p=a", "p=b"} {
		var ids []string
		for _, g := range old.Groups(p) {
			ids = append(ids, g.FileID)
		}
		replaced := slices.Sorted(slices.Values(m.PartitionToReplaceFileIDs[p]))
		slices.Sort(ids)
		st := m.PartitionToWriteStats[p]
		if !slices.Equal(ids, replaced) || len(st) != 1 || st[0].PrevCommit != "null" || slices.Contains(ids, st[0].FileID) {
			t.Errorf("%s: replaced %v of %v, wrote %+v", p, replaced, ids, st)
		}
	}
	if data, err := os.ReadFile(filepath.Join(b.tab.BasePath(), ".hoodie", instant+".replacecommit.inflight")); err != nil || len(data) != 0 {
		t.Errorf("inflight file: %d bytes, %v", len(data), err)
	}
}

// foreign stores a plan as another engine would, over the groups of the snapshot that edit leaves.
func (b *bed) foreign(edit func(*timeline.RequestedReplace)) string {
	b.t.Helper()
	instant, err := b.tab.Schedule(context.Background(), func(s *engine.Snapshot) (*timeline.RequestedReplace, error) {
		req := &timeline.RequestedReplace{OperationType: timeline.OpCluster, ClusteringPlan: &timeline.ClusteringPlan{
			Strategy: &timeline.ClusteringStrategy{StrategyClassName: "org.apache.hudi.client.clustering.run.strategy.JavaSortAndSizeExecutionStrategy",
				StrategyParams: map[string]string{keySortColumns: "U"}}}}
		for _, p := range s.Partitions() {
			g := timeline.ClusteringGroup{NumOutputFileGroups: 1}
			for _, fg := range s.Groups(p) {
				g.Slices = append(g.Slices, timeline.SliceInfo{DataFilePath: b.tab.PlanPath(fg.Path()), FileID: fg.FileID, PartitionPath: p})
			}
			req.ClusteringPlan.InputGroups = append(req.ClusteringPlan.InputGroups, g)
		}
		edit(req)
		return req, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return instant
}

// eachSlice changes every slice of a plan.
func eachSlice(req *timeline.RequestedReplace, edit func(*timeline.SliceInfo)) {
	for _, g := range req.ClusteringPlan.InputGroups {
		for i := range g.Slices {
			edit(&g.Slices[i])
		}
	}
}

func TestPlansOfOtherEnginesAreExecuted(t *testing.T) {
	for name, edit := range map[string]func(*timeline.RequestedReplace){
		"as another engine writes it": func(*timeline.RequestedReplace) {},
		"relative paths": func(r *timeline.RequestedReplace) {
			eachSlice(r, func(s *timeline.SliceInfo) {
				s.DataFilePath = s.PartitionPath + s.DataFilePath[strings.LastIndexByte(s.DataFilePath, '/'):]
			})
		},
		"a table that has moved": func(r *timeline.RequestedReplace) {
			eachSlice(r, func(s *timeline.SliceInfo) {
				s.DataFilePath = "hdfs://nn:8020/lake/t/" + s.PartitionPath + s.DataFilePath[strings.LastIndexByte(s.DataFilePath, '/'):]
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := twoPartitions(t)
			rows := b.content(b.snapshot())
			plan := b.foreign(edit)
			if res := b.run(Request{Op: Execute}); len(res.Rows) != 1 || res.Rows[0].Instant != plan || res.Rows[0].State != "COMPLETED" {
				t.Fatalf("%+v", res)
			}
			s := b.snapshot()
			if s.Files() != 2 || b.content(s) != rows {
				t.Fatalf("%d files", s.Files())
			}
			checkLayout(t, s, "p=a", []string{"u"})
		})
	}
}

func TestPlansThatCannotBeExecuted(t *testing.T) {
	for want, edit := range map[string]func(*timeline.RequestedReplace){
		"has log files": func(r *timeline.RequestedReplace) {
			r.ClusteringPlan.InputGroups[0].Slices[0].DeltaFilePaths = []string{"x.log"}
		},
		"spans partition": func(r *timeline.RequestedReplace) { r.ClusteringPlan.InputGroups[0].Slices[1].PartitionPath = "p=b" },
		"twice": func(r *timeline.RequestedReplace) {
			r.ClusteringPlan.InputGroups = append(r.ClusteringPlan.InputGroups, r.ClusteringPlan.InputGroups[0])
		},
		"replaced or rewritten": func(r *timeline.RequestedReplace) { r.ClusteringPlan.InputGroups[0].Slices[0].FileID = "gone" },
		"SparkConsistentBucketClusteringExecutionStrategy is not supported": func(r *timeline.RequestedReplace) {
			r.ClusteringPlan.Strategy.StrategyClassName = "a.b.SparkConsistentBucketClusteringExecutionStrategy"
		},
		"Order column not exist:zz": func(r *timeline.RequestedReplace) { r.ClusteringPlan.Strategy.StrategyParams[keySortColumns] = "zz" },
		"order strategy z-order": func(r *timeline.RequestedReplace) {
			r.ClusteringPlan.ExtraMetadata = map[string]string{layoutKey: `{"order":"z-order","columns":["u"]}`}
		},
		"layout": func(r *timeline.RequestedReplace) {
			r.ClusteringPlan.ExtraMetadata = map[string]string{layoutKey: `{`}
		},
	} {
		b := twoPartitions(t)
		rows := b.content(b.snapshot())
		plan := b.foreign(edit)
		_, err := b.s.Run(context.Background(), b.tab, Request{Op: Execute}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), plan) || !strings.Contains(err.Error(), "cancel it") {
			t.Errorf("%s: %v", want, err)
		}
		if s := b.snapshot(); len(s.Pending()) != 1 || b.content(s) != rows {
			t.Errorf("%s: plan gone or rows changed", want)
		}
	}
}

// TestFirstCommitterWins lets a second plan over the same files commit while the first one is being
// executed.
func TestFirstCommitterWins(t *testing.T) {
	b := twoPartitions(t)
	rows := b.content(b.snapshot())
	first := b.foreign(func(*timeline.RequestedReplace) {})
	second := b.foreign(func(*timeline.RequestedReplace) {})
	other := NewService(b.w, Options{})
	begun := false
	_, err := b.s.Run(context.Background(), b.tab, Request{Instants: []string{first}}, func(Progress) {
		if begun {
			return
		}
		begun = true
		if _, err := other.Run(context.Background(), b.tab, Request{Instants: []string{second}}, nil); err != nil {
			t.Error(err)
		}
	})
	var c *engine.ConflictError
	if !errors.As(err, &c) || c.Instant != first || c.Other != second || c.FileID == "" || !strings.Contains(err.Error(), "cancel it and schedule another") {
		t.Fatalf("got %v", err)
	}
	check := func() {
		t.Helper()
		if s := b.snapshot(); s.Files() != 2 || b.content(s) != rows || len(s.Pending()) != 1 {
			t.Fatalf("%d files, %d pending", s.Files(), len(s.Pending()))
		}
		if files, _ := filepath.Glob(filepath.Join(b.tab.BasePath(), "*", "*"+first+".parquet")); len(files) > 0 {
			t.Fatalf("files left: %v", files)
		}
	}
	check()
	if _, err = b.s.Run(context.Background(), b.tab, Request{Instants: []string{first}}, nil); !errors.Is(err, engine.ErrConflict) {
		t.Fatalf("got %v", err)
	}
	check()
	if err := b.s.Cancel(context.Background(), b.tab, first); err != nil || len(b.snapshot().Pending()) != 0 {
		t.Fatal(err)
	}
}

// TestGroupsWithoutRows: base files that hold no rows are clustered into one that holds none.
func TestGroupsWithoutRows(t *testing.T) {
	ctx := context.Background()
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	b.insert(`1,"x",null,null`)
	// Another engine deleted the row: its plan is executed by hand, into two empty files.
	plan := b.foreign(func(*timeline.RequestedReplace) {})
	w, _, err := b.tab.BeginPending(ctx, plan, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := w.NewFile(ctx, engine.FileOptions{})
		if err == nil {
			_, err = f.Close(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Replace("", b.snapshot().Groups("")[0].FileID)
	if _, err := w.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]string{nil, {"u"}} {
		if res := b.run(Request{OrderBy: order}); len(res.Rows) != 1 || res.Stats[0].Rows != 0 || res.Stats[0].OutputFiles != 1 {
			t.Fatalf("%v: %+v", order, res)
		}
	}
	if s := b.snapshot(); s.Files() != 1 || b.content(s) != "" {
		t.Fatalf("%d files", s.Files())
	}
	b.insert(`1,"x",null,null`)
	b.run(Request{OrderBy: []string{"u"}})
	if got := b.read(b.snapshot(), []string{"id"}, []string{""}); fmt.Sprint(got) != "[1]" {
		t.Fatal(got)
	}
}
