package clustering

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// defaults are the options of an unconfigured table, with small sizes: 100-byte targets, files
// below 60 bytes are small, groups take up to 100 bytes.
func defaults() PlanOptions {
	return PlanOptions{Filter: FilterNone, TargetBytes: 100, SmallFileLimit: 60, MaxGroupBytes: 100, MaxGroups: 30, SingleGroup: true, Order: "linear", Lookback: 2}
}

// part makes a partition of files with the given sizes, named a, b, c …
func part(path string, sizes ...int64) PartitionInput {
	p := PartitionInput{Path: path}
	for i, n := range sizes {
		p.Slices = append(p.Slices, SliceInput{FileID: string(rune('a' + i)), FileName: string(rune('a'+i)) + ".parquet", Bytes: n, Rows: n})
	}
	return p
}

// shape prints a plan's groups as partition:fileids>outputs.
func shape(p *Plan) string {
	var out []string
	for _, g := range p.Groups {
		var ids []string
		for _, s := range g.Slices {
			ids = append(ids, s.FileID)
		}
		out = append(out, fmt.Sprintf("%s:%s>%d", g.Partition, strings.Join(ids, ""), g.OutputFiles))
	}
	return strings.Join(out, " ")
}

// The expected groups are worked out by hand from the rules in docs/format.md: clustering plan.
func TestSizeBasedGrouping(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []PartitionInput
		edit  func(*PlanOptions)
		want  string
		note  string
	}{
		{name: "largest first, closed before the limit is passed", parts: []PartitionInput{part("p", 10, 50, 40, 30, 20)},
			// 50+40=90, +30 would be 120; then 30+20+10=60
			want: "p:bc>1 p:dea>1"},
		{name: "exactly the limit still fits", parts: []PartitionInput{part("p", 50, 50, 1)}, want: "p:ab>1 p:c>1"},
		{name: "a file at the small file limit is not small", parts: []PartitionInput{part("p", 60, 59)}, want: "p:b>1", note: "not below 60 bytes"},
		{name: "a lone file without sort columns when single groups are off", parts: []PartitionInput{part("p", 10)},
			edit: func(o *PlanOptions) { o.SingleGroup = false }, want: "", note: "only small file"},
		{name: "a lone file with sort columns", parts: []PartitionInput{part("p", 10)},
			edit: func(o *PlanOptions) { o.SingleGroup = false; o.SortColumns = []string{"x"} }, want: "p:a>1"},
		{name: "the last group of one file is dropped when single groups are off", parts: []PartitionInput{part("p", 50, 40, 30)},
			edit: func(o *PlanOptions) { o.SingleGroup = false }, want: "p:ab>1"},
		{name: "output files by target size", parts: []PartitionInput{part("p", 50, 50)},
			edit: func(o *PlanOptions) { o.TargetBytes = 33 }, want: "p:ab>4"},
		{name: "the group cap is per plan, in partition order", parts: []PartitionInput{part("q", 10, 10), part("p", 10, 10), part("r", 5)},
			edit: func(o *PlanOptions) { o.MaxGroups = 2 }, want: "p:ab>1 q:ab>1", note: "1 eligible partition is left"},
		{name: "selected partitions", parts: []PartitionInput{part("p", 1), part("q", 1)},
			edit: func(o *PlanOptions) { o.Partitions = []string{"q", "nope"} }, want: "q:a>1"},
		{name: "pattern must match the whole path", parts: []PartitionInput{part("p=1", 1), part("p=11", 1)},
			edit: func(o *PlanOptions) { o.Regex = regexp.MustCompile("^(?:p=1)$") }, want: "p=1:a>1"},
		{name: "recent days skips the latest and takes two", parts: []PartitionInput{part("d=1", 1), part("d=2", 1), part("d=3", 1), part("d=4", 1)},
			edit: func(o *PlanOptions) { o.Filter = FilterRecentDays; o.Skip = 1 }, want: "d=3:a>1 d=2:a>1"},
		{name: "a range of partitions is inclusive and may be open", parts: []PartitionInput{part("d=1", 1), part("d=2", 1), part("d=3", 1)},
			edit: func(o *PlanOptions) { o.Filter = FilterSelected; o.Begin = "d=2" }, want: "d=2:a>1 d=3:a>1"},
		{name: "both ends", parts: []PartitionInput{part("h=20", 1), part("h=21", 1), part("h=22", 1)},
			edit: func(o *PlanOptions) { o.Filter = FilterSelected; o.Begin = "h=21"; o.End = "h=21" }, want: "h=21:a>1"},
		{name: "day rolling takes the partitions of this hour", parts: []PartitionInput{part("a", 1), part("b", 1), part("c", 1)},
			edit: func(o *PlanOptions) { o.Filter = FilterDayRolling }, want: "b:a>1"},
		{name: "nothing at all", parts: nil, want: "", note: "no files"},
	} {
		o := defaults()
		if c.edit != nil {
			c.edit(&o)
		}
		p := MakePlan(PlanInput{Partitions: c.parts, Now: time.Date(2026, 1, 1, 1, 30, 0, 0, time.UTC)}, o)
		if got := shape(p); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if notes := strings.Join(p.LeftOut, "; "); !strings.Contains(notes, c.note) {
			t.Errorf("%s: notes %q lack %q", c.name, notes, c.note)
		}
	}
}

