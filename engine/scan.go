package engine

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// defaultBatchRows is the batch size when ScanOptions leaves it open.
const defaultBatchRows = 8192

// Scan hands out batches of a snapshot. Work is cut into row groups (morsels) that workers read
// ahead of the consumer by a few batches each. It is used by one goroutine; Close must be called.
type Scan struct {
	snap    *Snapshot
	opts    ScanOptions
	schema  *column.Schema // of the batches
	columns []string       // wanted first, then those only the predicate needs
	filter  []int          // positions in columns that the predicate needs
	rest    []int          // wanted positions that it does not
	started time.Time

	cancel  context.CancelFunc
	out     chan *column.Batch      // unordered
	ordered chan chan *column.Batch // one a morsel, in order
	current chan *column.Batch
	done    chan struct{} // closed when all workers ended

	mu    sync.Mutex // guards err
	err   error
	stats ScanStats
	live  liveStats
}

// liveStats are counted by the workers.
type liveStats struct {
	filesRead                        atomic.Int64
	rowGroupsTotal, rowGroupsPruned  atomic.Int64
	rowGroupsRead                    atomic.Int64
	rowsRead, rowsMatched, bytesRead atomic.Int64
	nanos                            atomic.Int64
}

// morsel is one row group of an open file.
type morsel struct {
	file     *openFile
	rowGroup int
	out      chan *column.Batch
}

// openFile is a base file shared by its morsels; the last one closes it.
type openFile struct {
	group *FileGroup
	view  *fileView
	file  *baseFile
	left  atomic.Int64
	count func(bytes int64)
}

func (f *openFile) release() {
	if f.left.Add(-1) == 0 {
		f.count(f.file.Counters().Bytes)
		f.file.Close()
	}
}

func (s *Snapshot) scan(ctx context.Context, groups []*FileGroup, o ScanOptions, stats ScanStats) (*Scan, error) {
	if o.Columns == nil {
		o.Columns = s.state.schema.Names()
	}
	if o.BatchRows <= 0 {
		o.BatchRows = defaultBatchRows
	}
	if o.Parallelism <= 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	sc := &Scan{snap: s, opts: o, columns: slices.Clone(o.Columns), stats: stats, started: time.Now(), done: make(chan struct{})}
	var err error
	if sc.schema, err = s.full.Select(o.Columns); err != nil {
		return nil, s.table.wrap("scan", fmt.Errorf("%w: %w", ErrNoSuchColumn, err))
	}
	if o.Predicate != nil {
		for _, name := range o.Predicate.Columns() {
			if s.full.Index(name) < 0 {
				return nil, s.table.wrap("scan", &NameError{Kind: ErrNoSuchColumn, Name: name})
			}
			if !slices.Contains(sc.columns, name) {
				sc.columns = append(sc.columns, name)
			}
			sc.filter = append(sc.filter, slices.Index(sc.columns, name))
		}
		if groups, err = sc.pruneFiles(ctx, groups); err != nil {
			return nil, s.table.wrap("scan", err)
		}
	}
	for i := range o.Columns {
		if !slices.Contains(sc.filter, i) {
			sc.rest = append(sc.rest, i)
		}
	}
	ctx, sc.cancel = context.WithCancel(ctx)
	sc.start(ctx, groups)
	return sc, nil
}

// pruneFiles leaves out file groups whose statistics exclude the predicate.
func (sc *Scan) pruneFiles(ctx context.Context, groups []*FileGroup) ([]*FileGroup, error) {
	byPartition := map[string][]*FileGroup{}
	for _, g := range groups {
		byPartition[g.Partition] = append(byPartition[g.Partition], g)
	}
	t := sc.snap.table
	known := map[string]map[string]map[string]predicate.ColumnStats{}
	cols := sc.opts.Predicate.Columns()
	for partition, gs := range byPartition {
		stats, err := t.stats.load(ctx, t, sc.snap.state.schema, partition, gs, cols)
		if err != nil {
			return nil, err
		}
		known[partition] = stats
	}
	kept := groups[:0:0]
	for _, g := range groups {
		l := g.Latest()
		if cs := known[g.Partition][l.FileName]; cs != nil &&
			sc.opts.Predicate.Prune(fileStats{rows: l.Rows, columns: cs}) == predicate.No {
			sc.stats.FilesPruned++
			continue
		}
		kept = append(kept, g)
	}
	return kept, nil
}

