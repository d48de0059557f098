package clustering

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/timeline"
)

// schedule makes a plan and stores it; nil when there is nothing to do, which the notes explain. The
// plan is made under the table's lock, so that no two plans have a file group in common (I2).
func (s *Service) schedule(ctx context.Context, t *engine.Table, r Request, config engine.Config, res *Result) (made *Listing, err error) {
	started := time.Now()
	event := Event{Table: tableName(t), Step: "schedule", Reason: "requested"}
	s.emit(event)
	var plan *Plan
	var req *timeline.RequestedReplace
	var instant string
	defer func() {
		event.Ended, event.Instant, event.Duration, event.Err, event.Reason = true, instant, time.Since(started), err, ""
		if plan != nil {
			event.Reason = strings.Join(plan.LeftOut, "; ")
		}
		s.emit(event)
	}()
	var o PlanOptions
	instant, err = t.Schedule(ctx, func(snap *engine.Snapshot) (*timeline.RequestedReplace, error) {
		var err error
		if o, err = ResolvePlanOptions(config, snap.Schema()); err != nil {
			return nil, err
		}
		if err := r.choosePartitions(snap, &o); err != nil {
			return nil, err
		}
		wait, err := tooSoon(engine.NewConfig(r.Options), config, snap)
		if err != nil {
			return nil, err
		}
		if wait != "" {
			plan = &Plan{LeftOut: []string{wait}}
			return nil, nil
		}
		in, err := s.input(ctx, t, snap, o)
		if err != nil {
			return nil, err
		}
		strategy, err := planStrategies.find(o.PlanStrategy)
		if err != nil {
			return nil, err
		}
		if plan = strategy.Plan(in, o); len(plan.Groups) == 0 {
			return nil, nil
		}
		req = plan.request(t)
		return req, nil
	})
	if err != nil {
		return nil, err
	}
	if instant == "" {
		res.Notes = append(res.Notes, "nothing to cluster: "+strings.Join(plan.LeftOut, "; "))
		return nil, nil
	}
	for _, reason := range plan.LeftOut {
		res.Notes = append(res.Notes, "left out: "+reason)
	}
	p := catalog.Plan{Instant: instant, State: "requested", Strategy: o.PlanStrategy, Order: strings.Join(plan.Layout.Columns, ","),
		Groups: len(plan.Groups), Started: started, Updated: time.Now()}
	for _, g := range plan.Groups {
		p.InputFiles += len(g.Slices)
		p.InputBytes += g.Bytes
		p.RowsIn += max(g.Rows, 0)
	}
	s.record(context.WithoutCancel(ctx), t, p)
	event.Groups, event.InputFiles, event.InputBytes = p.Groups, p.InputFiles, p.InputBytes
	l := listingOf(instant, timeline.Requested, req)
	return &l, nil
}

// choosePartitions applies the request's predicate or list, as Hudi's procedure does: it becomes the
// list of selected partitions, whichever filter mode was configured.
func (r *Request) choosePartitions(snap *engine.Snapshot, o *PlanOptions) error {
	switch {
	case r.Predicate != nil:
		matched, err := matchPartitions(snap, r.Predicate)
		if err != nil {
			return err
		}
		o.Partitions, o.Filter = matched, FilterSelected
	case len(r.SelectedPartitions) > 0:
		o.Partitions, o.Filter = r.SelectedPartitions, FilterSelected
	}
	return nil
}

// Keys of clustering by itself, each with the older one that means the same. Where one is on, plans
// are made every so many commits only (docs/format.md: clustering trigger).
var (
	keysInline = []string{"hoodie.clustering.inline", "hoodie.datasource.clustering.inline.enable"}
	keysAsync  = []string{"hoodie.clustering.async.enabled", "hoodie.datasource.clustering.async.enable"}
)

const (
	keyInlineCommits = "hoodie.clustering.inline.max.commits"
	keyAsyncCommits  = "hoodie.clustering.async.max.commits"
)

