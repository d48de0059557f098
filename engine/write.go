package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/keygen"
	"github.com/shoaldb/shoal/layout/schema"
	"github.com/shoaldb/shoal/layout/timeline"
)

// Write stages one commit. Nothing of it is visible before Commit returns; Abort, or any error of
// Insert or Commit, leaves no files. It is used by one goroutine, except NewFile and the
// FileWriters, which may be used by several.
type Write struct {
	t      *Table
	action timeline.Action
	opts   writeOptions
	snap   *Snapshot // what the write was planned on

	instant     string // "" until the first row
	unlockWrite func() // releases the write lock file (I5)
	inflight    bool
	ended       bool

	// Insert's state.
	gen      *keygen.Generator
	keys     map[string]*keySet // keys inserted so far, by scope: the partition, or "" when global
	parts    map[string]*partitionBuffer
	buffered int64 // bytes in parts
	sequence int64 // rows numbered so far
	dropped  int64
	profile  map[string]timeline.PartitionProfile // for the inflight file

	mu       sync.Mutex // guards what follows: FileWriters of several goroutines
	files    []*FileWriter
	stats    map[string][]timeline.WriteStat
	replaced map[string][]string
	made     []string // partitions whose metadata file this write created
	nextFile int
	extra    map[string]string
}

// partitionBuffer holds rows of one partition that are not in a file yet.
type partitionBuffer struct {
	batches []*column.Batch // FullSchema without file name
	rows    int64
	bytes   int64
	file    *FileWriter
}

// BeginInsert starts an insert on the newest snapshot. The instant is taken at the first row, so
// that an insert of nothing leaves no trace.
func (t *Table) BeginInsert(ctx context.Context, o InsertOptions) (*Write, error) {
	snap, err := t.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	wo, err := resolveWriteOptions(t, snap, o)
	if err != nil {
		return nil, t.wrap("insert", err)
	}
	if err := writable(snap.config); err != nil {
		return nil, t.wrap("insert", err)
	}
	gen, err := keygen.New(keyConfig(snap.config), snap.Schema())
	if err != nil {
		return nil, t.wrap("insert", err)
	}
	return &Write{t: t, action: timeline.Commit, opts: wo, snap: snap, gen: gen,
		keys: map[string]*keySet{}, parts: map[string]*partitionBuffer{}, profile: map[string]timeline.PartitionProfile{},
		stats: map[string][]timeline.WriteStat{}, replaced: map[string][]string{}, extra: o.ExtraMetadata}, nil
}

// Instant is the write's instant; "" before the first row.
func (w *Write) Instant() string { return w.instant }

// Schema is the schema of the batches that Insert takes: the table's data columns in order.
func (w *Write) Schema() *column.Schema { return w.snap.Schema() }

// Snapshot is the state the write was begun on.
func (w *Write) Snapshot() *Snapshot { return w.snap }

// Insert stages rows. The batch has the table's data columns, by name, in any order; columns it
// lacks are null. On an error the write is aborted.
func (w *Write) Insert(ctx context.Context, b *column.Batch) error {
	if w.ended {
		return w.t.wrap("insert", errors.New("the write has ended"))
	}
	if b.Len == 0 {
		return nil
	}
	if err := w.insert(ctx, b); err != nil {
		return w.failed("insert", err)
	}
	return nil
}

// failed aborts the write and returns its error with the table's name.
func (w *Write) failed(op string, err error) error {
	if aerr := w.Abort(context.Background()); aerr != nil {
		err = fmt.Errorf("%w (and its files could not all be removed: %v)", err, aerr)
	}
	return w.t.wrap(op, err)
}