func TestPendingSlicesAreLeftOut(t *testing.T) {
	p := part("p", 10, 20, 30)
	p.Slices[1].Pending = "20260101000000000"
	got := MakePlan(PlanInput{Partitions: []PartitionInput{p}}, defaults())
	if shape(got) != "p:ca>1" || !strings.Contains(strings.Join(got.LeftOut, ""), "1 file is in a plan that is pending") {
		t.Fatalf("%s", got)
	}
}

func TestWhatIsLaidOutAsAskedIsLeftAlone(t *testing.T) {
	o := defaults()
	o.SortColumns = []string{"x"}
	p := part("p", 50, 40)
	for i := range p.Slices {
		p.Slices[i].Layout, p.Slices[i].Instant = o.Layout().encode(), "1"
	}
	o.TargetBytes = 45 // both files would become two again
	if got := MakePlan(PlanInput{Partitions: []PartitionInput{p}}, o); len(got.Groups) != 0 || !strings.Contains(got.LeftOut[0], "already laid out") {
		t.Fatalf("%s", got)
	}
	o.SortColumns = []string{"y"} // another layout
	if got := MakePlan(PlanInput{Partitions: []PartitionInput{p}}, o); shape(got) != "p:ab>2" {
		t.Fatalf("%s", got)
	}
	o.SortColumns = []string{"x"}
	p.Slices[1].Instant = "2" // of another clustering: their ranges may overlap
	if got := MakePlan(PlanInput{Partitions: []PartitionInput{p}}, o); shape(got) != "p:ab>2" {
		t.Fatalf("%s", got)
	}
}

func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := defaults()
		o.MaxGroups = rapid.IntRange(1, 6).Draw(t, "groups")
		o.MaxGroupBytes = rapid.Int64Range(1, 200).Draw(t, "group bytes")
		o.SmallFileLimit = rapid.Int64Range(0, 120).Draw(t, "limit")
		o.SingleGroup = rapid.Bool().Draw(t, "single")
		var in PlanInput
		for i := range rapid.IntRange(0, 5).Draw(t, "partitions") {
			p := part(fmt.Sprint("p", i), rapid.SliceOfN(rapid.Int64Range(0, 120), 0, 12).Draw(t, "sizes")...)
			for k := range p.Slices {
				if rapid.Bool().Draw(t, "pending") {
					p.Slices[k].Pending = "1"
				}
			}
			in.Partitions = append(in.Partitions, p)
		}
		p := MakePlan(in, o)
		if len(p.Groups) > o.MaxGroups {
			t.Fatalf("%d groups", len(p.Groups))
		}
		seen := map[string]bool{}
		for _, g := range p.Groups {
			var sum int64
			for _, s := range g.Slices {
				id := g.Partition + "/" + s.FileID
				if seen[id] || s.Pending != "" || s.Bytes >= o.SmallFileLimit {
					t.Fatalf("slice %s: twice, pending or large", id)
				}
				seen[id] = true
				sum += s.Bytes
			}
			if sum != g.Bytes || len(g.Slices) == 0 || sum > o.MaxGroupBytes && len(g.Slices) > 1 || g.OutputFiles < 1 {
				t.Fatalf("group %+v", g)
			}
		}
		if again := MakePlan(in, o); again.String() != p.String() {
			t.Fatal("two plans of one input differ")
		}
	})
}
