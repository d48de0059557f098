package clustering

import (
	"context"
	"hash/maphash"
	"io"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// tally counts rows and sums a hash of each row's key, so that two sets of rows can be compared
// without regard to order. Sums wrap.
type tally struct {
	rows int64
	sum  uint64
}

var tallySeed = maphash.MakeSeed()

// add counts a batch in the table's full schema. Rows without record keys (a table without meta
// fields) are told by all their plain columns.
func (t *tally) add(b *column.Batch) {
	t.rows += int64(b.Len)
	keys := b.Column(column.MetaRecordKey)
	if keys != nil && keys.NullCount() == 0 {
		if keys.Dict != nil && keys.Dict.Len() < b.Len {
			hashes := make([]uint64, keys.Dict.Len())
			for i := range hashes {
				hashes[i] = maphash.Bytes(tallySeed, keys.Dict.At(i))
			}
			for _, c := range keys.Codes {
				t.sum += hashes[c]
			}
			return
		}
		for i := range b.Len {
			t.sum += maphash.Bytes(tallySeed, keys.Bytes(i))
		}
		return
	}
	var buf []byte
	for i := range b.Len {
		buf = buf[:0]
		for k, v := range b.Cols {
			if !v.Type.Kind.Nested() && b.Schema.Fields[k].Name != column.MetaFileName {
				buf = column.AppendKey(buf, v, i)
			}
		}
		t.sum += maphash.Bytes(tallySeed, buf)
	}
}

// Schema is the schema of the job's rows: the table's, with meta columns.
func (j *Job) Schema() *column.Schema { return j.write.Snapshot().FullSchema() }

// scan reads columns of the job's files, in their order where ordered.
func (j *Job) scan(ctx context.Context, columns []string, p *predicate.Predicate) (*engine.Scan, error) {
	return j.write.Snapshot().ScanGroups(ctx, j.groups, engine.ScanOptions{Columns: columns, Predicate: p, BatchRows: 64 << 10, Ordered: true})
}

// Read calls row with the job's rows in the order of their files, or those for which p is true.
// Each batch may be kept.
func (j *Job) Read(ctx context.Context, p *predicate.Predicate, batch func(*column.Batch) error) error {
	sc, err := j.scan(ctx, j.Schema().Names(), p)
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

// output writes the job's new files one after the other, each near its share of the rows and
// never much above the target size.
type output struct {
	j       *Job
	perFile int64 // rows; 0: by bytes alone
	rows    int64 // in the open file
	files   int
	file    *engine.FileWriter
}

// Output starts writing. rows is how many there will be, -1 if unknown.
func (j *Job) Output(rows int64) *output {
	o := &output{j: j}
	if rows > 0 {
		o.perFile = (rows + int64(j.Group.OutputFiles) - 1) / int64(j.Group.OutputFiles)
	}
	return o
}

// write appends rows, going on to a new file where the open one is full.
func (o *output) write(ctx context.Context, b *column.Batch) error {
	for b.Len > 0 {
		if o.file != nil && (o.perFile > 0 && o.rows >= o.perFile && o.files < o.j.Group.OutputFiles || o.file.BytesWritten() >= o.j.TargetBytes) {
			if err := o.close(ctx); err != nil {
				return err
			}
		}
		if o.file == nil {
			var err error
			if o.file, err = o.j.write.NewFile(ctx, engine.FileOptions{Partition: o.j.Group.Partition}); err != nil {
				return err
			}
			o.files++
			o.rows = 0
		}
		n := b.Len
		if o.perFile > 0 && o.files < o.j.Group.OutputFiles && o.rows+int64(n) > o.perFile {
			n = int(o.perFile - o.rows)
		}
		part := b.Slice(0, n)
		if err := o.file.Write(ctx, part); err != nil {
			return err
		}
		o.j.out.add(part)
		o.rows += int64(n)
		o.j.run.rows.Add(int64(n))
		o.j.run.report()
		b = b.Slice(n, b.Len)
	}
	return nil
}

func (o *output) close(ctx context.Context) error {
	if o.file == nil {
		return nil
	}
	_, err := o.file.Close(ctx)
	o.file = nil
	return err
}
