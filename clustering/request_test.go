package clustering

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/timeline"
)

// TestOnePlanAfterAnotherCoversAllPartitions is B07: 40 partitions of three one-row files, at most 30
// groups a plan.
func TestOnePlanAfterAnotherCoversAllPartitions(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}, Partition: []string{"p"}})
	for n := range 3 {
		var rows []string
		for d := range 40 {
			rows = append(rows, fmt.Sprintf(`%d,"x",null,"d%02d"`, 100*n+d, d))
		}
		b.insert(rows...)
	}
	rows := b.content(b.snapshot())
	single := map[string]string{keySingleGroup: "false"}
	for _, want := range []struct {
		groups, files int
		note          string
	}{
		{30, 60, "10 eligible partitions are left"},
		{10, 40, "only small file"},
		{0, 40, "nothing to cluster"},
	} {
		r := Request{}
		if want.groups != 30 {
			r.Options = single
		}
		res := b.run(r)
		if want.groups > 0 && (len(res.Rows) != 1 || res.Rows[0].InputGroups != want.groups) || want.groups == 0 && len(res.Rows) != 0 {
			t.Fatalf("%+v, want %d groups", res, want.groups)
		}
		if !strings.Contains(strings.Join(res.Notes, "; "), want.note) {
			t.Errorf("notes %q lack %q", res.Notes, want.note)
		}
		if s := b.snapshot(); s.Files() != want.files || b.content(s) != rows {
			t.Fatalf("%d files, want %d", s.Files(), want.files)
		}
	}
}

// TestALoneFileStaysAsItIs is the first half of B08: no plan, no instant, the same file.
func TestALoneFileStaysAsItIs(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	b.insert(`1,"x",null,null`)
	before := b.snapshot()
	res := b.run(Request{Options: map[string]string{keySingleGroup: "false"}})
	after := b.snapshot()
	if len(res.Rows) != 0 || len(res.Notes) != 1 || len(after.Timeline().Instants()) != len(before.Timeline().Instants()) ||
		after.Groups("")[0].Path() != before.Groups("")[0].Path() {
		t.Fatalf("%+v", res)
	}
}

// TestEqualsSignsInBounds is B09.
func TestEqualsSignsInBounds(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}, Partition: []string{"u", "p"}})
	for n := range 3 {
		b.insert(fmt.Sprintf(`%d,"2024-12-03",null,"20"`, n), fmt.Sprintf(`%d,"2024-12-03",null,"21"`, n), fmt.Sprintf(`%d,"2024-12-03",null,"22"`, n))
	}
	b.run(Request{Options: map[string]string{keyFilterMode: "SELECTED_PARTITIONS",
		keyBeginPartition: "u=2024-12-03/p=21", keyEndPartition: "u=2024-12-03/p=21"}})
	for partition, files := range map[string]int{"u=2024-12-03/p=20": 3, "u=2024-12-03/p=21": 1, "u=2024-12-03/p=22": 3} {
		if got := len(b.snapshot().Groups(partition)); got != files {
			t.Errorf("%s: %d files, want %d", partition, got, files)
		}
	}
}

func equals(col, value string) *predicate.Predicate {
	return &predicate.Predicate{Op: predicate.Eq, Column: col, Values: []predicate.Value{{Kind: column.String, B: []byte(value)}}}
}

func TestPredicateChoosesPartitions(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}, Partition: []string{"p"}})
	for n := range 2 {
		b.insert(fmt.Sprintf(`%d,"x",null,"a"`, n), fmt.Sprintf(`%d,"x",null,"b"`, n), fmt.Sprintf(`%d,"x",null,"c"`, n))
	}
	b.run(Request{Op: Schedule, SelectedPartitions: []string{"p=c"}})
	// No partition matches: nothing is planned, and what is pending is not touched either.
	res := b.run(Request{Predicate: equals("p", "z")})
	if len(res.Rows) != 0 || len(res.Notes) != 1 || len(b.snapshot().Pending()) != 1 || b.snapshot().Files() != 6 {
		t.Fatalf("%+v", res)
	}
	// The predicate wins over the list, and only its plan is executed.
	either := &predicate.Predicate{Op: predicate.Or, Args: []*predicate.Predicate{equals("p", "b"), equals("p", "y")}}
	res = b.run(Request{Predicate: either, SelectedPartitions: []string{"p=a"}})
	if len(res.Rows) != 1 || !slices.Equal(res.Rows[0].Partitions, []string{"p=b"}) || len(b.snapshot().Pending()) != 1 || b.snapshot().Files() != 5 {
		t.Fatalf("%+v", res)
	}
	_, err := b.s.Run(context.Background(), b.tab, Request{Predicate: equals("u", "x")}, nil)
	if err == nil || !strings.Contains(err.Error(), "Only partition predicates are allowed") || !errors.Is(err, engine.ErrBadArgument) {
		t.Fatalf("got %v", err)
	}
}

