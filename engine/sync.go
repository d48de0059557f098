package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/storage"
	"github.com/shoaldb/shoal/layout/timeline"
)

// listParallelism bounds how many folders or footers of one table are read at once.
const listParallelism = 8

// sync brings t.state up to date with storage: by the newly completed commits when they tell the
// whole change, else by listing. Callers hold mu.
func (t *Table) sync(ctx context.Context) error {
	info, err := t.st.Stat(ctx, hoodieDir)
	if err != nil {
		return malformed(ctx, err)
	}
	if t.state != nil && info.ModTime.Equal(t.seen.modTime) && t.seen.listed.Sub(t.seen.modTime) > stampSettles {
		return nil
	}
	stamp := dirStamp{modTime: info.ModTime, listed: time.Now()}
	if err := t.readConfig(ctx); err != nil {
		return err
	}
	tl, err := timeline.Load(ctx, t.st)
	if err != nil {
		return malformed(ctx, err)
	}
	old := t.state
	if old == nil {
		old = t.loadState(ctx)
	}
	next, delta, err := t.advance(ctx, old, tl)
	if err != nil {
		return err
	}
	if next == nil {
		if next, err = t.rebuild(ctx, tl); err != nil {
			return err
		}
	}
	if next.pending, err = t.readPending(ctx, tl); err != nil {
		return err
	}
	if t.state != nil && !t.state.schema.Equal(next.schema) || old != nil && !old.schema.Equal(next.schema) {
		t.stats.reset(ctx, next)
	}
	t.saveState(ctx, old, next, delta)
	t.state, t.seen = next, stamp
	return nil
}

