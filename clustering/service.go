package clustering

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/timeline"
)

// Options shape a Service.
type Options struct {
	// MemoryBytes bounds the rows that one execution holds; 0 means 1 GiB. What encoding a row group
	// takes comes on top where it is less than 300 MB for each group at work.
	MemoryBytes int64
	// Now is the clock of day-rolling plans; nil means time.Now.
	Now func() time.Time
	// OnEvent gets every event, after the log; nil means nobody does. It may be called from several
	// goroutines at once, for different requests.
	OnEvent func(Event)
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

// Request is one call of run_clustering (docs/format.md: clustering procedures).
type Request struct {
	Op                 Op // "": ScheduleAndExecute, or Execute when Instants are named
	OrderBy            []string
	OrderStrategy      string
	Predicate          *predicate.Predicate // over partition columns; wins over SelectedPartitions
	SelectedPartitions []string
	Options            map[string]string // hoodie.* keys, over the table's; what stands above wins
	Instants           []string          // pending plans to execute
	Limit              int               // of pending plans to execute; 0: all
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

// Run carries out a request. A plan that it made is the only one that it executes then; else it
// executes what is pending, oldest first, and stops at the first failure; then the result, if not nil,
// has what was done before it. progress may be nil; it is called from several goroutines, one at a
// time for one plan.
func (s *Service) Run(ctx context.Context, t *engine.Table, r Request, progress func(Progress)) (*Result, error) {
	op, err := r.operation()
	if err != nil {
		return nil, err
	}
	config := t.Options(r.options())
	snap, err := t.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	// Bad requests fail whether or not there is something to do.
	if _, err := ResolvePlanOptions(config, snap.Schema()); err != nil {
		return nil, err
	}
	res := &Result{Rows: []Listing{}}
	if r.Predicate != nil {
		matched, err := matchPartitions(snap, r.Predicate)
		if err != nil {
			return nil, err
		}
		if len(matched) == 0 {
			res.Notes = append(res.Notes, "no partition matches the predicate "+r.Predicate.String())
			return res, nil
		}
	}
	var instants []string
	if op != Execute {
		made, err := s.schedule(ctx, t, r, config, res)
		if err != nil {
			return nil, err
		}
		if made != nil {
			instants = []string{made.Instant}
			if op == Schedule {
				res.Rows = append(res.Rows, *made)
			}
		}
	}
	if op == Execute || op == ScheduleAndExecute && len(instants) == 0 {
		if instants, err = s.pending(ctx, t, r); err != nil {
			return nil, err
		}
		if op == Execute && len(instants) == 0 {
			res.Notes = append(res.Notes, "there is no pending plan to execute")
		}
	}
	if op != Schedule {
		for _, instant := range instants {
			done, stats, err := s.execute(ctx, t, instant, config, progress)
			if err != nil {
				slices.Reverse(res.Rows)
				return res, err
			}
			res.Rows, res.Stats = append(res.Rows, done), append(res.Stats, stats)
		}
	}
	slices.Reverse(res.Rows)
	return res, nil
}

// operation is what the request asks for, its defaults filled in.
func (r *Request) operation() (Op, error) {
	op, err := ParseOp(string(r.Op))
	switch {
	case err != nil:
		return "", err
	case len(r.Instants) > 0 && op != "" && op != Execute:
		return "", &engine.OptionError{Key: "op", Value: string(op), Allowed: "execute, when instants are named"}
	case len(r.Instants) > 0:
		return Execute, nil
	case op == "":
		return ScheduleAndExecute, nil
	}
	return op, nil
}

// options are the keys that the request sets.
func (r *Request) options() map[string]string {
	over := maps.Clone(r.Options)
	if over == nil {
		over = map[string]string{}
	}
	if len(r.OrderBy) > 0 {
		over[keySortColumns] = strings.Join(r.OrderBy, ",")
	}
	if r.OrderStrategy != "" {
		over[keyLayoutStrategy] = r.OrderStrategy
	}
	return over
}

// Show lists the clusterings of the active timeline, newest first; limit <= 0 lists all.
func (s *Service) Show(ctx context.Context, t *engine.Table, limit int) ([]Listing, error) {
	all, err := t.Clusterings(ctx)
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	out := make([]Listing, len(all))
	for i, c := range all {
		out[i] = listingOf(c.Instant, c.State, c.Request)
	}
	return out, nil
}

func listingOf(instant string, state timeline.State, req *timeline.RequestedReplace) Listing {
	l := Listing{Instant: instant, State: state.String(), InputGroups: len(req.ClusteringPlan.InputGroups)}
	l.Partitions = slices.Compact(slices.Sorted(partitionsOf(req.ClusteringPlan)))
	return l
}

// Cancel takes a plan that nobody executes out of the timeline, and frees its file groups.
func (s *Service) Cancel(ctx context.Context, t *engine.Table, instant string) error {
	if err := t.CancelPending(ctx, instant); err != nil {
		return err
	}
	now := time.Now()
	s.record(ctx, t, catalog.Plan{Instant: instant, State: "cancelled", Updated: now, Finished: now})
	return nil
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
	slices.Sort(all)
	if len(r.Instants) > 0 {
		var missing []string
		for _, in := range r.Instants {
			if !slices.Contains(all, in) {
				missing = append(missing, in)
			}
		}
		if len(missing) > 0 {
			return nil, &engine.NameError{Kind: engine.ErrNoSuchInstant, Name: strings.Join(missing, ", "),
				Hint: "specific instants must be pending clusterings; CALL show_clustering lists them"}
		}
		all = slices.DeleteFunc(all, func(in string) bool { return !slices.Contains(r.Instants, in) })
	}
	if r.Limit > 0 && len(all) > r.Limit {
		all = all[:r.Limit]
	}
	return all, nil
}

// ExecutionError says which plan failed, why, and how to go on: the plan is still there.
type ExecutionError struct {
	Table, Instant string
	Err            error
}

func (e *ExecutionError) Error() string {
	s := fmt.Sprintf("cluster %s at %s: %v; the plan stays pending", e.Table, e.Instant, e.Err)
	var c *engine.ConflictError
	if errors.As(e.Err, &c) && c.FileID != "" {
		return s + ", but its file groups have changed: cancel it and schedule another (CALL cancel_clustering)"
	}
	return s + ": execute it again, or cancel it (CALL cancel_clustering)"
}

func (e *ExecutionError) Unwrap() error { return e.Err }

// execute runs one stored plan to its commit.
func (s *Service) execute(ctx context.Context, t *engine.Table, instant string, config engine.Config, progress func(Progress)) (done Listing, stats ExecStats, err error) {
	started := time.Now()
	w, req, err := t.BeginPending(ctx, instant, config)
	if err != nil {
		return done, stats, err
	}
	after := context.WithoutCancel(ctx)
	p := catalog.Plan{Instant: instant, State: "inflight", Strategy: sortAndSizeClass, Owner: owner(), Started: started, Updated: started}
	event := Event{Table: tableName(t), Step: "execute", Instant: instant}
	begun := false
	defer func() {
		if !begun {
			s.emit(event)
		}
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		if err != nil {
			err = errors.Join(err, w.Abort(after))
			p.State, p.Error = "failed", err.Error()
			err = &ExecutionError{Table: event.Table, Instant: instant, Err: err}
		}
		p.Updated = time.Now()
		p.Finished = p.Updated
		s.record(after, t, p)
		event.Ended, event.Duration, event.Err = true, time.Since(started), err
		s.emit(event)
	}()
	plan, err := planOf(instant, req, w.Snapshot())
	if err != nil {
		return done, stats, err
	}
	o, err := ResolvePlanOptions(config, w.Snapshot().Schema())
	if err != nil {
		return done, stats, err
	}
	strategy, err := executionOf(req.ClusteringPlan.Strategy, o)
	if err != nil {
		return done, stats, err
	}
	groups := 0
	x := newExecution(instant, plan, started, func(at Progress) {
		if at.GroupsDone > groups {
			groups = at.GroupsDone
			now := p
			now.GroupsDone, now.RowsDone, now.OutputBytes, now.Updated = at.GroupsDone, at.RowsDone, at.BytesDone, time.Now()
			s.record(after, t, now)
		}
		if progress != nil {
			progress(at)
		}
	})
	p.Groups, p.InputBytes, p.RowsIn, p.Order = len(plan.Groups), x.at.Bytes, max(x.at.Rows, 0), strings.Join(plan.Layout.Columns, ",")
	for _, g := range plan.Groups {
		p.InputFiles += len(g.Slices)
	}
	s.record(ctx, t, p)
	event.Groups, event.InputFiles, event.InputBytes, event.Rows = p.Groups, p.InputFiles, p.InputBytes, x.at.Rows
	s.emit(event)
	begun = true
	if err := x.execute(ctx, w, strategy, o, s.o.MemoryBytes); err != nil {
		return done, stats, err
	}
	w.SetExtraMetadata(layoutKey, plan.Layout.encode())
	res, err := w.Commit(ctx)
	if err != nil {
		return done, stats, err
	}
	p.State, p.GroupsDone, p.RowsDone, p.OutputFiles, p.OutputBytes = "completed", p.Groups, res.RowsWritten, int64(res.FilesWritten), res.BytesWritten
	event.Rows, event.OutputFiles, event.OutputBytes = res.RowsWritten, res.FilesWritten, res.BytesWritten
	return listingOf(instant, timeline.Completed, req), ExecStats{Instant: instant, Groups: p.Groups, InputFiles: p.InputFiles, InputBytes: p.InputBytes, Rows: res.RowsWritten,
		OutputFiles: res.FilesWritten, OutputBytes: res.BytesWritten, Duration: time.Since(started)}, nil
}

// record keeps the progress of a plan in the catalog, which is history only.
func (s *Service) record(ctx context.Context, t *engine.Table, p catalog.Plan) {
	if err := t.RecordPlan(ctx, p); err != nil {
		s.log().Warn("progress of a clustering plan not recorded", "table", tableName(t), "instant", p.Instant, "error", err)
	}
}

func (s *Service) emit(e Event) {
	e.log(s.log())
	if s.o.OnEvent != nil {
		s.o.OnEvent(e)
	}
}

func (s *Service) log() *slog.Logger { return s.w.Logger() }

func tableName(t *engine.Table) string { return t.Database() + "." + t.Name() }

// owner names this process.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s pid %d", host, os.Getpid())
}
