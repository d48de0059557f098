package clustering

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/timeline"
)

// Options shape a Service.
type Options struct {
	// MemoryBytes bounds what one execution holds; 0 means 1 GiB.
	MemoryBytes int64
	// Now is the clock of day-rolling plans; nil means time.Now.
	Now func() time.Time
}

// Service schedules, executes and shows clustering plans of a warehouse's tables. It is safe for
// concurrent use.
type Service struct {
	w *engine.Warehouse
	o Options
}

// NewService makes the service of a warehouse.
func NewService(w *engine.Warehouse, o Options) *Service {
	if o.MemoryBytes <= 0 {
		o.MemoryBytes = 1 << 30
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{w: w, o: o}
}

// Op is what a request asks for.
type Op string

// The operations, as Hudi's run_clustering names them.
const (
	Schedule           Op = "schedule"
	Execute            Op = "execute"
	ScheduleAndExecute Op = "scheduleAndExecute"
)

// ParseOp reads an operation, in any case; "" is "".
func ParseOp(text string) (Op, error) {
	for _, op := range []Op{"", Schedule, Execute, ScheduleAndExecute} {
		if strings.EqualFold(string(op), strings.TrimSpace(text)) {
			return op, nil
		}
	}
	return "", &engine.OptionError{Key: "op", Value: text, Allowed: "schedule, execute or scheduleAndExecute"}
}

// Request is one call of run_clustering (docs/format.md: clustering plan).
type Request struct {
	Op                 Op // "": ScheduleAndExecute, or Execute when Instants are named
	OrderBy            []string
	OrderStrategy      string
	Predicate          *predicate.Predicate // over partition columns; nil: every partition
	SelectedPartitions []string
	Options            map[string]string
	Instants           []string // pending plans to execute
	Limit              int      // of pending plans to execute; 0: all
}

// Listing is a plan as run_clustering and show_clustering list it.
type Listing struct {
	Instant     string
	InputGroups int
	State       string // REQUESTED, INFLIGHT, COMPLETED
	Partitions  []string
}

// Result is what a request did.
type Result struct {
	Rows  []Listing // plans made or executed, newest first
	Notes []string  // why nothing was planned, what was left out
	Stats []ExecStats
}

// Run carries out a request. progress may be nil; it is called from several goroutines, one at a
// time or not.
func (s *Service) Run(ctx context.Context, t *engine.Table, r Request, progress func(Progress)) (*Result, error) {
	op := r.Op
	switch {
	case len(r.Instants) > 0 && op == "":
		op = Execute
	case len(r.Instants) > 0 && op != Execute:
		return nil, &engine.OptionError{Key: "op", Value: string(op), Allowed: "execute, when instants are named"}
	case op == "":
		op = ScheduleAndExecute
	}
	over := map[string]string{}
	for k, v := range r.Options {
		over[k] = v
	}
	if len(r.OrderBy) > 0 {
		over[keySortColumns] = joinColumns(r.OrderBy)
	}
	if r.OrderStrategy != "" {
		over[keyLayoutStrategy] = r.OrderStrategy
	}
	config := t.Options(over)
	res := &Result{}
	var made string
	if op != Execute {
		var err error
		if made, err = s.schedule(ctx, t, r, config, res); err != nil {
			return nil, err
		}
	}
	var instants []string
	switch {
	case op == Schedule:
	case op == ScheduleAndExecute && made != "":
		instants = []string{made}
	default:
		var err error
		if instants, err = s.pending(ctx, t, r); err != nil {
			return nil, err
		}
		if op == Execute && len(instants) == 0 {
			res.Notes = append(res.Notes, "there is no pending plan to execute")
		}
	}
	for _, instant := range instants {
		stats, err := s.execute(ctx, t, instant, config, progress)
		if err != nil {
			return nil, err
		}
		res.Stats = append(res.Stats, stats)
	}
	if op == Schedule && made != "" {
		instants = []string{made}
	}
	var err error
	res.Rows, err = s.list(ctx, t, 0, func(instant string) bool { return slices.Contains(instants, instant) })
	return res, err
}

// Show lists the clusterings of the active timeline, newest first; limit <= 0 lists all.
func (s *Service) Show(ctx context.Context, t *engine.Table, limit int) ([]Listing, error) {
	return s.list(ctx, t, limit, nil)
}

func (s *Service) list(ctx context.Context, t *engine.Table, limit int, keep func(instant string) bool) ([]Listing, error) {
	all, err := t.Clusterings(ctx)
	if err != nil {
		return nil, err
	}
	out := []Listing{}
	for _, c := range all {
		if keep != nil && !keep(c.Instant) {
			continue
		}
		if limit > 0 && len(out) == limit {
			break
		}
		l := Listing{Instant: c.Instant, State: c.State.String(), InputGroups: len(c.Request.ClusteringPlan.InputGroups)}
		for _, g := range c.Request.ClusteringPlan.InputGroups {
			for _, sl := range g.Slices {
				if !slices.Contains(l.Partitions, sl.PartitionPath) {
					l.Partitions = append(l.Partitions, sl.PartitionPath)
				}
			}
		}
		sort.Strings(l.Partitions)
		out = append(out, l)
	}
	return out, nil
}

// pending chooses the plans to execute, oldest first.
func (s *Service) pending(ctx context.Context, t *engine.Table, r Request) ([]string, error) {
	snap, err := t.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range snap.Pending() {
		all = append(all, p.Instant)
	}
	sort.Strings(all)
	if len(r.Instants) > 0 {
		var missing []string
		for _, in := range r.Instants {
			if !slices.Contains(all, in) {
				missing = append(missing, in)
			}
		}
		if len(missing) > 0 {
			return nil, &engine.NameError{Kind: engine.ErrNoSuchInstant, Name: strings.Join(missing, ", "),
				Hint: "these specific clustering instants are not pending; CALL show_clustering lists them"}
		}
		all = slices.DeleteFunc(all, func(in string) bool { return !slices.Contains(r.Instants, in) })
	}
	if r.Limit > 0 && len(all) > r.Limit {
		all = all[:r.Limit]
	}
	return all, nil
}

// PartitionPredicateError refuses a predicate over a column that is no partition column.
type PartitionPredicateError struct{ Column string }

func (e *PartitionPredicateError) Error() string {
	return fmt.Sprintf("Only partition predicates are allowed: %s is not a partition column", e.Column)
}

// Unwrap lets errors.Is find engine.ErrBadArgument.
func (e *PartitionPredicateError) Unwrap() error { return engine.ErrBadArgument }

// schedule makes a plan and stores it; "" when there is nothing to do, which the notes explain.
func (s *Service) schedule(ctx context.Context, t *engine.Table, r Request, config engine.Config, res *Result) (string, error) {
	started := time.Now()
	var plan *Plan
	instant, err := t.Schedule(ctx, func(snap *engine.Snapshot) (*timeline.RequestedReplace, error) {
		o, err := ResolvePlanOptions(config, snap.Schema())
		if err != nil {
			return nil, err
		}
		switch {
		case r.Predicate != nil:
			if o.Partitions, err = matchPartitions(snap, r.Predicate); err != nil {
				return nil, err
			}
			o.Filter = FilterNone
		case len(r.SelectedPartitions) > 0:
			o.Partitions, o.Filter = r.SelectedPartitions, FilterNone
		}
		in, err := s.input(ctx, t, snap, o)
		if err != nil {
			return nil, err
		}
		strategy, err := planStrategy(o.PlanStrategy)
		if err != nil {
			return nil, err
		}
		plan = strategy.Plan(in, o)
		if len(plan.Groups) == 0 {
			return nil, nil
		}
		return plan.request(t), nil
	})
	if err != nil {
		return "", err
	}
	if instant == "" {
		res.Notes = append(res.Notes, "nothing to cluster: "+strings.Join(plan.LeftOut, "; "))
		return "", nil
	}
	for _, r := range plan.LeftOut {
		res.Notes = append(res.Notes, "left out: "+r)
	}
	p := catalog.Plan{Instant: instant, State: "requested", Strategy: sortAndSizeClass, Order: joinColumns(plan.Layout.Columns),
		Groups: len(plan.Groups), Started: started, Updated: time.Now()}
	for _, g := range plan.Groups {
		p.InputFiles += len(g.Slices)
		p.InputBytes += g.Bytes
		p.RowsIn += max(g.Rows, 0)
	}
	s.record(ctx, t, p)
	s.w.Logger().Info("clustering scheduled", "table", t.Database()+"."+t.Name(), "instant", instant, "groups", len(plan.Groups),
		"files", p.InputFiles, "bytes", p.InputBytes, "duration", time.Since(started))
	return instant, nil
}

// input describes the snapshot to a plan strategy.
func (s *Service) input(ctx context.Context, t *engine.Table, snap *engine.Snapshot, o PlanOptions) (PlanInput, error) {
	type groupKey struct{ partition, fileID string }
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
		if snap.PrunePartition(path, p) == predicate.Yes {
			out = append(out, path)
		}
	}
	return out, nil
}

