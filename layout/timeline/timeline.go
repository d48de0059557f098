package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shoaldb/shoal/layout/storage"
)

// Timeline is the set of instants of a table at the moment it was listed, each in the most
// advanced state that was there. It does not change and may be shared.
type Timeline struct {
	instants   []Instant // sorted by time, then action; one for each (time, action)
	savepoints map[string]bool
}

// Load lists the active timeline of a table. Reading another action's files, or writing one's
// own, is up to the caller; nothing but names is looked at here.
func Load(ctx context.Context, st storage.Storage) (*Timeline, error) {
	names, err := fileNames(ctx, st, Dir)
	if err != nil {
		return nil, fmt.Errorf("load timeline: %w", err)
	}
	instants := make([]Instant, 0, len(names))
	for _, n := range names {
		if in, ok := ParseFileName(n); ok {
			instants = append(instants, in)
		}
	}
	return New(instants), nil
}

// fileNames lists the files of a folder, without a stat of each where the storage can.
func fileNames(ctx context.Context, st storage.Storage, dir string) ([]string, error) {
	if l, ok := st.(interface {
		ListFileNames(ctx context.Context, dir string) ([]string, error)
	}); ok {
		return l.ListFileNames(ctx, dir)
	}
	entries, err := st.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if !e.IsDir {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// New makes a timeline of instants, which may repeat one in several states.
func New(instants []Instant) *Timeline {
	t := &Timeline{instants: slices.Clone(instants), savepoints: map[string]bool{}}
	slices.SortFunc(t.instants, func(a, b Instant) int {
		// Within one instant the most advanced state comes first, and Compact keeps the first.
		return cmp.Or(compare(a, b), cmp.Compare(b.State, a.State), cmp.Compare(a.CompletionTime, b.CompletionTime))
	})
	t.instants = slices.CompactFunc(t.instants, func(a, b Instant) bool { return compare(a, b) == 0 })
	// A compaction completes under another action. Its older files stay and are no longer pending.
	t.instants = slices.DeleteFunc(t.instants, func(in Instant) bool {
		as := in.Action.completed()
		if as == in.Action || in.State == Completed {
			return false
		}
		done, ok := t.Get(in.Time, as)
		return ok && done.State == Completed
	})
	for _, in := range t.instants {
		if in.Action == Savepoint && in.State == Completed {
			t.savepoints[in.Time] = true
		}
	}
	return t
}

func compare(a, b Instant) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Action, b.Action))
}

// Instants returns all instants sorted by time, then action. The result must not be changed.
func (t *Timeline) Instants() []Instant { return t.instants }

func (t *Timeline) filter(keep func(Instant) bool) []Instant {
	var out []Instant
	for _, in := range t.instants {
		if keep(in) {
			out = append(out, in)
		}
	}
	return out
}

// Completed returns the completed instants, sorted.
func (t *Timeline) Completed() []Instant {
	return t.filter(func(in Instant) bool { return in.State == Completed })
}

// CompletedCommits returns the completed instants that write data, sorted: commit, deltacommit,
// replacecommit. A file slice is committed when its instant is one of them.
func (t *Timeline) CompletedCommits() []Instant { return t.filter(isCommit) }

func isCommit(in Instant) bool {
	return in.State == Completed &&
		(in.Action == Commit || in.Action == DeltaCommit || in.Action == ReplaceCommit)
}

// Pending returns the requested and inflight instants, sorted.
func (t *Timeline) Pending() []Instant {
	return t.filter(func(in Instant) bool { return in.State != Completed })
}

// Get finds an instant.
func (t *Timeline) Get(time string, action Action) (Instant, bool) {
	i, ok := slices.BinarySearchFunc(t.instants, Instant{Time: time, Action: action}, compare)
	if !ok {
		return Instant{}, false
	}
	return t.instants[i], true
}

// Contains reports whether a write of this time has completed.
func (t *Timeline) Contains(time string) bool {
	for _, a := range [...]Action{Commit, DeltaCommit, ReplaceCommit} {
		if in, ok := t.Get(time, a); ok && in.State == Completed {
			return true
		}
	}
	return false
}

// FirstCommit is where the active timeline begins: its first completed commit that no savepoint
// holds, else its first completed commit. Files of older instants were committed, and their
// instants archived. Commits held by a savepoint do not count, because archiving goes on behind
// them.
func (t *Timeline) FirstCommit() (Instant, bool) {
	var first Instant
	for _, in := range t.instants {
		if !isCommit(in) {
			continue
		}
		if !t.savepoints[in.Time] {
			return in, true
		}
		if first.Time == "" {
			first = in
		}
	}
	return first, first.Time != ""
}

// LastCommit is the greatest completed commit.
func (t *Timeline) LastCommit() (Instant, bool) {
	for i := len(t.instants) - 1; i >= 0; i-- {
		if isCommit(t.instants[i]) {
			return t.instants[i], true
		}
	}
	return Instant{}, false
}

// LastCompleted is the greatest completed instant of any action.
func (t *Timeline) LastCompleted() (Instant, bool) {
	for i := len(t.instants) - 1; i >= 0; i-- {
		if t.instants[i].State == Completed {
			return t.instants[i], true
		}
	}
	return Instant{}, false
}

// LastTime is the greatest time of any instant in any state, "" when there is none. The next
// instant has to be greater.
func (t *Timeline) LastTime() string {
	if len(t.instants) == 0 {
		return ""
	}
	return t.instants[len(t.instants)-1].Time
}

// Savepoints returns the times that completed savepoints hold, sorted.
func (t *Timeline) Savepoints() []string {
	var out []string
	for _, in := range t.instants {
		if in.Action == Savepoint && in.State == Completed {
			out = append(out, in.Time)
		}
	}
	return out
}

// Diff compares two states of one timeline as sets. added holds the instants of after that
// before lacks or has in another state, in their new state. vanished holds the instants of before
// that after lacks, or that were completed and no longer are, in their old state. Both are
// sorted. A nil timeline is an empty one.
func Diff(before, after *Timeline) (added, vanished []Instant) {
	var a, b []Instant
	if before != nil {
		a = before.instants
	}
	if after != nil {
		b = after.instants
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) < 0:
			vanished = append(vanished, a[0])
			a = a[1:]
		case len(a) == 0 || compare(a[0], b[0]) > 0:
			added = append(added, b[0])
			b = b[1:]
		default:
			if a[0].State != b[0].State {
				added = append(added, b[0])
				if a[0].State == Completed {
					vanished = append(vanished, a[0])
				}
			}
			a, b = a[1:], b[1:]
		}
	}
	return added, vanished
}
