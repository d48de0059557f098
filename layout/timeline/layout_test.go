package timeline

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	at1 = "20240101000000001"
	at2 = "20240101000000002"
	at3 = "20240101000000003"
	at4 = "20240101000000004"
)

func TestLayout(t *testing.T) {
	cases := []struct {
		version, layout int
		want            Layout
		timeline, hist  string
	}{
		{0, 0, Layout1, ".hoodie", ".hoodie/archived"},
		{6, 1, Layout1, ".hoodie", ".hoodie/archived"},
		{6, 0, Layout1, ".hoodie", ".hoodie/archived"},
		{8, 0, Layout2, ".hoodie/timeline", ".hoodie/timeline/history"},
		{9, 2, Layout2, ".hoodie/timeline", ".hoodie/timeline/history"},
		{8, 1, Layout1, ".hoodie", ".hoodie/archived"}, // the property decides
	}
	for _, c := range cases {
		cfg := &TableConfig{Version: c.version, LayoutVersion: c.layout}
		layout, err := cfg.Layout()
		dir, err2 := cfg.TimelineDir()
		hist, err3 := cfg.HistoryDir()
		if err := errors.Join(err, err2, err3); err != nil || layout != c.want || dir != c.timeline || hist != c.hist {
			t.Errorf("%+v: %d %s %s %v", c, layout, dir, hist, err)
		}
	}
	var ce *ConfigError
	if _, err := (&TableConfig{Version: 9, LayoutVersion: 3}).TimelineDir(); !errors.As(err, &ce) || ce.Key != KeyLayoutVersion {
		t.Errorf("layout 3: %v", err)
	}
}

func TestTimelineFolders(t *testing.T) {
	cfg := &TableConfig{Version: 9, TimelinePath: "time/line/", HistoryPath: "old"}
	if dir, err := cfg.HistoryDir(); err != nil || dir != ".hoodie/time/line/old" {
		t.Errorf("%s %v", dir, err)
	}
	for _, p := range []string{"..", "../x", "a/../../x", "/etc", ".", "a//b", "/"} {
		var ce *ConfigError
		if dir, err := (&TableConfig{Version: 8, TimelinePath: p}).TimelineDir(); !errors.As(err, &ce) || ce.Key != KeyTimelinePath {
			t.Errorf("timeline in %q: %s %v", p, dir, err)
		}
		if dir, err := (&TableConfig{Version: 8, HistoryPath: p}).HistoryDir(); !errors.As(err, &ce) || ce.Key != KeyHistoryPath {
			t.Errorf("history in %q: %s %v", p, dir, err)
		}
	}
}

func TestLayout2FileNames(t *testing.T) {
	cases := map[string]Instant{
		at1 + "_" + at2 + ".commit":        {at1, Commit, Completed, at2},
		at1 + "_" + at2 + ".deltacommit":   {at1, DeltaCommit, Completed, at2},
		at1 + "_" + at2 + ".replacecommit": {at1, ReplaceCommit, Completed, at2},
		at1 + "_" + at2 + ".clean":         {at1, Clean, Completed, at2},
		at1 + "_" + at2 + ".rollback":      {at1, Rollback, Completed, at2},
		at1 + "_" + at2 + ".savepoint":     {at1, Savepoint, Completed, at2},
		at1 + "_" + at2 + ".restore":       {at1, Restore, Completed, at2},
		at1 + "_" + at2 + ".indexing":      {at1, Indexing, Completed, at2},
		at1 + ".commit.requested":          {at1, Commit, Requested, ""},
		at1 + ".inflight":                  {at1, Commit, Inflight, ""},
		at1 + ".clustering.requested":      {at1, Clustering, Requested, ""},
		at1 + ".clustering.inflight":       {at1, Clustering, Inflight, ""},
		at1 + ".replacecommit.inflight":    {at1, ReplaceCommit, Inflight, ""},
		at1 + ".compaction.requested":      {at1, Compaction, Requested, ""},
		at1 + ".savepoint.inflight":        {at1, Savepoint, Inflight, ""},
		// Left by a release before 1.0.
		at1 + ".commit":                        {at1, Commit, Completed, ""},
		"20240101000000_20240101000001.commit": {"20240101000000", Commit, Completed, "20240101000001"},
	}
	for name, want := range cases {
		got, ok := Layout2.ParseFileName(name)
		if !ok || got != want || got.FileName() != name {
			t.Errorf("%s: %+v %v, written as %s", name, got, ok, got.FileName())
		}
	}
	for _, name := range []string{
		"", ".", "history", "_version_", "manifest_1", at1, at1 + "_" + at2, at1 + "_.commit", "_" + at2 + ".commit",
		at1 + "_" + at2 + "_" + at3 + ".commit", at1 + "_" + at2 + ".commit.inflight", at1 + "_" + at2 + ".commit.requested",
		at1 + "_" + at2 + ".inflight", at1 + "_" + at2 + ".clustering", at1 + ".clustering", at1 + ".clustering.done",
		at1 + "_" + at2 + ".compaction", at1 + "_" + at2 + ".commit.crc", "." + at1 + "_" + at2 + ".commit.crc",
		at1 + "_" + at2 + ".schemacommit", at1 + "_2.commit", at1 + "-" + at2 + ".commit", "x_" + at2 + ".commit",
	} {
		if in, ok := Layout2.ParseFileName(name); ok {
			t.Errorf("%q is read as %+v", name, in)
		}
	}
	// Layout 1 has none of it.
	for _, name := range []string{at1 + "_" + at2 + ".commit", at1 + ".clustering.requested", at1 + ".clustering.inflight"} {
		if in, ok := Layout1.ParseFileName(name); ok {
			t.Errorf("layout 1 reads %q as %+v", name, in)
		}
	}
}