func (w *Write) insert(ctx context.Context, b *column.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b, err := conform(b, w.Schema())
	if err != nil {
		return err
	}
	if w.instant == "" {
		if err := w.start(ctx); err != nil {
			return err
		}
	}
	paths, err := w.gen.PartitionPaths(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadArgument, err)
	}
	keys, err := w.recordKeys(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadArgument, err)
	}
	rows, err := w.distinctRows(keys, paths)
	if err != nil {
		return err
	}
	for path, idx := range rows {
		part := w.parts[path]
		if part == nil {
			part = &partitionBuffer{}
			w.parts[path] = part
		}
		full := w.withMeta(b, keys, path, idx)
		part.batches = append(part.batches, full)
		part.rows += int64(full.Len)
		size := batchBytes(full)
		part.bytes += size
		w.buffered += size
		w.countInserts(path, int64(full.Len))
		if part.rows >= w.opts.flushRows {
			if err := w.flush(ctx, path, part); err != nil {
				return err
			}
		}
	}
	return w.shrink(ctx)
}

// shrink keeps what the write holds, in buffers and in the unfinished row groups of open files,
// within the budget: the partition that holds most goes to its file, which is closed.
func (w *Write) shrink(ctx context.Context) error {
	for w.held() > w.t.w.memory {
		path, part := w.largest()
		if err := w.flush(ctx, path, part); err != nil {
			return err
		}
		if part.file != nil {
			if _, err := part.file.Close(ctx); err != nil {
				return err
			}
			part.file = nil
		}
	}
	return nil
}

// held is the memory of buffers and open files, in bytes.
func (w *Write) held() int64 {
	n := w.buffered
	for _, p := range w.parts {
		n += p.file.pending()
	}
	return n
}

// countInserts keeps the workload profile.
func (w *Write) countInserts(partition string, rows int64) {
	p := w.profile[partition]
	p.Inserts += rows
	w.profile[partition] = p
}

// largest finds the partition that holds most.
func (w *Write) largest() (path string, part *partitionBuffer) {
	most := int64(-1)
	for k, p := range w.parts {
		if n := p.bytes + p.file.pending(); n > most {
			path, part, most = k, p, n
		}
	}
	return path, part
}

// conform puts a batch into the table's column order and types.
func conform(b *column.Batch, sc *column.Schema) (*column.Batch, error) {
	for _, f := range b.Schema.Fields {
		if sc.IndexFold(f.Name) < 0 {
			return nil, &NameError{Kind: ErrNoSuchColumn, Name: f.Name}
		}
	}
	out := &column.Batch{Schema: sc, Len: b.Len, Cols: make([]*column.Vector, len(sc.Fields))}
	for i, f := range sc.Fields {
		j := b.Schema.IndexFold(f.Name)
		if j < 0 {
			out.Cols[i] = column.Nulls(f.Type, b.Len)
		} else {
			v, err := schema.Cast(b.Cols[j], f.Type)
			if err != nil {
				return nil, fmt.Errorf("%w: column %s: %w", ErrBadArgument, f.Name, err)
			}
			out.Cols[i] = v
		}
		if !f.Nullable && out.Cols[i].NullCount() > 0 {
			return nil, fmt.Errorf("%w: column %s cannot be null", ErrBadArgument, f.Name)
		}
	}
	return out, nil
}

// recordKeys makes the record keys of a batch; a keyless table generates them from the instant
// and the row's number, as the sequence number is (docs/format.md: keys).
func (w *Write) recordKeys(b *column.Batch) (*column.Vector, error) {
	if !w.gen.Keyless() {
		return w.gen.RecordKeys(b)
	}
	return nil, nil
}

