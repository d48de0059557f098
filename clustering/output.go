package clustering

import (
	"context"
	"fmt"
	"math"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// flushedBytes and flushedRows are what a base file holds in memory at most before it encodes a row
// group. Until then the size it reports is a guess.
const (
	flushedBytes = 128 << 20
	flushedRows  = 1 << 20
)

// Output writes the new files of a job, one after the other, each in a file group of its own. The
// rows are spread evenly over as many files as the plan has, which it reckoned by the bytes of the
// input; with each file that is closed the rest is reckoned anew, by the bytes that its rows took.
type Output struct {
	job      *Job
	left     int64   // rows still to come; -1 unknown
	rowBytes float64 // encoded, measured
	written  tally
	counted  int64 // rows of the closed files, as the files say

	file     *engine.FileWriter
	limit    int64 // rows of the open file; 0: its bytes alone decide
	rows     int64 // in the open file
	memory   int64 // that they took before encoding
	finished bool
}

// Output starts writing. It is to be closed.
func (j *Job) Output() *Output {
	o := &Output{job: j, left: j.Group.Rows}
	if j.Group.Rows > 0 {
		o.rowBytes = float64(j.Group.Bytes) / float64(j.Group.Rows)
	}
	j.outputs = append(j.outputs, o)
	return o
}

// Write appends rows in the job's schema, going on to a new file where the open one is full.
func (o *Output) Write(ctx context.Context, b *column.Batch) error {
	for lo := 0; lo < b.Len; {
		if o.file != nil && o.full() {
			if err := o.closeFile(ctx); err != nil {
				return err
			}
		}
		if o.file == nil {
			if err := o.open(ctx); err != nil {
				return err
			}
		}
		hi := b.Len
		if o.limit > 0 {
			hi = int(min(int64(hi), int64(lo)+o.limit-o.rows))
		}
		part := b
		if lo != 0 || hi != b.Len {
			part = b.Slice(lo, hi)
		}
		if err := o.file.Write(ctx, part); err != nil {
			return err
		}
		n := int64(hi - lo)
		o.written.add(part, o.job.tallied)
		o.rows += n
		o.memory += memoryOf(part, nil)
		if o.left >= 0 {
			o.left = max(o.left-n, 0)
		}
		o.job.run.wrote(n)
		lo = hi
	}
	return nil
}

// full reports whether the open file has its share.
func (o *Output) full() bool {
	if o.limit > 0 && o.rows >= o.limit {
		return true
	}
	return (o.limit == 0 || o.memory >= flushedBytes || o.rows >= flushedRows) && o.file.BytesWritten() >= o.job.TargetBytes
}

func (o *Output) open(ctx context.Context) error {
	var err error
	if o.file, err = o.job.write.NewFile(ctx, engine.FileOptions{Partition: o.job.Group.Partition}); err != nil {
		return err
	}
	o.rows, o.memory, o.limit = 0, 0, 0
	if o.left > 0 && o.rowBytes > 0 {
		files := int64(o.job.Group.OutputFiles)
		if o.counted > 0 {
			files = int64(math.Ceil(float64(o.left)*o.rowBytes/float64(o.job.TargetBytes) - 1e-6))
		}
		files = max(files, 1)
		o.limit = (o.left + files - 1) / files
	}
	return nil
}

func (o *Output) closeFile(ctx context.Context) error {
	stat, err := o.file.Close(ctx)
	o.file = nil
	if err != nil {
		return err
	}
	o.counted += stat.NumWrites
	if stat.NumWrites > 0 {
		o.rowBytes = float64(stat.FileSizeInBytes) / float64(stat.NumWrites)
	}
	o.job.run.closed(stat.FileSizeInBytes)
	return nil
}

// Close completes the last file. An output of no rows leaves one file without rows, because a
// clustering that writes nothing is an error to other engines.
func (o *Output) Close(ctx context.Context) error {
	if o.finished {
		return fmt.Errorf("output of group %d closed twice", o.job.number)
	}
	o.finished = true
	if o.file == nil && o.written.rows == 0 {
		if err := o.open(ctx); err != nil {
			return err
		}
	}
	if o.file == nil {
		return nil
	}
	return o.closeFile(ctx)
}

// memoryOf is the memory of a batch. A dictionary counts where it is first seen; seen may be nil,
// for a batch by itself without its dictionaries.
func memoryOf(b *column.Batch, seen map[*column.Dictionary]bool) int64 {
	var n int64
	for _, v := range b.Cols {
		if v.Dict == nil {
			n += column.SizeBytes(v)
			continue
		}
		n += int64(4 * len(v.Codes))
		if seen != nil && !seen[v.Dict] {
			seen[v.Dict] = true
			n += int64(len(v.Dict.Bytes) + 4*len(v.Dict.Offsets))
		}
	}
	return n
}
