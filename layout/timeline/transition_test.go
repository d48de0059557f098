package timeline

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shoaldb/shoal/layout/storage"
)

const t1 = "20240101000000001"

func ls(t *testing.T, st storage.Storage, dir string) string {
	t.Helper()
	entries, err := st.List(bg, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestInstantsTakeTheirStatesInOrder(t *testing.T) {
	for _, c := range []struct {
		action Action
		want   string
	}{
		{Commit, t1 + ".commit " + t1 + ".commit.requested " + t1 + ".inflight"},
		{ReplaceCommit, t1 + ".replacecommit " + t1 + ".replacecommit.inflight " + t1 + ".replacecommit.requested"},
		{Compaction, t1 + ".commit " + t1 + ".compaction.inflight " + t1 + ".compaction.requested"},
		{Rollback, t1 + ".rollback " + t1 + ".rollback.inflight " + t1 + ".rollback.requested"},
	} {
		m := storage.NewMem()
		in := Instant{Time: t1, Action: c.action}
		if err := Start(bg, m, in, nil); !errors.Is(err, ErrSkipsState) {
			t.Errorf("%s started unrequested: %v", c.action, err)
		}
		if err := Complete(bg, m, in, nil); !errors.Is(err, ErrSkipsState) {
			t.Errorf("%s completed unrequested: %v", c.action, err)
		}
		must(t, Request(bg, m, in, nil))
		if err := Complete(bg, m, in, nil); !errors.Is(err, ErrSkipsState) {
			t.Errorf("%s completed before it started: %v", c.action, err)
		}
		must(t, Start(bg, m, in, nil))
		must(t, Complete(bg, m, in, []byte("done")))
		if got := ls(t, m, Dir); got != c.want {
			t.Errorf("%s: %s, want %s", c.action, got, c.want)
		}
		for i, step := range []func() error{
			func() error { return Request(bg, m, in, nil) },
			func() error { return Start(bg, m, in, nil) },
			func() error { return Complete(bg, m, in, nil) },
		} {
			err := step()
			var te *TransitionError
			if !errors.Is(err, fs.ErrExist) || !errors.As(err, &te) || te.Instant.State != State(i) {
				t.Errorf("%s, step %d repeated: %v", c.action, i, err)
			}
		}
		in.State = Completed
		b, err := ReadFile(bg, m, in)
		if err != nil || string(b) != "done" {
			t.Errorf("%s: %q, %v", c.action, b, err)
		}
	}
}

func TestSavepointBeginsInflight(t *testing.T) {
	m := storage.NewMem()
	in := Instant{Time: t1, Action: Savepoint}
	if err := Request(bg, m, in, nil); err == nil {
		t.Error("a savepoint was requested")
	}
	must(t, Start(bg, m, in, nil))
	must(t, Complete(bg, m, in, []byte("x")))
	if got := ls(t, m, Dir); got != t1+".savepoint "+t1+".savepoint.inflight" {
		t.Error(got)
	}
}

func TestStatesWithoutContent(t *testing.T) {
	for _, c := range []struct {
		action Action
		state  State
		full   bool
	}{
		{Commit, Requested, false}, {Commit, Inflight, true},
		{DeltaCommit, Requested, false}, {DeltaCommit, Inflight, true},
		{ReplaceCommit, Requested, true}, {ReplaceCommit, Inflight, true},
		{Clean, Requested, true}, {Clean, Inflight, true},
		{Rollback, Requested, true}, {Rollback, Inflight, false},
		{Restore, Requested, true}, {Restore, Inflight, false},
		{Savepoint, Inflight, false},
		{Compaction, Requested, true}, {Compaction, Inflight, false},
	} {
		m := storage.NewMem()
		in := Instant{Time: t1, Action: c.action}
		if c.state == Inflight && c.action != Savepoint {
			must(t, Request(bg, m, in, nil))
		}
		step := map[State]func() error{
			Requested: func() error { return Request(bg, m, in, []byte("x")) },
			Inflight:  func() error { return Start(bg, m, in, []byte("x")) },
		}[c.state]
		if err := step(); (err == nil) != c.full {
			t.Errorf("%s %s with content: %v", c.action, c.state, err)
		}
	}
}

func TestTransitionsRefuseWhatIsNoInstant(t *testing.T) {
	m := storage.NewMem()
	for _, in := range []Instant{{}, {Time: t1}, {Time: "1", Action: Commit}, {Time: "../" + t1, Action: Commit}, {Time: t1, Action: "merge"}} {
		if err := Request(bg, m, in, nil); err == nil {
			t.Errorf("%v was requested", in)
		}
	}
	if got := ls(t, m, "."); got != "" {
		t.Error(got)
	}
}

func TestOneOfManyCompletes(t *testing.T) {
	st := open(t, t.TempDir())
	in := Instant{Time: t1, Action: Commit}
	must(t, Request(bg, st, in, nil))
	must(t, Start(bg, st, in, nil))
	var wins atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			switch err := Complete(bg, st, in, []byte(fmt.Sprint(i))); {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d completed", wins.Load())
	}
}

func TestRevertToRequested(t *testing.T) {
	m := storage.NewMem()
	in := Instant{Time: t1, Action: ReplaceCommit}
	if err := RevertToRequested(bg, m, in); !errors.Is(err, ErrSkipsState) {
		t.Errorf("nothing there: %v", err)
	}
	must(t, Request(bg, m, in, []byte("plan")))
	must(t, RevertToRequested(bg, m, in))
	must(t, Start(bg, m, in, nil))
	must(t, m.CreateExclusive(bg, Dir+"/."+t1+".replacecommit.inflight.crc", nil))
	must(t, RevertToRequested(bg, m, in))
	if got := ls(t, m, Dir); got != t1+".replacecommit.requested" {
		t.Error(got)
	}
	must(t, Start(bg, m, in, nil))
	must(t, Complete(bg, m, in, nil))
	if err := RevertToRequested(bg, m, in); err == nil {
		t.Error("a completed instant was taken back")
	}
}

// A removal that is cut short leaves an instant in an earlier state, never one without its
// beginning, and can be repeated.
func TestRemoveGoesBackwards(t *testing.T) {
	in := Instant{Time: t1, Action: Commit}
	for i := 1; ; i++ {
		m := storage.NewMem()
		must(t, Request(bg, m, in, nil))
		must(t, Start(bg, m, in, nil))
		must(t, Complete(bg, m, in, nil))
		must(t, m.CreateExclusive(bg, Dir+"/."+t1+".inflight.crc", nil))
		must(t, m.CreateExclusive(bg, Dir+"/20240101000000002.commit", nil))
		f := storage.NewFaulty(m, storage.Rule{N: i, Op: storage.OpRemove, Path: "**", Do: storage.Crash})
		err := Remove(bg, f, in)
		left := map[string]bool{}
		for _, n := range strings.Fields(ls(t, m, Dir)) {
			left[n] = true
		}
		if left[t1+".commit"] && !left[t1+".inflight"] || left[t1+".inflight"] && !left[t1+".commit.requested"] {
			t.Errorf("crash at removal %d: %v", i, left)
		}
		must(t, Remove(bg, m, in))
		must(t, Remove(bg, m, in))
		if got := ls(t, m, Dir); got != "20240101000000002.commit" {
			t.Errorf("left: %s", got)
		}
		if err == nil {
			if i != 5 { // three states and a checksum file
				t.Errorf("%d removals", i-1)
			}
			return
		}
	}
}

func TestCompletingReportsAnUnsyncedCommit(t *testing.T) {
	in := Instant{Time: t1, Action: Commit}
	m := storage.NewMem()
	must(t, Request(bg, m, in, nil))
	must(t, Start(bg, m, in, nil))
	f := storage.NewFaulty(m, storage.Rule{Op: storage.OpCreateExclusive, After: true, Err: storage.ErrUnsynced})
	if err := Complete(bg, f, in, nil); !errors.Is(err, storage.ErrUnsynced) || !strings.Contains(err.Error(), t1) {
		t.Errorf("%v", err)
	}
}
