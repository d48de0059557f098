package clustering

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// PlanInput is what a plan is made from: the latest file slices of a snapshot.
type PlanInput struct {
	Partitions []PartitionInput
	// Now decides which partitions FilterDayRolling takes.
	Now time.Time
}

// PartitionInput is one partition with its latest file slices.
type PartitionInput struct {
	Path   string
	Slices []SliceInput
}

// SliceInput is one file slice.
type SliceInput struct {
	FileID   string
	FileName string
	Instant  string // that wrote the file
	Bytes    int64
	Rows     int64  // -1: unknown
	Pending  string // instant of the pending plan that has the file group; "" if none
	Layout   string // recorded layout of the clustering that wrote the file; "" if none
}

// Plan says which file groups are rewritten together, and why others are not.
type Plan struct {
	Groups  []Group
	Layout  Layout
	LeftOut []string // reasons, for people
}

// Group is a set of slices of one partition that become OutputFiles files.
type Group struct {
	Partition   string
	Slices      []SliceInput
	Bytes       int64
	Rows        int64 // -1: unknown
	OutputFiles int
}

// String prints the plan, a line a group and a line a reason.
func (p *Plan) String() string {
	var b strings.Builder
	for i, g := range p.Groups {
		fmt.Fprintf(&b, "group %d: partition %q: %s, %d bytes -> %s\n", i+1, g.Partition,
			plural(len(g.Slices), "file", "files"), g.Bytes, plural(g.OutputFiles, "file", "files"))
		for _, s := range g.Slices {
			fmt.Fprintf(&b, "  %s %d\n", s.FileID, s.Bytes)
		}
	}
	for _, r := range p.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", r)
	}
	return b.String()
}

// MakePlan is the size-based strategy: files below the small file limit, packed into groups by
// descending size (docs/format.md: clustering plan). It leaves alone what a clustering has laid out
// as asked already.
func MakePlan(in PlanInput, o PlanOptions) *Plan {
	p := &Plan{Layout: o.Layout()}
	chosen := filterPartitions(in, o)
	var pending, large, lone, laidOut int
	for _, part := range chosen {
		var eligible []SliceInput
		for _, s := range part.Slices {
			switch {
			case s.Pending != "":
				pending++
			case s.Bytes >= o.SmallFileLimit:
				large++
			default:
				eligible = append(eligible, s)
			}
		}
		for _, g := range packGroups(part.Path, eligible, o) {
			switch {
			case len(g.Slices) == 1 && !o.SingleGroup && len(o.SortColumns) == 0:
				lone++
			case laidOutAsAsked(g, o):
				laidOut += len(g.Slices)
			default:
				p.Groups = append(p.Groups, g)
			}
		}
	}
	if n := len(in.Partitions) - len(chosen); n > 0 {
		p.leave("%s not selected", plural(n, "partition is", "partitions are"))
	}
	for _, path := range o.Partitions {
		if !slices.ContainsFunc(in.Partitions, func(x PartitionInput) bool { return x.Path == path }) {
			p.leave("partition %q has no files (%s)", path, keyPartitions)
		}
	}
	p.cut(o.MaxGroups)
	if pending > 0 {
		p.leave("%s in a plan that is pending already", plural(pending, "file is", "files are"))
	}
	if large > 0 {
		p.leave("%s not below %d bytes (%s)", plural(large, "file is", "files are"), o.SmallFileLimit, keySmallFileLimit)
	}
	if lone > 0 {
		p.leave("%s the only small file of its group, with nothing to sort by (%s)", plural(lone, "file is", "files are each"), keySingleGroup)
	}
	if laidOut > 0 {
		p.leave("%s already laid out as asked (%s order by %s)", plural(laidOut, "file is", "files are"), o.Order, strings.Join(o.SortColumns, ","))
	}
	if len(p.Groups) == 0 && len(p.LeftOut) == 0 {
		p.leave("the table has no files")
	}
	return p
}