// advance applies the commits that completed since old. It returns nil when that cannot be done:
// there is no old state, an instant vanished (archived, rolled back), or files were cleaned.
func (t *Table) advance(ctx context.Context, old *tableState, tl *timeline.Timeline) (*tableState, *catalog.Delta, error) {
	if old == nil {
		return nil, nil, nil
	}
	added, vanished := timeline.Diff(old.tl, tl)
	for _, in := range vanished {
		if in.State == timeline.Completed {
			return nil, nil, nil
		}
	}
	var commits []timeline.Instant
	for _, in := range added {
		if in.State != timeline.Completed {
			continue
		}
		switch in.Action {
		case timeline.Commit, timeline.ReplaceCommit:
			commits = append(commits, in)
		case timeline.Savepoint:
		default:
			return nil, nil, nil // clean, rollback, restore: files went away
		}
	}
	delta := &catalog.Delta{PutInstants: catalogInstants(added), DropInstants: catalogInstants(vanished)}
	if len(commits) == 0 {
		next := *old
		next.tl = tl
		return &next, delta, nil
	}
	next := &tableState{tl: tl, schema: old.schema, schemaInstant: old.schemaInstant,
		partitions: make(map[string]*partitionState, len(old.partitions)+1)}
	for path, p := range old.partitions {
		next.partitions[path] = p
	}
	edited := map[string]*partitionState{}
	edit := func(path string) *partitionState {
		if p := edited[path]; p != nil {
			return p
		}
		p := &partitionState{path: path, groups: map[string]*groupState{}}
		if q := old.partitions[path]; q != nil {
			p = q.edit()
		}
		edited[path] = p
		return p
	}
	for _, in := range commits {
		m, err := t.readCommit(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		if !applyCommit(edit, in, m) {
			return nil, nil, nil
		}
		if changesSchema(m) && in.Time > next.schemaInstant {
			if err := next.setSchema(m.ExtraMetadata[timeline.ExtraSchema], in.Time); err != nil {
				return nil, nil, err
			}
		}
		deltaOf(delta, in, m)
	}
	for path, p := range edited {
		p.finish()
		next.partitions[path] = p
	}
	next.finish()
	return next, delta, nil
}

// rebuild makes the state from a listing of every partition (docs/format.md: latest file slices).
func (t *Table) rebuild(ctx context.Context, tl *timeline.Timeline) (*tableState, error) {
	s := &tableState{tl: tl, partitions: map[string]*partitionState{}}
	commits := tl.CompletedCommits()
	known := make(map[string]*timeline.CommitMetadata, len(commits))
	type fileKey struct{ partition, name string }
	written := map[fileKey]timeline.WriteStat{}
	type replacement struct{ partition, fileID, instant string }
	var replaced []replacement
	for _, in := range commits {
		m, err := t.readCommit(ctx, in)
		if err != nil {
			return nil, err
		}
		known[in.Time] = m
		for partition, stats := range m.PartitionToWriteStats {
			for _, st := range stats {
				_, name := partitionOf(st.Path)
				written[fileKey{partition, name}] = st
			}
		}
		for partition, ids := range m.PartitionToReplaceFileIDs {
			for _, id := range ids {
				replaced = append(replaced, replacement{partition, id, in.Time})
			}
		}
	}
	committed := make(map[string]bool, len(commits))
	for _, in := range commits {
		committed[in.Time] = true
	}
	first, hasFirst := tl.FirstCommit()
	isCommitted := func(instant string) bool {
		// What is older than the active timeline was committed and archived.
		return committed[instant] || hasFirst && instant < first.Time
	}

	paths, err := t.listPartitions(ctx)
	if err != nil {
		return nil, err
	}
	listed := make([]*partitionState, len(paths))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(listParallelism)
	for i, path := range paths {
		g.Go(func() error {
			entries, err := t.st.List(gctx, dirOf(path))
			if err != nil {
				return fmt.Errorf("partition %q: %w", path, err)
			}
			p := &partitionState{path: path, groups: map[string]*groupState{}}
			for _, e := range entries {
				if e.IsDir {
					continue
				}
				name, err := basefile.ParseName(e.Name)
				if err != nil || !isCommitted(name.Instant) {
					continue // not a base file, or of a write that did not complete
				}
				stat, named := written[fileKey{path, e.Name}]
				if have := p.groups[name.FileID]; have != nil && !named && hasSlice(have, name.Instant) {
					continue // the loser of two attempts at one file
				}
				rows := int64(-1)
				if named {
					rows = stat.NumWrites
				}
				p.addSlice(name.FileID, FileSlice{Instant: name.Instant, FileName: e.Name, Size: e.Size, Rows: rows})
			}
			listed[i] = p
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, p := range listed {
		s.partitions[p.path] = p
	}
	for _, r := range replaced {
		if p := s.partitions[r.partition]; p != nil {
			p.replace(r.fileID, r.instant)
		}
	}
	for _, p := range s.partitions {
		p.finish()
	}
	s.finish()
	if err := s.resolveSchema(ctx, t, known); err != nil {
		return nil, err
	}
	if s.rows < 0 {
		if err := t.countRows(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func hasSlice(g *groupState, instant string) bool {
	for _, s := range g.slices {
		if s.Instant == instant {
			return true
		}
	}
	return false
}

// countRows fills in row counts that no commit of the active timeline tells, from the footers.
func (t *Table) countRows(ctx context.Context, s *tableState) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(listParallelism)
	for _, path := range s.order {
		for _, fg := range s.partitions[path].live {
			l := fg.Latest() // shared with groupState.slices: both see the count
			if l.Rows >= 0 {
				continue
			}
			g.Go(func() error {
				f, err := t.openBaseFile(gctx, fg.Path())
				if err != nil {
					// The file says so itself when it is read; counting must not hide the table.
					t.log.Warn("row count of a base file is unknown", "file", fg.Path(), "error", err)
					return gctx.Err()
				}
				l.Rows = f.Rows()
				return f.Close()
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	s.finish()
	return nil
}

// listPartitions finds the partition folders: those that hold a partition metadata file, which
// are not descended into.
func (t *Table) listPartitions(ctx context.Context) ([]string, error) {
	if len(t.config.PartitionFields) == 0 {
		entries, err := t.st.List(ctx, ".")
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if name, err := basefile.ParseName(e.Name); err == nil && name.Instant != "" || timeline.IsPartitionMetadata(e.Name) {
				return []string{""}, nil
			}
		}
	}
	var out []string
	var walk func(dir string) error
	walk = func(dir string) error {
		entries, err := t.st.List(ctx, dirOf(dir))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while listing
		} else if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.IsDir && timeline.IsPartitionMetadata(e.Name) {
				out = append(out, dir)
				return nil
			}
		}
		for _, e := range entries {
			if e.IsDir && e.Name != hoodieDir {
				if err := walk(joinPath(dir, e.Name)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return out, walk("")
}

// dirOf is the storage path of a partition.
func dirOf(partition string) string {
	if partition == "" {
		return "."
	}
	return partition
}

// readPending reads the clustering plans that are requested or inflight.
func (t *Table) readPending(ctx context.Context, tl *timeline.Timeline) ([]PendingPlan, error) {
	var out []PendingPlan
	for _, in := range tl.Pending() {
		if in.Action != timeline.ReplaceCommit {
			continue
		}
		req, err := t.readRequest(ctx, in.Time)
		if err != nil {
			return nil, err
		}
		if req.IsClustering() {
			out = append(out, PendingPlan{Instant: in.Time, State: in.State, Request: req})
		}
	}
	return out, nil
}

// baseFile is an open base file with the file of the storage below it.
type baseFile struct {
	*basefile.File
	f storage.File
}

// Close closes the storage's file.
func (b *baseFile) Close() error { return b.f.Close() }

func (t *Table) openBaseFile(ctx context.Context, path string) (*baseFile, error) {
	f, err := t.st.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	bf, err := basefile.Open(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &baseFile{File: bf, f: f}, nil
}