func FuzzLayout2ParseFileName(f *testing.F) {
	for _, s := range []string{at1 + "_" + at2 + ".commit", at1 + ".clustering.requested", at1 + ".inflight", "_" + at2 + ".commit", at1 + "_" + at2 + "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if in, ok := Layout2.ParseFileName(name); ok && (in.FileName() != name || in.State != Completed && in.CompletionTime != "") {
			t.Errorf("%q is read as %+v", name, in)
		}
	})
}

func TestLoadForLayout2(t *testing.T) {
	st := open(t, layout2Table(t, map[string]string{
		at1 + ".commit.requested": "", at1 + ".inflight": "", at1 + "_" + at4 + ".commit": "",
		at2 + ".clustering.requested": "", at2 + ".clustering.inflight": "", at2 + "_" + at3 + ".replacecommit": "",
		at3 + ".clustering.requested": "", at3 + ".clustering.inflight": "",
		at4 + ".clustering.requested":         "",
		"." + at1 + "_" + at4 + ".commit.crc": "", "history/manifest_1": "",
	}))
	cfg := &TableConfig{Version: 8, LayoutVersion: 2}
	tl, err := LoadFor(context.Background(), st, cfg)
	if err != nil {
		t.Fatal(err)
	}
	c1 := Instant{at1, Commit, Completed, at4}
	c2 := Instant{at2, ReplaceCommit, Completed, at3}
	p3, p4 := Instant{at3, Clustering, Inflight, ""}, Instant{at4, Clustering, Requested, ""}
	if d := cmp.Diff([]Instant{c1, c2, p3, p4}, tl.Instants()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Instant{c2, c1}, tl.CommitsByCompletion()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Instant{p3, p4}, tl.PendingClusterings()); d != "" {
		t.Error(d)
	}
	if done, ok := tl.CompletionOf(at1); !ok || done != at4 {
		t.Errorf("%s %v", done, ok)
	}
	if done, ok := tl.CompletionOf(at3); ok {
		t.Errorf("a pending clustering completed at %s", done)
	}
	if p3.CompletedAt() != "" || (Instant{Time: at1, Action: Commit, State: Completed}).CompletedAt() != at1 {
		t.Error("CompletedAt")
	}

	// The clustering completes: its pending instant goes, its replacecommit comes.
	after := New(append(tl.Instants(), Instant{at3, ReplaceCommit, Completed, at4}))
	added, vanished := Diff(tl, after)
	if d := cmp.Diff([]Instant{{at3, ReplaceCommit, Completed, at4}}, added); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Instant{p3}, vanished); d != "" {
		t.Error(d)
	}
}