// cut leaves the groups beyond the n-th for another plan.
func (p *Plan) cut(n int) {
	if len(p.Groups) <= n {
		return
	}
	kept := map[string]bool{}
	for _, g := range p.Groups[:n] {
		kept[g.Partition] = true
	}
	left := map[string]bool{}
	for _, g := range p.Groups[n:] {
		if !kept[g.Partition] {
			left[g.Partition] = true
		}
	}
	more := len(p.Groups) - n
	p.Groups = p.Groups[:n]
	limit := fmt.Sprintf("a plan has at most %s (%s)", plural(n, "group", "groups"), keyMaxGroups)
	if len(left) == 0 {
		p.leave("%s left for another plan: %s", plural(more, "group of the last partition is", "groups of the last partition are"), limit)
		return
	}
	p.leave("%s left for another plan, %s in all: %s", plural(len(left), "eligible partition is", "eligible partitions are"), plural(more, "group", "groups"), limit)
}

func (p *Plan) leave(format string, args ...any) {
	p.LeftOut = append(p.LeftOut, fmt.Sprintf(format, args...))
}

// filterPartitions chooses partitions by explicit list, pattern and filter mode, in this order.
func filterPartitions(in PlanInput, o PlanOptions) []PartitionInput {
	parts := slices.Clone(in.Partitions)
	if o.Partitions != nil {
		parts = slices.DeleteFunc(parts, func(p PartitionInput) bool { return !slices.Contains(o.Partitions, p.Path) })
	} else if o.Regex != nil {
		parts = slices.DeleteFunc(parts, func(p PartitionInput) bool { return !o.Regex.MatchString(p.Path) })
	}
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].Path < parts[j].Path })
	switch o.Filter {
	case FilterRecentDays:
		slices.Reverse(parts)
		parts = parts[min(o.Skip, len(parts)):]
		if o.Lookback > 0 {
			parts = parts[:min(o.Lookback, len(parts))]
		}
	case FilterSelected:
		parts = slices.DeleteFunc(parts, func(p PartitionInput) bool {
			return o.Begin != "" && p.Path < o.Begin || o.End != "" && p.Path > o.End
		})
	case FilterDayRolling:
		kept := parts[:0]
		for i, p := range parts {
			if i%24 == in.Now.Hour() {
				kept = append(kept, p)
			}
		}
		parts = kept
	}
	return parts
}

// packGroups packs the eligible slices of a partition, largest first, into groups that stay within
// the byte limit; a slice that exceeds it alone is a group.
func packGroups(partition string, eligible []SliceInput, o PlanOptions) []Group {
	sorted := slices.Clone(eligible)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Bytes > sorted[j].Bytes })
	var groups []Group
	var cur Group
	closeGroup := func() {
		cur.Partition = partition
		cur.OutputFiles = int(min(max((cur.Bytes+o.TargetBytes-1)/o.TargetBytes, 1), math.MaxInt32))
		groups = append(groups, cur)
		cur = Group{}
	}
	for _, s := range sorted {
		if cur.Bytes+s.Bytes > o.MaxGroupBytes && len(cur.Slices) > 0 {
			closeGroup()
		}
		cur.Slices = append(cur.Slices, s)
		cur.Bytes += s.Bytes
		if s.Rows < 0 || cur.Rows < 0 {
			cur.Rows = -1
		} else {
			cur.Rows += s.Rows
		}
	}
	if len(cur.Slices) > 0 {
		closeGroup()
	}
	return groups
}

// laidOutAsAsked reports whether a group is the untouched output of one clustering with the same
// layout, which rewriting would only copy. Files of several clusterings overlap. A clustering fills
// its files more than half; where there are twice as many as their bytes ask for, they are the
// remainders of several groups and worth joining.
func laidOutAsAsked(g Group, o PlanOptions) bool {
	if len(o.SortColumns) == 0 {
		return false
	}
	want := o.Layout().encode()
	for _, s := range g.Slices {
		if s.Layout != want || s.Instant != g.Slices[0].Instant {
			return false
		}
	}
	return len(g.Slices) == 1 || len(g.Slices) < 2*g.OutputFiles
}