// start runs one goroutine that opens files and cuts morsels, and the workers that read them.
func (sc *Scan) start(ctx context.Context, groups []*FileGroup) {
	morsels := make(chan morsel)
	if sc.opts.Ordered {
		sc.ordered = make(chan chan *column.Batch, sc.opts.Parallelism)
	} else {
		sc.out = make(chan *column.Batch, 2*sc.opts.Parallelism)
	}
	var wg sync.WaitGroup
	guard := func(work func() error) {
		defer wg.Done()
		defer func() {
			if r := recover(); r != nil {
				sc.fail(fmt.Errorf("panic while scanning: %v\n%s", r, debug.Stack()))
			}
		}()
		if err := work(); err != nil {
			sc.fail(err)
		}
	}
	wg.Add(1)
	go guard(func() error {
		defer close(morsels)
		if sc.ordered != nil {
			defer close(sc.ordered)
		}
		for _, g := range groups {
			if err := sc.openMorsels(ctx, g, morsels); err != nil {
				return err
			}
		}
		return nil
	})
	for range sc.opts.Parallelism {
		wg.Add(1)
		go guard(func() error {
			for m := range morsels {
				if err := sc.readMorsel(ctx, m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	go func() {
		wg.Wait()
		if sc.out != nil {
			close(sc.out)
		}
		close(sc.done)
	}()
}

// fail records the first error and stops the scan.
func (sc *Scan) fail(err error) {
	sc.mu.Lock()
	if sc.err == nil {
		sc.err = err
	}
	sc.mu.Unlock()
	sc.cancel()
}

func (sc *Scan) firstErr() error {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.err
}

// openMorsels opens one base file, prunes its row groups and hands out the others.
func (sc *Scan) openMorsels(ctx context.Context, g *FileGroup, morsels chan<- morsel) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path := g.Path()
	f, err := sc.snap.table.openBaseFile(ctx, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	view, err := newFileView(f, sc.snap.full, sc.columns)
	if err != nil {
		f.Close()
		return fmt.Errorf("read %s: %w", path, err)
	}
	sc.live.filesRead.Add(1)
	var keep []int
	for i := range f.NumRowGroups() {
		sc.live.rowGroupsTotal.Add(1)
		if sc.opts.Predicate != nil && sc.opts.Predicate.Prune(view.rowGroupStats(i)) == predicate.No {
			sc.live.rowGroupsPruned.Add(1)
			continue
		}
		keep = append(keep, i)
	}
	of := &openFile{group: g, view: view, file: f, count: func(n int64) { sc.live.bytesRead.Add(n) }}
	of.left.Store(1) // ours, until every morsel is handed out
	defer of.release()
	for _, i := range keep {
		m := morsel{file: of, rowGroup: i}
		if sc.ordered != nil {
			m.out = make(chan *column.Batch, 2)
			select {
			case sc.ordered <- m.out:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		of.left.Add(1)
		select {
		case morsels <- m:
		case <-ctx.Done():
			of.left.Add(-1)
			return ctx.Err()
		}
	}
	return nil
}

// readMorsel decodes the predicate's columns, selects, and decodes the other columns only where
// something was selected.
func (sc *Scan) readMorsel(ctx context.Context, m morsel) error {
	defer m.file.release()
	out := sc.out
	if m.out != nil {
		defer close(m.out)
		out = m.out
	}
	view, path := m.file.view, m.file.group.Path()
	wrap := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("read %s, row group %d: %w", path, m.rowGroup, err)
	}
	sc.live.rowGroupsRead.Add(1)
	var sels [][]uint32 // per batch; nil without a predicate
	var filtered [][]*column.Vector
	if len(sc.filter) > 0 {
		var any bool
		r := view.read(ctx, m.rowGroup, sc.filter, sc.opts.BatchRows)
		defer r.close()
		fs := &column.Schema{Fields: make([]column.Field, len(sc.filter))}
		for i, p := range sc.filter {
			fs.Fields[i] = view.want[p]
		}
		eval := predicate.NewEvaluator(sc.opts.Predicate)
		for {
			cols, n, err := r.next()
			if err == io.EOF {
				break
			} else if err != nil {
				return wrap(err)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			sel, err := eval.Eval(&column.Batch{Schema: fs, Cols: cols, Len: n}, nil)
			if err != nil {
				return wrap(err)
			}
			sc.live.rowsRead.Add(int64(n))
			sc.live.rowsMatched.Add(int64(len(sel)))
			any = any || len(sel) > 0
			if len(sel) == 0 {
				cols = nil // free the memory
			}
			sels, filtered = append(sels, sel), append(filtered, cols)
		}
		if !any {
			return nil
		}
	}
	r := view.read(ctx, m.rowGroup, sc.rest, sc.opts.BatchRows)
	defer r.close()
	for i := 0; ; i++ {
		rest, n, err := r.next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return wrap(err)
		}
		b := &column.Batch{Schema: sc.schema, Cols: make([]*column.Vector, len(sc.opts.Columns)), Len: n}
		for k, p := range sc.rest {
			b.Cols[p] = rest[k]
		}
		if sels == nil {
			sc.live.rowsRead.Add(int64(n))
			sc.live.rowsMatched.Add(int64(n))
		} else {
			if len(sels[i]) == 0 {
				continue
			}
			for k, p := range sc.filter {
				if p < len(b.Cols) {
					b.Cols[p] = filtered[i][k]
				}
			}
			if len(sels[i]) < n {
				b = b.Gather(sels[i])
			}
		}
		if b.Len == 0 {
			continue
		}
		select {
		case out <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Schema is the schema of the batches.
func (sc *Scan) Schema() *column.Schema { return sc.schema }

// Next returns the next batch, io.EOF at the end. Batches are never empty.
func (sc *Scan) Next(ctx context.Context) (*column.Batch, error) {
	b, ok, err := sc.receive(ctx)
	if err != nil {
		return nil, sc.snap.table.wrap("scan", err)
	}
	if ok {
		return b, nil
	}
	<-sc.done
	if err := sc.firstErr(); err != nil {
		return nil, sc.snap.table.wrap("scan", err)
	}
	return nil, io.EOF
}

// receive returns one batch; ok is false when there are no more.
func (sc *Scan) receive(ctx context.Context) (b *column.Batch, ok bool, err error) {
	if sc.ordered == nil {
		select {
		case b, ok = <-sc.out:
			return b, ok, nil
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
	for {
		if sc.current == nil {
			select {
			case sc.current, ok = <-sc.ordered:
				if !ok {
					return nil, false, nil
				}
			case <-ctx.Done():
				return nil, false, ctx.Err()
			}
		}
		select {
		case b, ok = <-sc.current:
			if ok {
				return b, true, nil
			}
			sc.current = nil
		case <-sc.done:
			// A morsel that failed before its worker took it never closes its channel.
			select {
			case b, ok = <-sc.current:
				if ok {
					return b, true, nil
				}
				sc.current = nil
			default:
				return nil, false, nil
			}
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// Stats are the counts so far; they are final after the end or Close.
func (sc *Scan) Stats() ScanStats {
	s := sc.stats
	l := &sc.live
	s.FilesRead = l.filesRead.Load()
	s.RowGroupsTotal, s.RowGroupsPruned, s.RowGroupsRead = l.rowGroupsTotal.Load(), l.rowGroupsPruned.Load(), l.rowGroupsRead.Load()
	s.RowsRead, s.RowsMatched, s.BytesRead = l.rowsRead.Load(), l.rowsMatched.Load(), l.bytesRead.Load()
	if n := l.nanos.Load(); n > 0 {
		s.Duration = time.Duration(n)
	} else {
		s.Duration = time.Since(sc.started)
	}
	return s
}

// Close stops the scan and waits for its workers. It may be called more than once.
func (sc *Scan) Close() error {
	sc.cancel()
	<-sc.done
	sc.live.nanos.CompareAndSwap(0, int64(time.Since(sc.started)))
	return nil
}