func TestOrderColumnsAreCheckedWhateverTheOperation(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	for _, op := range []Op{"", Schedule, Execute, "SCHEDULEANDEXECUTE"} {
		_, err := b.s.Run(context.Background(), b.tab, Request{Op: op, OrderBy: []string{"ID", "nope"}}, nil)
		if err == nil || err.Error() != "Order column not exist:nope" || !errors.Is(err, engine.ErrNoSuchColumn) {
			t.Errorf("%q: %v", op, err)
		}
	}
	if res := b.run(Request{}); len(res.Rows) != 0 || !strings.Contains(res.Notes[0], "the table has no files") {
		t.Errorf("%+v", res)
	}
}

// TestPlansAreExecutedOldestFirst schedules three plans and executes one by limit, then one by name,
// then the rest because there is nothing to plan.
func TestPlansAreExecutedOldestFirst(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}, Partition: []string{"p"}})
	var plans []string
	for i, p := range []string{"a", "b", "c"} {
		b.insert(fmt.Sprintf(`%d,"x",null,%q`, 2*i, p))
		b.insert(fmt.Sprintf(`%d,"x",null,%q`, 2*i+1, p))
		plans = append(plans, b.run(Request{Op: Schedule}).Rows[0].Instant)
	}
	states := func() string {
		list, err := b.s.Show(context.Background(), b.tab, 0)
		if err != nil || len(list) != 3 || list[0].Instant != plans[2] || list[2].Instant != plans[0] {
			t.Fatalf("%+v %v", list, err)
		}
		return list[2].State + " " + list[1].State + " " + list[0].State
	}
	for _, step := range []struct {
		r    Request
		done []string
		want string
	}{
		{Request{Op: Execute, Limit: 1}, plans[:1], "COMPLETED REQUESTED REQUESTED"},
		{Request{Instants: plans[2:]}, plans[2:], "COMPLETED REQUESTED COMPLETED"},
		{Request{Options: map[string]string{keySingleGroup: "false"}}, plans[1:2], "COMPLETED COMPLETED COMPLETED"},
	} {
		res := b.run(step.r)
		if len(res.Rows) != 1 || res.Rows[0].Instant != step.done[0] || states() != step.want {
			t.Fatalf("%+v: %+v, %s", step.r, res, states())
		}
	}
	_, err := b.s.Run(context.Background(), b.tab, Request{Instants: plans[:2]}, nil)
	if !errors.Is(err, engine.ErrNoSuchInstant) || !strings.Contains(err.Error(), plans[0]) || !strings.Contains(err.Error(), plans[1]) {
		t.Errorf("executed plans named again: %v", err)
	}
	if list, err := b.s.Show(context.Background(), b.tab, 2); err != nil || len(list) != 2 || list[0].Instant != plans[2] {
		t.Errorf("%+v %v", list, err)
	}
}

func TestInlineClusteringKeepsItsDistance(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	inline := map[string]string{"hoodie.clustering.inline": "true", keyInlineCommits: "3"}
	for n := range 3 {
		if res := b.run(Request{Options: inline}); len(res.Rows) != 0 {
			t.Fatalf("after %d commits: %+v", n, res)
		}
		b.insert(fmt.Sprintf(`%d,"x",null,null`, n))
	}
	if res := b.run(Request{Op: Schedule, Options: inline}); len(res.Rows) != 1 {
		t.Fatalf("%+v", res)
	}
	// The plan is a replacecommit, so that the count begins anew.
	b.insert(`3,"x",null,null`)
	res := b.run(Request{Op: Schedule, Options: inline})
	if len(res.Rows) != 0 || !strings.Contains(res.Notes[0], "1 commit since the last replacecommit, a plan is made every 3") {
		t.Fatalf("%+v", res)
	}
	if res := b.run(Request{Op: Schedule}); len(res.Rows) != 1 {
		t.Fatalf("without inline clustering: %+v", res)
	}
}

