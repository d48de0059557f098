package clustering

import (
	"context"
	"fmt"
	"io"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// ExecutionStrategy rewrites one group of a plan: it reads the job's rows and writes them to the
// job's output. The proof that they are the same rows is not its affair. It is called from several
// goroutines, for one job each.
type ExecutionStrategy interface {
	Execute(ctx context.Context, job *Job) error
}

// Job is one group being rewritten. Its methods are for the goroutine that executes it.
type Job struct {
	Group       Group
	Layout      Layout
	TargetBytes int64 // of an output file
	MemoryBytes int64 // what the job may hold at a time

	number  int // of the group in the plan, from 1
	write   *engine.Write
	groups  []*engine.FileGroup
	run     *execution
	tallied []string // columns
	in      tally    // of all rows, once inKnown
	inKnown bool
	outputs []*Output
}

// Schema is the schema of the job's rows: the table's, with meta columns.
func (j *Job) Schema() *column.Schema { return j.write.Snapshot().FullSchema() }

// readRows is how many rows are read at a time.
const readRows = 32 << 10

// Read hands all rows to batch, in the order of the files and the rows in them. Batches may be kept.
func (j *Job) Read(ctx context.Context, batch func(*column.Batch) error) error {
	var in tally
	err := j.scan(ctx, j.Schema().Names(), nil, func(b *column.Batch) error {
		in.add(b, j.tallied)
		return batch(b)
	})
	if err == nil {
		j.in, j.inKnown = in, true
	}
	return err
}

// scan hands over some columns of the rows for which p is true.
func (j *Job) scan(ctx context.Context, columns []string, p *predicate.Predicate, batch func(*column.Batch) error) error {
	sc, err := j.write.Snapshot().ScanGroups(ctx, j.groups, engine.ScanOptions{
		Columns: columns, Predicate: p, BatchRows: readRows, Ordered: true})
	if err != nil {
		return err
	}
	defer sc.Close()
	for {
		b, err := sc.Next(ctx)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := batch(b); err != nil {
			return err
		}
	}
}

// ProofError says that a group's rows did not survive its rewriting. Nothing is committed then.
type ProofError struct {
	Group     int // of the plan, from 1
	Partition string
	// RowsPlanned is what the timeline says of the group's files; -1 when it does not.
	RowsPlanned, RowsIn, RowsOut int64 // all equal: the rows have other record keys
}

func (e *ProofError) Error() string {
	s := fmt.Sprintf("group %d of partition %q: ", e.Group, e.Partition)
	switch {
	case e.RowsPlanned >= 0 && e.RowsPlanned != e.RowsIn:
		return s + fmt.Sprintf("its files have %d rows by the timeline, %d were read", e.RowsPlanned, e.RowsIn)
	case e.RowsIn == e.RowsOut:
		return s + fmt.Sprintf("the record keys of the %d rows written are not those of the rows read", e.RowsIn)
	}
	return s + fmt.Sprintf("%d rows were read, %d written", e.RowsIn, e.RowsOut)
}

// prove compares what the job read with what it wrote (I3). Where the strategy never read all rows
// in one go, which is when reading could have missed some, they are read again for that.
func (j *Job) prove(ctx context.Context) error {
	if !j.inKnown {
		var in tally
		if err := j.scan(ctx, j.tallied, nil, func(b *column.Batch) error { in.add(b, j.tallied); return nil }); err != nil {
			return err
		}
		j.in, j.inKnown = in, true
	}
	var out tally
	var counted int64
	for _, o := range j.outputs {
		if !o.finished {
			return fmt.Errorf("group %d of partition %q: the strategy left its output open", j.number, j.Group.Partition)
		}
		out.rows += o.written.rows
		out.sum += o.written.sum
		counted += o.counted
	}
	// Where the files have other counts than the rows handed to them, theirs is what will be read.
	failed := &ProofError{Group: j.number, Partition: j.Group.Partition, RowsPlanned: j.Group.Rows, RowsIn: j.in.rows, RowsOut: counted}
	if j.in != out || counted != out.rows || j.Group.Rows >= 0 && j.Group.Rows != j.in.rows {
		return failed
	}
	return nil
}
