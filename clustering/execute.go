package clustering

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shoaldb/shoal/engine"
)

// ExecutionStrategy rewrites one group of a plan. It reads the job's files, writes new ones
// through it, and leaves counting and proof to the job.
type ExecutionStrategy interface {
	Execute(ctx context.Context, job *Job) error
}

// Job is one group being rewritten. Its methods are for the goroutine that executes it.
type Job struct {
	Group       Group
	Layout      Layout
	TargetBytes int64 // of an output file
	MemoryBytes int64 // what the job may hold at a time

	number int // of the group in the plan, from 1
	write  *engine.Write
	groups []*engine.FileGroup
	run    *execution
	in     tally
	out    tally
}

// Progress is how far an execution has come.
type Progress struct {
	Instant            string
	GroupsDone, Groups int
	RowsDone, Rows     int64 // written; planned, -1 unknown
	Bytes              int64 // of the planned input
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

// ProofError says that a group's rows did not survive its rewriting. Nothing is committed then.
type ProofError struct {
	Group             int
	Partition         string
	RowsIn, RowsOut   int64
	SameRowsOtherKeys bool // the counts agree, the record keys do not
}

func (e *ProofError) Error() string {
	if e.SameRowsOtherKeys {
		return fmt.Sprintf("group %d of partition %q: the record keys written are not those read", e.Group, e.Partition)
	}
	return fmt.Sprintf("group %d of partition %q: %d rows read, %d written", e.Group, e.Partition, e.RowsIn, e.RowsOut)
}

// execution is one plan being executed.
type execution struct {
	instant  string
	plan     *Plan
	started  time.Time
	rows     atomic.Int64
	done     atomic.Int64
	total    int64 // rows; -1 unknown
	bytes    int64
	progress func(Progress)
}

func (x *execution) report() {
	if x.progress == nil {
		return
	}
	p := Progress{Instant: x.instant, GroupsDone: int(x.done.Load()), Groups: len(x.plan.Groups), RowsDone: x.rows.Load(),
		Rows: x.total, Bytes: x.bytes, Elapsed: time.Since(x.started)}
	if p.Rows > 0 && p.RowsDone > 0 {
		p.ETA = time.Duration(float64(p.Elapsed) * (float64(p.Rows)/float64(p.RowsDone) - 1))
	}
	x.progress(p)
}

// execute rewrites the groups of a plan through w, up to parallel at a time, and marks what they
// were made of as replaced. The commit is the caller's.
func (x *execution) execute(ctx context.Context, w *engine.Write, strategy ExecutionStrategy, o PlanOptions, memory int64) error {
	parallel := max(1, min(o.MaxParallelism, runtime.GOMAXPROCS(0), len(x.plan.Groups)))
	jobs := make([]*Job, len(x.plan.Groups))
	for i, g := range x.plan.Groups {
		j := &Job{Group: g, Layout: x.plan.Layout, TargetBytes: o.TargetBytes, MemoryBytes: memory / int64(parallel),
			number: i + 1, write: w, run: x}
		for _, s := range g.Slices {
			fg := w.Snapshot().Group(g.Partition, s.FileID)
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
					err = fmt.Errorf("group %d: panic: %v\n%s", j.number, r, debug.Stack())
				}
			}()
			if err := strategy.Execute(ctx, j); err != nil {
				return fmt.Errorf("group %d of partition %q: %w", j.number, j.Group.Partition, err)
			}
			if err := j.prove(); err != nil {
				return err
			}
			x.done.Add(1)
			x.report()
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

// prove compares what the job read with what it wrote.
func (j *Job) prove() error {
	if j.in != j.out {
		return &ProofError{Group: j.number, Partition: j.Group.Partition, RowsIn: j.in.rows, RowsOut: j.out.rows,
			SameRowsOtherKeys: j.in.rows == j.out.rows}
	}
	if j.Group.Rows >= 0 && j.Group.Rows != j.in.rows {
		return &ProofError{Group: j.number, Partition: j.Group.Partition, RowsIn: j.Group.Rows, RowsOut: j.in.rows}
	}
	return nil
}