// tooSoon says why no plan is due yet; "" when one is. Only a request that itself switches a kind of
// clustering by itself on has to wait: who asks for a plan in person gets one.
func tooSoon(asked, c engine.Config, snap *engine.Snapshot) (string, error) {
	commits := int64(-1)
	for _, gate := range []struct {
		on    []string
		every string
	}{{keysInline, keyInlineCommits}, {keysAsync, keyAsyncCommits}} {
		v, ok := asked.Lookup(gate.on...)
		if !ok || v == "" || strings.EqualFold(v, "false") {
			continue
		}
		if !strings.EqualFold(v, "true") {
			return "", &engine.OptionError{Key: gate.on[0], Value: v, Allowed: "true or false"}
		}
		every, err := c.Int64(gate.every, 4, 0, 1<<40)
		if err != nil {
			return "", err
		}
		if commits < 0 {
			commits = commitsSinceReplace(snap.Timeline())
		}
		if commits < every {
			return fmt.Sprintf("%s since the last replacecommit, a plan is made every %d (%s)", plural(int(commits), "commit", "commits"), every, gate.every), nil
		}
	}
	return "", nil
}

// commitsSinceReplace counts the completed commits after the last replacecommit of any kind and state.
func commitsSinceReplace(tl *timeline.Timeline) (n int64) {
	last := ""
	for _, in := range tl.Instants() {
		if in.Action == timeline.ReplaceCommit {
			last = in.Time
		}
	}
	for _, in := range tl.CompletedCommits() {
		if in.Time > last {
			n++
		}
	}
	return n
}

// input describes the snapshot to a plan strategy.
func (s *Service) input(ctx context.Context, t *engine.Table, snap *engine.Snapshot, o PlanOptions) (PlanInput, error) {
	pending := map[groupKey]string{}
	for _, p := range snap.Pending() {
		for _, g := range p.Request.ClusteringPlan.InputGroups {
			for _, sl := range g.Slices {
				pending[groupKey{sl.PartitionPath, sl.FileID}] = p.Instant
			}
		}
	}
	replaces := map[string]bool{}
	for _, in := range snap.Timeline().CompletedCommits() {
		replaces[in.Time] = in.Action == timeline.ReplaceCommit
	}
	layouts := map[string]string{}
	layoutOf := func(instant string) (string, error) {
		if l, ok := layouts[instant]; ok || !replaces[instant] || len(o.SortColumns) == 0 {
			return l, nil
		}
		m, err := t.CommitMetadata(ctx, instant)
		if err != nil {
			return "", err
		}
		layouts[instant] = m.ExtraMetadata[layoutKey]
		return layouts[instant], nil
	}
	in := PlanInput{Now: s.o.Now()}
	for _, path := range snap.Partitions() {
		p := PartitionInput{Path: path}
		for _, g := range snap.Groups(path) {
			l := g.Latest()
			layout, err := layoutOf(l.Instant)
			if err != nil {
				return in, err
			}
			p.Slices = append(p.Slices, SliceInput{FileID: g.FileID, FileName: l.FileName, Instant: l.Instant, Bytes: l.Size,
				Rows: l.Rows, Pending: pending[groupKey{path, g.FileID}], Layout: layout})
		}
		in.Partitions = append(in.Partitions, p)
	}
	return in, nil
}

// PartitionPredicateError refuses a predicate over a column that is no partition column.
type PartitionPredicateError struct{ Column string }

func (e *PartitionPredicateError) Error() string {
	return fmt.Sprintf("Only partition predicates are allowed: %s is not a partition column", e.Column)
}

// Unwrap lets errors.Is find engine.ErrBadArgument.
func (e *PartitionPredicateError) Unwrap() error { return engine.ErrBadArgument }

// matchPartitions finds the partitions for which a predicate over partition columns is true.
func matchPartitions(snap *engine.Snapshot, p *predicate.Predicate) ([]string, error) {
	for _, c := range p.Columns() {
		if !slices.ContainsFunc(snap.Config().PartitionFields, func(f string) bool { return strings.EqualFold(f, c) }) {
			return nil, &PartitionPredicateError{Column: c}
		}
	}
	out := []string{}
	for _, path := range snap.Partitions() {
		if _, ok := snap.PartitionValues(path); !ok {
			return nil, &engine.UnsupportedError{What: "a predicate over the partitions of this table",
				Why:  fmt.Sprintf("the values of its partition columns cannot be told from a path such as %q", path),
				Hint: "name the paths with selected_partitions"}
		}
		switch snap.PrunePartition(path, p) {
		case predicate.Yes:
			out = append(out, path)
		case predicate.Unknown:
			return nil, &engine.UnsupportedError{What: "the predicate " + p.String(),
				Why: fmt.Sprintf("it cannot be decided for partition %q", path), Hint: "name the paths with selected_partitions"}
		}
	}
	return out, nil
}
