package timeline

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/shoaldb/shoal/layout/storage"
)

// Layout says where a table's timeline lies and how its files are named (docs/format.md: Layout 2).
type Layout int

// The layouts.
const (
	Layout1 Layout = 1 // files in Dir, commit metadata as JSON; table versions up to 6
	Layout2 Layout = 2 // a folder of its own, completion times, Avro; table versions 8 and 9
)

// Layout tells the layout of the table's timeline. The property of that name decides, and where
// there is none, the table version. Errors are *ConfigError.
func (c *TableConfig) Layout() (Layout, error) {
	switch {
	case c.LayoutVersion == 2, c.LayoutVersion == 0 && c.Version >= 8:
		return Layout2, nil
	case c.LayoutVersion <= 1:
		return Layout1, nil
	}
	return 0, &ConfigError{Key: KeyLayoutVersion, Value: fmt.Sprint(c.LayoutVersion), Reason: "want 1 or 2"}
}

// TimelineDir is the folder of the active timeline, relative to the base path. Errors are
// *ConfigError.
func (c *TableConfig) TimelineDir() (string, error) {
	layout, err := c.Layout()
	if err != nil || layout == Layout1 {
		return Dir, err
	}
	return subfolder(Dir, KeyTimelinePath, cmp.Or(c.TimelinePath, "timeline"))
}

// HistoryDir is the folder of the archived timeline, relative to the base path. Errors are
// *ConfigError.
func (c *TableConfig) HistoryDir() (string, error) {
	dir, err := c.TimelineDir()
	if err != nil {
		return "", err
	}
	if layout, _ := c.Layout(); layout == Layout1 {
		return subfolder(dir, KeyArchiveFolder, cmp.Or(c.ArchiveFolder, "archived"))
	}
	return subfolder(dir, KeyHistoryPath, cmp.Or(c.HistoryPath, "history"))
}

// subfolder joins a folder that a property names. One that leaves its parent is refused: the
// table must not lead a reader elsewhere.
func subfolder(parent, key, folder string) (string, error) {
	clean := strings.TrimSuffix(folder, "/")
	if !fs.ValidPath(clean) || clean == "." {
		return "", &ConfigError{Key: key, Value: folder, Reason: "want a folder inside " + parent}
	}
	return path.Join(parent, clean), nil
}

// ParseFileName reads the name of a state file. It is false for every other name in the folder
// of the timeline.
func (l Layout) ParseFileName(name string) (Instant, bool) {
	if l != Layout2 {
		return ParseFileName(name)
	}
	times, rest, ok := strings.Cut(name, ".")
	if !ok {
		return Instant{}, false
	}
	requested, completion, both := strings.Cut(times, "_")
	if !both {
		if !isTime(requested) {
			return Instant{}, false
		}
		switch rest {
		case "clustering.requested":
			return Instant{Time: requested, Action: Clustering}, true
		case "clustering.inflight":
			return Instant{Time: requested, Action: Clustering, State: Inflight}, true
		}
		// Pending files have the names of layout 1. So have completed ones that a release before
		// 1.0 left here: they are without a completion time.
		return ParseFileName(name)
	}
	in, ok := ParseFileName(requested + "." + rest)
	if !ok || in.State != Completed || !isTime(completion) {
		return Instant{}, false
	}
	in.CompletionTime = completion
	return in, true
}

// LoadFor lists the active timeline of a table in the layout that its properties tell.
func LoadFor(ctx context.Context, st storage.Storage, c *TableConfig) (*Timeline, error) {
	layout, err := c.Layout()
	if err != nil {
		return nil, fmt.Errorf("load timeline: %w", err)
	}
	dir, err := c.TimelineDir()
	if err != nil {
		return nil, fmt.Errorf("load timeline: %w", err)
	}
	names, err := fileNames(ctx, st, dir)
	if err != nil {
		return nil, fmt.Errorf("load timeline: %w", err)
	}
	instants := make([]Instant, 0, len(names))
	for _, n := range names {
		if in, ok := layout.ParseFileName(n); ok {
			instants = append(instants, in)
		}
	}
	return New(instants), nil
}

// ReadState reads the file that puts an instant into its state. It may be empty. Errors name the
// file; fs.ErrNotExist when it is gone.
func ReadState(ctx context.Context, st storage.Storage, c *TableConfig, in Instant) ([]byte, error) {
	dir, err := c.TimelineDir()
	if err != nil {
		return nil, fmt.Errorf("instant %s: %w", in, err)
	}
	data, err := st.ReadFile(ctx, path.Join(dir, in.FileName()))
	if err != nil {
		return nil, fmt.Errorf("instant %s: %w", in, err)
	}
	return data, nil
}

// ReadCommit reads the commit metadata of an instant: a completed commit, deltacommit or
// replacecommit, or an inflight one for its workload profile.
func ReadCommit(ctx context.Context, st storage.Storage, c *TableConfig, in Instant) (*CommitMetadata, error) {
	data, err := ReadState(ctx, st, c, in)
	if err != nil {
		return nil, err
	}
	m, err := DecodeAnyCommit(data)
	if err != nil {
		dir, _ := c.TimelineDir()
		return nil, fmt.Errorf("%s: %w", path.Join(dir, in.FileName()), err)
	}
	return m, nil
}

// CompletedAt is when a completed instant became visible, as far as it is known: its completion
// time, or where there is none, its own time. It is "" for pending instants.
func (i Instant) CompletedAt() string {
	if i.State != Completed {
		return ""
	}
	return cmp.Or(i.CompletionTime, i.Time)
}

// CommitsByCompletion returns what CompletedCommits does, in the order of completion. In layout 2
// this is the order in which log files apply.
func (t *Timeline) CommitsByCompletion() []Instant {
	commits := t.CompletedCommits()
	slices.SortStableFunc(commits, func(a, b Instant) int { return cmp.Compare(a.CompletedAt(), b.CompletedAt()) })
	return commits
}

// CompletionOf tells when the write of a time completed. It is false for one that has not, and
// for one whose instant has left the active timeline: FirstCommit tells them apart.
func (t *Timeline) CompletionOf(time string) (string, bool) {
	for _, a := range [...]Action{Commit, DeltaCommit, ReplaceCommit} {
		if in, ok := t.Get(time, a); ok && in.State == Completed {
			return in.CompletedAt(), true
		}
	}
	return "", false
}

// PendingClusterings returns the clusterings that are requested or inflight in layout 2, sorted.
// In layout 1 they are replacecommits that only their plan tells from others, and not in here.
func (t *Timeline) PendingClusterings() []Instant {
	return t.filter(func(in Instant) bool { return in.Action == Clustering && in.State != Completed })
}