// execute runs one stored plan to its commit.
func (s *Service) execute(ctx context.Context, t *engine.Table, instant string, config engine.Config, progress func(Progress)) (stats ExecStats, err error) {
	started := time.Now()
	name := t.Database() + "." + t.Name()
	w, req, err := t.BeginPending(ctx, instant, config)
	if err != nil {
		return stats, err
	}
	p := catalog.Plan{Instant: instant, State: "inflight", Owner: fmt.Sprintf("pid %d", os.Getpid()), Started: started, Updated: time.Now()}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cluster %s at %s: panic: %v\n%s", name, instant, r, debug.Stack())
		}
		if err == nil {
			return
		}
		if aerr := w.Abort(ctx); aerr != nil {
			err = errors.Join(err, aerr)
		}
		p.State, p.Error, p.Updated, p.Finished = "failed", err.Error(), time.Now(), time.Now()
		s.record(context.WithoutCancel(ctx), t, p)
		s.w.Logger().Error("clustering failed; its plan stays pending", "table", name, "instant", instant, "duration", time.Since(started), "error", err)
		err = fmt.Errorf("cluster %s at %s (the plan stays pending: run it again with op => 'execute'): %w", name, instant, err)
	}()
	plan, err := planOf(instant, req, w.Snapshot())
	if err != nil {
		return stats, err
	}
	o, err := ResolvePlanOptions(config, w.Snapshot().Schema())
	if err != nil {
		return stats, err
	}
	strategy, err := executionStrategy(o.ExecutionStrategy)
	if err != nil {
		return stats, err
	}
	if req.ClusteringPlan.Strategy != nil {
		if class := simpleName(req.ClusteringPlan.Strategy.StrategyClassName); class != "" && class != sortAndSizeClass {
			if strategy, err = executionStrategy(class); err != nil {
				return stats, err
			}
		}
	}
	x := &execution{instant: instant, plan: plan, started: started, progress: progress}
	for _, g := range plan.Groups {
		stats.InputFiles += len(g.Slices)
		stats.InputBytes += g.Bytes
		if g.Rows < 0 || x.total < 0 {
			x.total = -1
		} else {
			x.total += g.Rows
		}
	}
	x.bytes = stats.InputBytes
	p.Groups, p.InputFiles, p.InputBytes, p.RowsIn, p.Order = len(plan.Groups), stats.InputFiles, stats.InputBytes, max(x.total, 0), joinColumns(plan.Layout.Columns)
	s.record(ctx, t, p)
	s.w.Logger().Info("clustering begins", "table", name, "instant", instant, "groups", len(plan.Groups), "files", stats.InputFiles, "bytes", stats.InputBytes)
	if err := x.execute(ctx, w, strategy, o, s.o.MemoryBytes); err != nil {
		return stats, err
	}
	w.SetExtraMetadata(layoutKey, plan.Layout.encode())
	res, err := w.Commit(ctx)
	if err != nil {
		return stats, err
	}
	stats.Instant, stats.Groups, stats.Rows = instant, len(plan.Groups), res.RowsWritten
	stats.OutputFiles, stats.OutputBytes, stats.Duration = res.FilesWritten, res.BytesWritten, time.Since(started)
	p.State, p.GroupsDone, p.RowsDone, p.OutputFiles, p.OutputBytes = "completed", len(plan.Groups), res.RowsWritten, int64(res.FilesWritten), res.BytesWritten
	p.Updated, p.Finished = time.Now(), time.Now()
	s.record(context.WithoutCancel(ctx), t, p)
	s.w.Logger().Info("clustering ends", "table", name, "instant", instant, "rows", stats.Rows, "files", stats.OutputFiles,
		"bytes", stats.OutputBytes, "duration", stats.Duration)
	return stats, nil
}

// record keeps the progress of a plan in the catalog, which is history only.
func (s *Service) record(ctx context.Context, t *engine.Table, p catalog.Plan) {
	if err := t.RecordPlan(ctx, p); err != nil {
		s.w.Logger().Warn("progress of a clustering plan not recorded", "instant", p.Instant, "error", err)
	}
}

func joinColumns(cols []string) string { return strings.Join(cols, ",") }

func splitColumns(text string) []string {
	var out []string
	for _, c := range strings.Split(text, ",") {
		if c = strings.TrimSpace(c); c != "" {
			out = append(out, c)
		}
	}
	return out
}
