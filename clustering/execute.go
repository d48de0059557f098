package clustering

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shoaldb/shoal/engine"
)

// Progress is how far an execution has come.
type Progress struct {
	Instant            string
	GroupsDone, Groups int
	RowsDone, Rows     int64 // written; of the plan, -1 unknown
	BytesDone          int64 // of the finished output files
	Bytes              int64 // of the plan's input files
	Elapsed, ETA       time.Duration
}

// ExecStats say what an execution did.
type ExecStats struct {
	Instant     string
	Groups      int
	InputFiles  int
	InputBytes  int64
	Rows        int64
	OutputFiles int
	OutputBytes int64
	Duration    time.Duration
}

// execution is one plan being executed.
type execution struct {
	instant string
	plan    *Plan
	started time.Time
	notify  func(Progress) // may be nil

	mu sync.Mutex // guards at, and makes reports come one after the other
	at Progress
}

func newExecution(instant string, plan *Plan, started time.Time, notify func(Progress)) *execution {
	x := &execution{instant: instant, plan: plan, started: started, notify: notify}
	x.at = Progress{Instant: instant, Groups: len(plan.Groups)}
	for _, g := range plan.Groups {
		x.at.Bytes += g.Bytes
		if g.Rows < 0 || x.at.Rows < 0 {
			x.at.Rows = -1
		} else {
			x.at.Rows += g.Rows
		}
	}
	return x
}

func (x *execution) wrote(rows int64)   { x.report(func(p *Progress) { p.RowsDone += rows }) }
func (x *execution) closed(bytes int64) { x.report(func(p *Progress) { p.BytesDone += bytes }) }
func (x *execution) groupDone()         { x.report(func(p *Progress) { p.GroupsDone++ }) }

func (x *execution) report(change func(*Progress)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.at)
	x.at.Elapsed = time.Since(x.started)
	if x.at.Rows > 0 && x.at.RowsDone > 0 {
		x.at.ETA = time.Duration(float64(x.at.Elapsed) * max(float64(x.at.Rows)/float64(x.at.RowsDone)-1, 0))
	}
	if x.notify != nil {
		x.notify(x.at)
	}
}

// decodedRatio is about how much more memory rows take in a sort than bytes in a file.
const decodedRatio = 5

// parallelism is how many groups are rewritten at once: as many as there are CPUs and as allowed, but
// fewer where their shares of the memory would be too small to sort a group whole. A group by itself
// keeps the CPUs busy, and reading it in ranges costs more than waiting for another.
func (x *execution) parallelism(o PlanOptions, memory int64) int {
	largest := int64(1)
	for _, g := range x.plan.Groups {
		largest = max(largest, g.Bytes)
	}
	fit := max(memory/largest/decodedRatio, 1)
	return int(min(int64(min(o.MaxParallelism, runtime.GOMAXPROCS(0), max(len(x.plan.Groups), 1))), fit))
}

// execute rewrites the groups of a plan through w, several at a time, and marks what they were made
// of as replaced. The commit is the caller's.
func (x *execution) execute(ctx context.Context, w *engine.Write, strategy ExecutionStrategy, o PlanOptions, memory int64) error {
	parallel := x.parallelism(o, memory)
	snap := w.Snapshot()
	live := groupIndex(snap, func(yield func(string) bool) {
		for _, g := range x.plan.Groups {
			if !yield(g.Partition) {
				return
			}
		}
	})
	jobs := make([]*Job, len(x.plan.Groups))
	for i, g := range x.plan.Groups {
		j := &Job{Group: g, Layout: x.plan.Layout, TargetBytes: o.TargetBytes, MemoryBytes: memory / int64(parallel),
			number: i + 1, write: w, run: x, tallied: tallyColumns(snap.FullSchema(), snap.Config().PopulateMetaFields)}
		for _, s := range g.Slices {
			fg := live[groupKey{g.Partition, s.FileID}]
			if fg == nil {
				return &engine.ConflictError{Instant: x.instant, Partition: g.Partition, FileID: s.FileID, Reason: "it is gone"}
			}
			j.groups = append(j.groups, fg)
		}
		jobs[i] = j
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, j := range jobs {
		g.Go(func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("group %d of partition %q: panic: %v\n%s", j.number, j.Group.Partition, r, debug.Stack())
				}
			}()
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := strategy.Execute(ctx, j); err != nil {
				return fmt.Errorf("group %d of partition %q: %w", j.number, j.Group.Partition, err)
			}
			if err := j.prove(ctx); err != nil {
				return err
			}
			x.groupDone()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, j := range jobs {
		for _, s := range j.Group.Slices {
			w.Replace(j.Group.Partition, s.FileID)
		}
	}
	return nil
}
