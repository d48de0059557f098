package timeline

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestFileNames(t *testing.T) {
	const T = "20240418173550988"
	for _, c := range []struct {
		name   string
		action Action
		state  State
	}{
		{T + ".commit.requested", Commit, Requested},
		{T + ".inflight", Commit, Inflight},
		{T + ".commit", Commit, Completed},
		{T + ".deltacommit.requested", DeltaCommit, Requested},
		{T + ".deltacommit.inflight", DeltaCommit, Inflight},
		{T + ".deltacommit", DeltaCommit, Completed},
		{T + ".replacecommit.requested", ReplaceCommit, Requested},
		{T + ".replacecommit.inflight", ReplaceCommit, Inflight},
		{T + ".replacecommit", ReplaceCommit, Completed},
		{T + ".clean.requested", Clean, Requested},
		{T + ".clean.inflight", Clean, Inflight},
		{T + ".clean", Clean, Completed},
		{T + ".rollback.requested", Rollback, Requested},
		{T + ".rollback.inflight", Rollback, Inflight},
		{T + ".rollback", Rollback, Completed},
		{T + ".savepoint.inflight", Savepoint, Inflight},
		{T + ".savepoint", Savepoint, Completed},
		{T + ".restore.requested", Restore, Requested},
		{T + ".restore.inflight", Restore, Inflight},
		{T + ".restore", Restore, Completed},
		{T + ".compaction.requested", Compaction, Requested},
		{T + ".compaction.inflight", Compaction, Inflight},
		{T + ".logcompaction.requested", LogCompaction, Requested},
		{T + ".logcompaction.inflight", LogCompaction, Inflight},
		{T + ".indexing.requested", Indexing, Requested},
		{T + ".indexing.inflight", Indexing, Inflight},
		{T + ".indexing", Indexing, Completed},
		{"20200210090610.clean", Clean, Completed},
		{"20200210090610.inflight", Commit, Inflight},
		{"00000000000001.commit", Commit, Completed}, // of a bootstrap
	} {
		want := Instant{Time: c.name[:len(c.name)-len(c.name[indexDot(c.name):])], Action: c.action, State: c.state}
		got, ok := ParseFileName(c.name)
		if !ok || got != want {
			t.Errorf("%s reads as %v, %v", c.name, got, ok)
		}
		if got.FileName() != c.name {
			t.Errorf("%s is written as %s", c.name, got.FileName())
		}
	}
	// Compactions complete under other names.
	for in, want := range map[Instant]string{
		{Time: T, Action: Compaction, State: Completed}:    T + ".commit",
		{Time: T, Action: LogCompaction, State: Completed}: T + ".deltacommit",
	} {
		if got := in.FileName(); got != want {
			t.Errorf("%v is written as %s", in, got)
		}
	}
}

func indexDot(s string) int {
	for i := range s {
		if s[i] == '.' {
			return i
		}
	}
	return len(s)
}

func TestOtherFilesAreNoInstants(t *testing.T) {
	const T = "20240418173550988"
	for _, name := range []string{
		"", ".", "hoodie.properties", "hoodie.properties.backup", ".hoodie.properties.crc", "archived", "metadata",
		"." + T + ".commit.crc", T + ".commit.crc", "." + T + ".commit", ".shoal-tmp-0123456789abcdef",
		T, T + ".", T + "..", T + ".commit.", T + ".Commit", T + ".commit.completed", T + ".commit.requested.x",
		T + ".commit.inflight",      // a commit's inflight file has no action
		T + ".compaction",           // completes as a commit
		T + ".logcompaction",        // completes as a deltacommit
		T + ".savepoint.requested",  // begins inflight
		T + ".requested",            // of what?
		T + ".inflight.inflight",    //
		T + ".schemacommit",         // no action of this layout
		T + ".clustering.requested", // layout 2
		T + "_20240418173551906.commit",
		"2024041817355098.commit", "202404181735509881.commit", "2024041817355.commit",
		"20240418173550988001.deltacommit", // of a metadata table
		"2024041817355098x.commit", "٢٠٢٤٠٤١٨١٧٣٥٥٠٩٨٨.commit", " " + T + ".commit", T + ".commit\n",
	} {
		if in, ok := ParseFileName(name); ok {
			t.Errorf("%q reads as %v", name, in)
		}
	}
}

func TestStates(t *testing.T) {
	if Requested >= Inflight || Inflight >= Completed {
		t.Error("states are out of order")
	}
	for _, s := range []State{Requested, Inflight, Completed} {
		if got, ok := ParseState(s.String()); !ok || got != s {
			t.Errorf("%v reads as %v, %v", s, got, ok)
		}
	}
	if _, ok := ParseState("requested"); ok {
		t.Error("lower case was accepted")
	}
}

func FuzzParseFileName(f *testing.F) {
	for _, s := range []string{"20240418173550988.commit", "20240418173550988.inflight", "20200210090610.clean.requested", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if in, ok := ParseFileName(name); ok && in.FileName() != name {
			t.Errorf("%q is written as %q", name, in.FileName())
		}
	})
}

// instants draws valid instants from a small set of times, so that they meet.
func instants(t *rapid.T, label string) []Instant {
	actions := []Action{Commit, DeltaCommit, ReplaceCommit, Clean, Rollback, Savepoint, Compaction}
	n := rapid.IntRange(0, 12).Draw(t, label)
	out := make([]Instant, n)
	for i := range out {
		out[i] = Instant{
			Time:   fmt.Sprintf("2024010100000000%d", rapid.IntRange(0, 4).Draw(t, "time")),
			Action: rapid.SampledFrom(actions).Draw(t, "action"),
			State:  State(rapid.IntRange(0, 2).Draw(t, "state")),
		}
		// As ParseFileName would give it.
		if out[i].State == Completed {
			out[i].Action = out[i].Action.completed()
		}
	}
	return out
}
