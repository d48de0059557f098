package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/storage"
	"pgregory.net/rapid"
)

var bg = context.Background()

// of makes a timeline of file names.
func of(t *testing.T, names string) *Timeline {
	t.Helper()
	var ins []Instant
	for _, n := range strings.Fields(names) {
		in, ok := ParseFileName(n)
		if !ok {
			t.Fatalf("%s is no instant", n)
		}
		ins = append(ins, in)
	}
	return New(ins)
}

func text(ins []Instant) string {
	var b strings.Builder
	for _, in := range ins {
		fmt.Fprintf(&b, "%s\n", in)
	}
	return b.String()
}

func same(t *testing.T, what string, got []Instant, want string) {
	t.Helper()
	var w strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(&w, line)
		}
	}
	if text(got) != w.String() {
		t.Errorf("%s:\n%swant:\n%s", what, text(got), w.String())
	}
}

func open(t *testing.T, dir string) *storage.Local {
	t.Helper()
	st, err := storage.NewLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func TestTimelineKeepsTheMostAdvancedStates(t *testing.T) {
	tl := of(t, `20240101000000003.commit.requested
		20240101000000001.commit 20240101000000001.inflight 20240101000000001.commit.requested
		20240101000000002.replacecommit.requested 20240101000000002.replacecommit.inflight
		20240101000000001.savepoint.inflight 20240101000000001.savepoint`)
	same(t, "instants", tl.Instants(), `
		20240101000000001 commit COMPLETED
		20240101000000001 savepoint COMPLETED
		20240101000000002 replacecommit INFLIGHT
		20240101000000003 commit REQUESTED`)
	same(t, "completed", tl.Completed(), `
		20240101000000001 commit COMPLETED
		20240101000000001 savepoint COMPLETED`)
	same(t, "commits", tl.CompletedCommits(), `20240101000000001 commit COMPLETED`)
	same(t, "pending", tl.Pending(), `
		20240101000000002 replacecommit INFLIGHT
		20240101000000003 commit REQUESTED`)
	if in, ok := tl.Get("20240101000000002", ReplaceCommit); !ok || in.State != Inflight {
		t.Errorf("Get: %v, %v", in, ok)
	}
	if _, ok := tl.Get("20240101000000002", Commit); ok {
		t.Error("Get finds an instant by its time alone")
	}
	if !tl.Contains("20240101000000001") || tl.Contains("20240101000000002") || tl.Contains("2024") {
		t.Error("Contains is about completed writes")
	}
	if tl.LastTime() != "20240101000000003" {
		t.Errorf("LastTime %s", tl.LastTime())
	}
}

func TestEmptyTimeline(t *testing.T) {
	tl := New(nil)
	_, first := tl.FirstCommit()
	_, last := tl.LastCommit()
	_, done := tl.LastCompleted()
	if first || last || done || len(tl.Instants()) != 0 || tl.LastTime() != "" {
		t.Error("an empty timeline has something")
	}
}

func TestCompletedCompactionIsNotPending(t *testing.T) {
	tl := of(t, `20240101000000001.compaction.requested 20240101000000001.compaction.inflight 20240101000000001.commit
		20240101000000002.logcompaction.requested 20240101000000002.deltacommit
		20240101000000003.compaction.requested
		20240101000000004.logcompaction.inflight 20240101000000004.deltacommit.inflight`)
	same(t, "instants", tl.Instants(), `
		20240101000000001 commit COMPLETED
		20240101000000002 deltacommit COMPLETED
		20240101000000003 compaction REQUESTED
		20240101000000004 deltacommit INFLIGHT
		20240101000000004 logcompaction INFLIGHT`)
}

func TestFirstCommitSkipsSavepoints(t *testing.T) {
	for _, c := range []struct{ claim, files, want string }{
		{"without savepoints it is the first", "20240101000000001.commit 20240101000000002.commit", "20240101000000001"},
		{"pending ones and other actions do not count",
			"20240101000000001.inflight 20240101000000002.clean 20240101000000003.replacecommit", "20240101000000003"},
		{"archiving went on behind a savepoint",
			"20240101000000001.commit 20240101000000001.savepoint 20240101000000009.commit", "20240101000000009"},
		{"a savepoint that did not complete holds nothing",
			"20240101000000001.commit 20240101000000001.savepoint.inflight 20240101000000009.commit", "20240101000000001"},
		{"if all are held it is the first", "20240101000000001.commit 20240101000000001.savepoint", "20240101000000001"},
	} {
		if got, ok := of(t, c.files).FirstCommit(); !ok || got.Time != c.want {
			t.Errorf("%s: %v, %v; want %s", c.claim, got, ok, c.want)
		}
	}
}

func TestLastCommitAndCompleted(t *testing.T) {
	tl := of(t, "20240101000000001.commit 20240101000000002.clean 20240101000000003.inflight")
	if in, ok := tl.LastCommit(); !ok || in.Time != "20240101000000001" {
		t.Errorf("last commit %v", in)
	}
	if in, ok := tl.LastCompleted(); !ok || in.Action != Clean {
		t.Errorf("last completed %v", in)
	}
}

func TestDiffSeesWhatComparingTimesMisses(t *testing.T) {
	before := of(t, "20240101000000001.inflight 20240101000000002.commit 20240101000000003.replacecommit.requested 20240101000000004.inflight")
	after := of(t, `20240101000000001.commit 20240101000000002.commit 20240101000000003.replacecommit.inflight
		20240101000000005.rollback 20240101000000000.clean`)
	added, vanished := Diff(before, after)
	same(t, "added", added, `
		20240101000000000 clean COMPLETED
		20240101000000001 commit COMPLETED
		20240101000000003 replacecommit INFLIGHT
		20240101000000005 rollback COMPLETED`)
	same(t, "vanished", vanished, `20240101000000004 commit INFLIGHT`)

	added, vanished = Diff(after, before)
	same(t, "added back", added, `
		20240101000000001 commit INFLIGHT
		20240101000000003 replacecommit REQUESTED
		20240101000000004 commit INFLIGHT`)
	same(t, "vanished back", vanished, `
		20240101000000000 clean COMPLETED
		20240101000000001 commit COMPLETED
		20240101000000005 rollback COMPLETED`)

	added, vanished = Diff(nil, before)
	if len(added) != 4 || vanished != nil {
		t.Errorf("from nothing: %v, %v", added, vanished)
	}
}

func TestDiffRebuildsTheNewTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := New(instants(t, "before")), New(instants(t, "after"))
		added, vanished := Diff(before, after)
		type id struct {
			time   string
			action Action
		}
		m := map[id]Instant{}
		for _, in := range before.Instants() {
			m[id{in.Time, in.Action}] = in
		}
		for _, in := range vanished {
			delete(m, id{in.Time, in.Action})
		}
		for _, in := range added {
			m[id{in.Time, in.Action}] = in
		}
		var got []Instant
		for _, in := range m {
			got = append(got, in)
		}
		slices.SortFunc(got, compare)
		if text(got) != text(after.Instants()) {
			t.Fatalf("got\n%swant\n%s", text(got), text(after.Instants()))
		}
		if a, v := Diff(after, after); a != nil || v != nil {
			t.Fatalf("a timeline differs from itself: %v, %v", a, v)
		}
	})
}

func TestNewIsOrderedAndUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := instants(t, "n")
		kept := slices.Clone(in)
		all := New(in).Instants()
		if !slices.Equal(in, kept) {
			t.Fatal("New changed its argument")
		}
		for i := 1; i < len(all); i++ {
			if compare(all[i-1], all[i]) >= 0 {
				t.Fatalf("%v before %v", all[i-1], all[i])
			}
		}
	})
}

func TestLoad(t *testing.T) {
	m := storage.NewMem()
	if _, err := Load(bg, m); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no table: %v", err)
	}
	for _, p := range []string{"hoodie.properties", "20240101000000001.commit", "20240101000000002.commit/x", ".20240101000000001.commit.crc",
		".aux/20240101000000003.commit", "archived/20240101000000003.commit"} {
		if err := m.CreateExclusive(bg, Dir+"/"+p, nil); err != nil {
			t.Fatal(err)
		}
	}
	tl, err := Load(bg, m)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "instants", tl.Instants(), "20240101000000001 commit COMPLETED")
}

func TestLoadRealTables(t *testing.T) {
	for name, want := range map[string]string{
		"v0_impala_hudi_parquet": `
			20200210090610 clean COMPLETED
			20200210090610 commit COMPLETED
			20200210090618 clean COMPLETED
			20200210090618 commit COMPLETED`,
		"v5_non_part_clustered": `
			20230828103614322 commit COMPLETED
			20230828103622376 replacecommit COMPLETED`,
		"v6_empty": "",
		"v6_dfs_source_nested_table": `
			20260531202510254 commit COMPLETED
			20260531202524209 commit COMPLETED`,
		"mor_v6_compact_cluster_clean": `
			20250922132154428 deltacommit COMPLETED
			20250922132157875 deltacommit COMPLETED
			20250922132159904 deltacommit COMPLETED
			20250922132201931 commit COMPLETED
			20250922132203239 replacecommit COMPLETED
			20250922132205093 deltacommit COMPLETED
			20250922132207268 clean COMPLETED
			20250922132208785 deltacommit COMPLETED`,
	} {
		tl, err := Load(bg, open(t, fixtures.Table(t, name)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		same(t, name, tl.Instants(), want)
	}
}