func TestLoadForErrors(t *testing.T) {
	ctx, st := context.Background(), open(t, t.TempDir())
	if _, err := LoadFor(ctx, st, &TableConfig{Version: 8}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := LoadFor(ctx, st, &TableConfig{LayoutVersion: 7}); err == nil || !strings.Contains(err.Error(), "hoodie.timeline.layout.version=7: want 1 or 2") {
		t.Errorf("layout 7: %v", err)
	}
	in := Instant{at1, Commit, Completed, at2}
	if _, err := ReadCommit(ctx, st, &TableConfig{Version: 8}, in); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	st = open(t, layout2Table(t, map[string]string{in.FileName(): "Obj\x01 and no more"}))
	if _, err := ReadCommit(ctx, st, &TableConfig{Version: 8}, in); err == nil || !strings.Contains(err.Error(), ".hoodie/timeline/"+in.FileName()+": commit metadata:") {
		t.Errorf("broken file: %v", err)
	}
}

// LoadFor of layout 1 is Load.
func TestLoadForLayout1(t *testing.T) {
	dir := layout2Table(t, map[string]string{
		"../" + at1 + ".commit": "", "../" + at2 + ".inflight": "", "../" + at1 + "_" + at2 + ".commit": "", at3 + ".commit": ""})
	ctx, st := context.Background(), open(t, dir)
	want, err := Load(ctx, st)
	if err != nil {
		t.Fatal(err)
	}
	got, err := LoadFor(ctx, st, &TableConfig{Version: 6, LayoutVersion: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Instants(), got.Instants()); d != "" || len(got.Instants()) != 2 {
		t.Error(d, got.Instants())
	}
}

// Whatever the order in which files are listed, the timeline is the same.
func TestLayout2IsOrderedAndUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ins := instants(t, "instants")
		for i := range ins {
			if ins[i].State == Completed {
				ins[i].CompletionTime = rapid.SampledFrom([]string{at1, at2, at3}).Draw(t, "completion")
			} else if rapid.Bool().Draw(t, "clustering") {
				ins[i].Action = Clustering
			}
		}
		a := New(ins)
		b := New(rapid.Permutation(ins).Draw(t, "order"))
		if !slices.Equal(a.Instants(), b.Instants()) {
			t.Errorf("%v, else %v", a.Instants(), b.Instants())
		}
		for _, p := range a.PendingClusterings() {
			if a.Contains(p.Time) {
				if in, ok := a.Get(p.Time, ReplaceCommit); ok && in.State == Completed {
					t.Errorf("%s is pending and complete", p)
				}
			}
		}
	})
}

func TestConfigOfVersions8And9(t *testing.T) {
	cases := []struct {
		props *Properties
		want  TableConfig // of it, the fields compared below
	}{
		{NewProperties(), TableConfig{TableFormat: "native", TimelinePath: "timeline", HistoryPath: "history"}},
		{NewProperties(KeyPrecombineField, "ts", KeyVersion, "8", KeyInitialVersion, "6", KeyMergeMode, "event_time_ordering",
			KeyMergeStrategyID, "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5", KeyTimelinePath, "tl", KeyHistoryPath, "old"),
			TableConfig{PrecombineField: "ts", OrderingFields: []string{"ts"}, InitialVersion: 6, MergeMode: MergeByEventTime,
				MergeStrategyID: "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5", TableFormat: "native", TimelinePath: "tl", HistoryPath: "old"}},
		{NewProperties(KeyOrderingFields, "a, b", KeyVersion, "9", KeyMergeMode, "COMMIT_TIME_ORDERING", KeyTableFormat, "Native",
			KeyPartialUpdateMode, "fill_unavailable"),
			TableConfig{PrecombineField: "a, b", OrderingFields: []string{"a", "b"}, MergeMode: MergeByCommitTime, TableFormat: "native",
				PartialUpdateMode: "FILL_UNAVAILABLE", TimelinePath: "timeline", HistoryPath: "history"}},
	}
	pick := func(c *TableConfig) TableConfig {
		return TableConfig{PrecombineField: c.PrecombineField, OrderingFields: c.OrderingFields, InitialVersion: c.InitialVersion,
			MergeMode: c.MergeMode, MergeStrategyID: c.MergeStrategyID, PartialUpdateMode: c.PartialUpdateMode,
			TableFormat: c.TableFormat, TimelinePath: c.TimelinePath, HistoryPath: c.HistoryPath}
	}
	for _, c := range cases {
		c.props.Set(KeyName, "t")
		got, err := ParseTableConfig(c.props)
		if err != nil {
			t.Error(err)
			continue
		}
		if d := cmp.Diff(c.want, pick(got)); d != "" {
			t.Error(d)
		}
	}
}
