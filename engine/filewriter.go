package engine

import (
	"context"
	"fmt"
	"strconv"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/schema"
	"github.com/shoaldb/shoal/layout/storage"
	"github.com/shoaldb/shoal/layout/timeline"
)

// FileOptions describe a base file to write.
type FileOptions struct {
	Partition string
	// FileID continues a file group; "" starts a new one.
	FileID string
	// PrevCommit is the instant of the slice that the file follows; "" for a new group.
	PrevCommit string
}

// FileWriter writes one base file of a Write. It is used by one goroutine at a time.
type FileWriter struct {
	w      *Write
	name   basefile.Name
	path   string // relative to the base path
	opts   FileOptions
	out    storage.Writer
	pw     *basefile.Writer
	sum    basefile.Summary
	held   int64 // bytes of rows in the unfinished row group, nearly
	closed bool
}

// rowGroupBytes bounds the unfinished row group of a file, by its rows' bytes in memory.
const rowGroupBytes = 128 << 20

// pending is the memory of the unfinished row group; f may be nil.
func (f *FileWriter) pending() int64 {
	if f == nil || f.closed {
		return 0
	}
	return f.held
}

// NewFile starts a base file: marker, partition metadata, then the file. It is safe for
// concurrent use.
func (w *Write) NewFile(ctx context.Context, o FileOptions) (*FileWriter, error) {
	w.mu.Lock()
	number := w.nextFile
	w.nextFile++
	if !w.inflight {
		if err := w.goInflight(ctx); err != nil {
			w.mu.Unlock()
			return nil, err
		}
	}
	w.mu.Unlock()

	f := &FileWriter{w: w, opts: o}
	f.name = basefile.Name{FileID: o.FileID, Instant: w.instant, WriteToken: strconv.Itoa(number) + "-0-0"}
	if f.name.FileID == "" {
		f.name.FileID = basefile.NewFileID()
	}
	f.path = joinPath(o.Partition, f.name.String())
	kind := timeline.MarkerCreate
	if o.PrevCommit != "" {
		kind = timeline.MarkerMerge
	}
	st := w.t.st
	if err := timeline.WriteMarker(ctx, st, w.instant, o.Partition, f.name.String(), kind); err != nil {
		return nil, err
	}
	if err := w.ensurePartition(ctx, o.Partition); err != nil {
		return nil, err
	}
	var err error
	if f.out, err = st.Create(ctx, f.path); err != nil {
		return nil, fmt.Errorf("create %s: %w", f.path, err)
	}
	wo, err := w.fileOptions()
	if err == nil {
		f.pw, err = basefile.NewWriter(f.out, wo)
	}
	if err != nil {
		f.out.Abort()
		return nil, fmt.Errorf("create %s: %w", f.path, err)
	}
	w.mu.Lock()
	w.files = append(w.files, f)
	w.mu.Unlock()
	return f, nil
}

// ensurePartition makes the partition's folder and metadata, and remembers it if that was new.
func (w *Write) ensurePartition(ctx context.Context, partition string) error {
	made, err := timeline.WritePartitionMetadata(ctx, w.t.st, partition, w.instant)
	if err != nil {
		return fmt.Errorf("partition %q: %w", partition, err)
	}
	if made {
		w.mu.Lock()
		w.made = append(w.made, partition)
		w.mu.Unlock()
	}
	return nil
}

// fileOptions are the Parquet options of the table's base files (docs/format.md: base files).
func (w *Write) fileOptions() (basefile.WriterOptions, error) {
	cfg := w.snap.config
	record, namespace := avroName(cfg.Name)
	avro, err := schema.ToAvro(w.snap.full, record, namespace)
	if err != nil {
		return basefile.WriterOptions{}, err
	}
	o := w.opts.file
	o.Schema = w.snap.full
	o.RowGroupBytes = rowGroupBytes
	o.Name = namespace + "." + record
	o.KeyValue = map[string]string{"parquet.avro.schema": avro, "writer.model.name": "avro"}
	if w.opts.metaFields && len(cfg.RecordKeyFields) > 0 {
		o.KeyColumn = column.MetaRecordKey
	}
	return o, nil
}

// avroName is the record name and namespace that Hudi gives a table's schema.
func avroName(table string) (record, namespace string) {
	clean := avroSafe(table)
	return clean + "_record", "hoodie." + clean
}

// avroSafe makes a table name legal in Avro: letters, digits and underscores.
func avroSafe(name string) string {
	b := []byte(name)
	for i, c := range b {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			b[i] = '_'
		}
	}
	return string(b)
}

// FileName is the name of the base file.
func (f *FileWriter) FileName() string { return f.name.String() }

// FileID is the file group that the file belongs to.
func (f *FileWriter) FileID() string { return f.name.FileID }

// BytesWritten is the size the file would have if it were closed now, nearly.
func (f *FileWriter) BytesWritten() int64 { return f.pw.BytesWritten() }

// Write appends rows in the snapshot's FullSchema. The file name column is set here; in a table
// without meta fields the other four are made null.
func (f *FileWriter) Write(ctx context.Context, b *column.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	str := column.Type{Kind: column.String}
	out := &column.Batch{Schema: f.w.snap.full, Len: b.Len, Cols: append([]*column.Vector(nil), b.Cols...)}
	for i, name := range column.MetaColumns {
		switch {
		case name == column.MetaFileName:
			out.Cols[i] = column.Constant(str, []byte(f.name.String()), b.Len)
		case !f.w.opts.metaFields:
			out.Cols[i] = column.Nulls(str, b.Len)
		}
	}
	if err := f.pw.Write(out); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	if f.held += batchBytes(b); f.held >= rowGroupBytes {
		f.held = 0 // the row group was written
	}
	return nil
}

// Close makes the file durable and records it in the write.
func (f *FileWriter) Close(ctx context.Context) (timeline.WriteStat, error) {
	if f.closed {
		return timeline.WriteStat{}, fmt.Errorf("write %s: closed twice", f.path)
	}
	f.closed = true
	sum, err := f.pw.Close()
	if err == nil {
		err = f.out.Commit()
	}
	if err != nil {
		f.out.Abort()
		return timeline.WriteStat{}, fmt.Errorf("write %s: %w", f.path, err)
	}
	f.sum = sum
	st := timeline.WriteStat{FileID: f.name.FileID, Path: f.path, PrevCommit: timeline.NoPrevCommit, NumWrites: sum.Rows,
		NumInserts: sum.Rows, TotalWriteBytes: sum.Bytes, FileSizeInBytes: sum.Bytes, PartitionPath: f.opts.Partition}
	if f.opts.PrevCommit != "" {
		st.PrevCommit = f.opts.PrevCommit
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.stats[f.opts.Partition] = append(f.w.stats[f.opts.Partition], st)
	return st, nil
}

// keepStats gives the statistics of the written files to the cache and the catalog.
func (w *Write) keepStats(ctx context.Context) {
	by := map[string][]catalog.FileStats{}
	for _, f := range w.files {
		by[f.opts.Partition] = append(by[f.opts.Partition], catalog.FileStats{FileName: f.name.String(), Columns: f.sum.Stats})
	}
	for partition, files := range by {
		if err := w.t.stats.put(ctx, partition, files); err != nil {
			w.t.log.Warn("statistics not kept in the catalog", "instant", w.instant, "error", err)
		}
	}
}
