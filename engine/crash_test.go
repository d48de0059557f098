package engine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/storage"
	"github.com/shoaldb/shoal/layout/timeline"
)

// The crash tests run a write in a process of its own and kill that at each call it makes to its
// storage, before and after the call took effect. Whatever was reached, the next open must show
// the table as it was before or as it is after, and no leftovers.

const (
	crashRootEnv   = "SHOAL_CRASH_ROOT"
	crashRulesEnv  = "SHOAL_CRASH_RULES"
	crashActionEnv = "SHOAL_CRASH_ACTION"
)

// TestCrashChild is the process that dies; it does nothing in a normal run.
func TestCrashChild(t *testing.T) {
	root := os.Getenv(crashRootEnv)
	if root == "" {
		return
	}
	rules, err := storage.ParseRules(os.Getenv(crashRulesEnv))
	if err != nil {
		t.Fatal(err)
	}
	var faulty []*storage.Faulty
	w, err := OpenWarehouse(context.Background(), Options{Root: root, OpenStorage: func(path string) (storage.Storage, error) {
		l, err := storage.NewLocal(path)
		if err != nil {
			return nil, err
		}
		f := storage.NewFaulty(l, rules...)
		faulty = append(faulty, f)
		return f, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := w.Table(context.Background(), "db", "trips")
	if err != nil {
		t.Fatal(err)
	}
	if err := crashActions[os.Getenv(crashActionEnv)](tab); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("CALLS %d\n", len(faulty[0].Calls()))
}

// crashActions are what the child does. Each is all or nothing.
var crashActions = map[string]func(*Table) error{
	"insert": func(tab *Table) error {
		_, err := insert(tab, trip{10, "a", 1}, trip{11, "new", 2})
		return err
	},
	"cluster": func(tab *Table) error {
		s, err := tab.Snapshot(context.Background())
		if err != nil {
			return err
		}
		return executeReplace(context.Background(), tab, s.Pending()[0].Instant)
	},
}

func runCrashChild(t *testing.T, root, action, rules string) (calls int, out string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), crashRootEnv+"="+root, crashRulesEnv+"="+rules, crashActionEnv+"="+action)
	b, _ := cmd.CombinedOutput()
	out = string(b)
	if _, n, ok := strings.Cut(out, "CALLS "); ok {
		calls, _ = strconv.Atoi(strings.Fields(n)[0])
	}
	return calls, out
}

// crashBase makes a table of two commits and a pending clustering plan over partition a.
func crashBase(t *testing.T) string {
	root := t.TempDir()
	w, err := OpenWarehouse(context.Background(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tab := newTrips(t, w, "trips", TableSpec{RecordKey: []string{"id"}, Partition: []string{"city"}})
	mustInsert(t, tab, trip{1, "a", 1})
	mustInsert(t, tab, trip{2, "a", 2})
	_, err = tab.Schedule(context.Background(), func(s *Snapshot) (*timeline.RequestedReplace, error) {
		g := timeline.ClusteringGroup{NumOutputFileGroups: 1}
		for _, fg := range s.Groups("city=a") {
			g.Slices = append(g.Slices, timeline.SliceInfo{DataFilePath: tab.PlanPath(fg.Path()), FileID: fg.FileID, PartitionPath: "city=a"})
		}
		return clusteringRequest(&timeline.ClusteringPlan{InputGroups: []timeline.ClusteringGroup{g}}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestKilledWritesAreAllOrNothing(t *testing.T) {
	before := []string{"1|a|1", "2|a|2"}
	after := map[string][]string{
		"insert":  {"1|a|1", "10|a|1", "11|new|2", "2|a|2"},
		"cluster": before,
	}
	for action := range crashActions {
		t.Run(action, func(t *testing.T) {
			base := crashBase(t)
			whole := copyTree(t, base)
			calls, out := runCrashChild(t, whole, action, "")
			if calls == 0 {
				t.Fatalf("the child did not finish:\n%s", out)
			}
			checkAfterCrash(t, whole, after[action])
			step := 1
			if testing.Short() {
				step = 7
			}
			for n := 1; n <= calls; n += step {
				for _, when := range []string{"before", "after"} {
					root := copyTree(t, base)
					rule := fmt.Sprintf("* ** #%d %s kill", n, when)
					// A call that fails by itself (a file that is not there, say) has no "after".
					if finished, out := runCrashChild(t, root, action, rule); finished != 0 && when == "before" {
						t.Fatalf("%s: the child was not killed:\n%s", rule, out)
					}
					t.Run(strings.ReplaceAll(rule, " ", "_"), func(t *testing.T) { checkAfterCrash(t, root, before, after[action]) })
					os.RemoveAll(root)
				}
			}
		})
	}
}

// checkAfterCrash opens the warehouse and wants one of the row sets, no leftovers of dead writes,
// and a table that can be written to.
func checkAfterCrash(t *testing.T, root string, allowed ...[]string) {
	t.Helper()
	ctx := context.Background()
	w, err := OpenWarehouse(ctx, Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tab, err := w.Table(ctx, "db", "trips")
	if err != nil {
		t.Fatal(err)
	}
	s := snapshot(t, tab)
	got := strings.Join(rows(t, s, nil), " ")
	ok := false
	for _, a := range allowed {
		ok = ok || got == strings.Join(slices.Sorted(slices.Values(a)), " ")
	}
	if !ok {
		t.Fatalf("rows %s, allowed %q", got, allowed)
	}
	known := map[string]bool{}
	for _, in := range s.Timeline().Instants() {
		known[in.Time] = in.State == timeline.Completed
	}
	for _, f := range files(t, tab.BasePath()) {
		name, err := basefile.ParseName(filepath.Base(f))
		if err == nil && !known[name.Instant] {
			t.Errorf("file of a write that did not complete: %s", f)
		}
		for _, left := range []string{".marker.", storage.TempPrefix, ".lock"} {
			if strings.Contains(f, left) {
				t.Errorf("left behind: %s", f)
			}
		}
	}
	for _, in := range s.Timeline().Pending() {
		if in.Action != timeline.ReplaceCommit || in.State != timeline.Requested {
			t.Errorf("pending: %s", in)
		}
	}
	mustInsert(t, tab, trip{99, "a", 9})
	if want := len(strings.Fields(got)) + 1; len(rows(t, snapshot(t, tab), nil)) != want {
		t.Errorf("%d rows after another insert, want %d", len(rows(t, snapshot(t, tab), nil)), want)
	}
	for _, p := range snapshot(t, tab).Pending() {
		if err := executeReplace(ctx, tab, p.Instant); err != nil {
			t.Errorf("the plan that stayed: %v", err)
		}
	}
}

func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}