// distinctRows splits a batch by partition path and applies the duplicate policy to keys that the
// write has seen already.
func (w *Write) distinctRows(keys, paths *column.Vector) (map[string][]uint32, error) {
	lists := make([][]uint32, paths.Dict.Len())
	sets := make([]*keySet, len(lists))
	check := keys != nil && w.opts.duplicates != DuplicatesKeep
	for i, code := range paths.Codes {
		if check {
			set := sets[code]
			if set == nil {
				set = w.keySet(string(paths.Dict.At(int(code))))
				sets[code] = set
			}
			if key := keys.Bytes(i); !set.add(key) {
				if w.opts.duplicates == DuplicatesFail {
					return nil, &DuplicateKeyError{Table: w.t.name, Partition: string(paths.Bytes(i)), Key: string(key)}
				}
				w.dropped++
				continue
			}
		}
		if lists[code] == nil {
			lists[code] = make([]uint32, 0, paths.Len/len(lists)+1)
		}
		lists[code] = append(lists[code], uint32(i))
	}
	rows := make(map[string][]uint32, len(lists))
	for code, idx := range lists {
		if len(idx) > 0 {
			rows[string(paths.Dict.At(code))] = idx
		}
	}
	return rows, nil
}

// keySet is the set of keys inserted into a partition, or the table when the index is global.
func (w *Write) keySet(partition string) *keySet {
	scope := partition
	if w.opts.globalIndex {
		scope = ""
	}
	s := w.keys[scope]
	if s == nil {
		s = newKeySet()
		w.keys[scope] = s
	}
	return s
}

// withMeta gathers rows and puts the meta columns before them. The file name is set when the
// rows are written.
func (w *Write) withMeta(b *column.Batch, keys *column.Vector, path string, rows []uint32) *column.Batch {
	data := b
	if len(rows) != b.Len {
		data = b.Gather(rows)
		if keys != nil {
			keys = column.Gather(keys, rows)
		}
	}
	n := data.Len
	str := column.Type{Kind: column.String}
	seq := &column.Vector{Type: str, Len: n}
	prefix := w.instant + "_0_"
	seq.Str.Offsets = make([]uint32, 1, n+1)
	seq.Str.Bytes = make([]byte, 0, n*(len(prefix)+8))
	for range n {
		seq.Str.Bytes = append(seq.Str.Bytes, prefix...)
		seq.Str.Bytes = strconv.AppendInt(seq.Str.Bytes, w.sequence, 10)
		seq.Str.Offsets = append(seq.Str.Offsets, uint32(len(seq.Str.Bytes)))
		w.sequence++
	}
	if keys == nil {
		keys = seq
	}
	full := &column.Batch{Schema: w.snap.full, Len: n, Cols: make([]*column.Vector, 0, len(w.snap.full.Fields))}
	full.Cols = append(full.Cols, column.Constant(str, []byte(w.instant), n), seq, keys,
		column.Constant(str, []byte(path), n), nil)
	full.Cols = append(full.Cols, data.Cols...)
	return full
}

func batchBytes(b *column.Batch) int64 {
	var n int64
	for _, c := range b.Cols {
		if c != nil {
			n += column.SizeBytes(c)
		}
	}
	return n
}

// flush moves a partition's buffered rows into its open file, after looking their keys up in the
// files of the snapshot.
func (w *Write) flush(ctx context.Context, path string, part *partitionBuffer) error {
	if part.rows == 0 {
		return nil
	}
	batches := part.batches
	w.buffered -= part.bytes
	part.batches, part.rows, part.bytes = nil, 0, 0
	batches, err := w.dropExisting(ctx, path, batches)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if part.file != nil && part.file.BytesWritten() >= w.opts.maxFileBytes {
			if _, err := part.file.Close(ctx); err != nil {
				return err
			}
			part.file = nil
		}
		if part.file == nil {
			if part.file, err = w.NewFile(ctx, FileOptions{Partition: path}); err != nil {
				return err
			}
		}
		if err := part.file.Write(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// Replace marks file groups as replaced by this write. It is for replacecommits.
func (w *Write) Replace(partition string, fileIDs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replaced[partition] = append(w.replaced[partition], fileIDs...)
}

// SetExtraMetadata adds a key to the commit's extraMetadata.
func (w *Write) SetExtraMetadata(key, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.extra == nil {
		w.extra = map[string]string{}
	}
	w.extra[key] = value
}