func TestEventsAndProgress(t *testing.T) {
	var events []Event
	b := newBed(t, engine.Options{}, Options{OnEvent: func(e Event) { events = append(events, e) }},
		engine.TableSpec{RecordKey: []string{"id"}, Partition: []string{"p"}})
	for n := range 3 {
		b.insert(fmt.Sprintf(`%d,"x",null,"a"`, n), fmt.Sprintf(`%d,"x",null,"b"`, n), fmt.Sprintf(`%d,"y",null,"b"`, n+10))
	}
	var last Progress
	res, err := b.s.Run(context.Background(), b.tab, Request{OrderBy: []string{"u"}}, func(p Progress) {
		if p.GroupsDone < last.GroupsDone || p.RowsDone < last.RowsDone || p.BytesDone < last.BytesDone || p.ETA < 0 {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	})
	if err != nil {
		t.Fatal(err)
	}
	st := res.Stats[0]
	if last.GroupsDone != 2 || last.Groups != 2 || last.RowsDone != 9 || last.Rows != 9 || last.BytesDone != st.OutputBytes || last.Bytes != st.InputBytes {
		t.Errorf("last progress %+v, stats %+v", last, st)
	}
	if st.InputFiles != 6 || st.OutputFiles != 2 || st.Rows != 9 || st.OutputBytes != b.snapshot().Bytes() {
		t.Errorf("%+v", st)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Table, " ", e.Step, " ", e.Ended, " ", e.Instant == res.Rows[0].Instant, " ", e.Groups, " ", e.InputFiles, " ", e.Rows, " ", e.OutputFiles))
	}
	want := []string{"db.t schedule false false 0 0 0 0", "db.t schedule true true 2 6 0 0",
		"db.t execute false true 2 6 9 0", "db.t execute true true 2 6 9 2"}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	plans, err := b.tab.Plans(context.Background())
	if err != nil || len(plans) != 1 {
		t.Fatalf("%+v %v", plans, err)
	}
	if p := plans[0]; p.State != "completed" || p.Groups != 2 || p.GroupsDone != 2 || p.RowsIn != 9 || p.RowsDone != 9 ||
		p.InputFiles != 6 || p.OutputFiles != 2 || p.Order != "u" || p.Owner == "" || p.Finished.IsZero() || p.Started.After(p.Finished) {
		t.Errorf("%+v", p)
	}
}

func TestCancelledPlanFreesItsFiles(t *testing.T) {
	b := newBed(t, engine.Options{}, Options{}, engine.TableSpec{RecordKey: []string{"id"}})
	b.insert(`1,"x",null,null`)
	plan := b.run(Request{Op: Schedule}).Rows[0].Instant
	if err := b.s.Cancel(context.Background(), b.tab, plan); err != nil {
		t.Fatal(err)
	}
	if list, err := b.s.Show(context.Background(), b.tab, 0); err != nil || len(list) != 0 {
		t.Fatalf("%+v %v", list, err)
	}
	if err := b.s.Cancel(context.Background(), b.tab, plan); !errors.Is(err, engine.ErrNoSuchInstant) {
		t.Errorf("cancelled twice: %v", err)
	}
	if res := b.run(Request{}); len(res.Rows) != 1 || res.Rows[0].State != "COMPLETED" {
		t.Errorf("%+v", res)
	}
}

func TestETAIsTheRestAtThePaceSoFar(t *testing.T) {
	x := newExecution("1", &Plan{Groups: []Group{{Rows: 100}}}, time.Now().Add(-10*time.Second), nil)
	x.wrote(25)
	if x.at.ETA < 29*time.Second || x.at.ETA > 40*time.Second { // 25 rows in 10 s: 75 more in 30 s
		t.Fatalf("%v", x.at.ETA)
	}
}

func TestWhatWasDoneBeforeAFailureIsReported(t *testing.T) {
	b := twoPartitions(t)
	good := b.run(Request{Op: Schedule, SelectedPartitions: []string{"p=a"}}).Rows[0].Instant
	bad := b.foreign(func(r *timeline.RequestedReplace) { r.ClusteringPlan.Strategy.StrategyParams[keySortColumns] = "zz" })
	res, err := b.s.Run(context.Background(), b.tab, Request{Op: Execute}, nil)
	if err == nil || !strings.Contains(err.Error(), bad) || res == nil || len(res.Rows) != 1 || res.Rows[0].Instant != good || res.Rows[0].State != "COMPLETED" {
		t.Fatalf("%+v %v", res, err)
	}
}
