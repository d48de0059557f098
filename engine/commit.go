package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/shoaldb/shoal/layout/schema"
	"github.com/shoaldb/shoal/layout/storage"
	"github.com/shoaldb/shoal/layout/timeline"
)

// writeLockPath is the lock file that a live write holds (I5).
func writeLockPath(instant string) string { return writeLockDir + "/" + instant + ".lock" }

// start takes the write's instant: under the table's lock, so that no other process takes it too.
func (w *Write) start(ctx context.Context) error {
	t := w.t
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readConfig(ctx); err != nil {
		return err
	}
	if err := writable(t.config); err != nil {
		return err
	}
	if err := t.recoverLocked(ctx); err != nil {
		return err
	}
	tl, err := timeline.Load(ctx, t.st)
	if err != nil {
		return err
	}
	instant := t.nextInstant(tl)
	release, err := t.st.Lock(ctx, writeLockPath(instant))
	if err != nil {
		return fmt.Errorf("write lock of instant %s: %w", instant, err)
	}
	if err := timeline.Request(ctx, t.st, timeline.Instant{Time: instant, Action: w.action}, nil); err != nil {
		release()
		t.removeQuietly(ctx, writeLockPath(instant))
		return fmt.Errorf("instant %s: %w", instant, err)
	}
	w.instant, w.unlockWrite = instant, release
	return nil
}

// goInflight makes the instant inflight. An insert writes the workload profile known so far; a
// clustering's inflight file is empty, which is how others tell it apart. Callers hold w.mu.
func (w *Write) goInflight(ctx context.Context) error {
	var data []byte
	if w.action == timeline.Commit {
		var err error
		if data, err = timeline.WorkloadProfile(w.opts.operation, w.profile).Encode(); err != nil {
			return err
		}
	}
	if err := timeline.Start(ctx, w.t.st, timeline.Instant{Time: w.instant, Action: w.action}, data); err != nil {
		return fmt.Errorf("instant %s: %w", w.instant, err)
	}
	w.inflight = true
	return nil
}

// Commit completes the write. When it returns without an error the commit is durable and visible;
// otherwise nothing of it remains. A write without rows leaves no commit.
func (w *Write) Commit(ctx context.Context) (CommitResult, error) {
	if w.ended {
		return CommitResult{}, w.t.wrap("commit", errors.New("the write has ended"))
	}
	res, committed, err := w.commit(ctx)
	if err != nil {
		return CommitResult{}, w.failed("commit", err)
	}
	if !committed {
		return res, w.t.wrap("commit", w.Abort(ctx))
	}
	w.ended = true
	after := context.WithoutCancel(ctx)
	w.cleanUp(after)
	w.t.log.Info("committed", "instant", res.Instant, "action", string(w.action), "operation", w.opts.operation,
		"rows", res.RowsWritten, "files", res.FilesWritten, "bytes", res.BytesWritten)
	w.t.runHooks(CommitEvent{Table: w.t, Instant: res.Instant, Action: w.action, Operation: w.opts.operation, Result: res})
	return res, nil
}

func (w *Write) commit(ctx context.Context) (res CommitResult, committed bool, err error) {
	if w.instant == "" {
		return CommitResult{RowsDropped: w.dropped}, false, nil
	}
	for _, path := range sortedKeys(w.parts) {
		part := w.parts[path]
		if err := w.flush(ctx, path, part); err != nil {
			return res, false, err
		}
		if part.file != nil {
			if _, err := part.file.Close(ctx); err != nil {
				return res, false, err
			}
		}
	}
	w.parts = nil
	res = CommitResult{Instant: w.instant, RowsDropped: w.dropped}
	for _, f := range w.files {
		if !f.closed {
			return res, false, fmt.Errorf("file %s was not closed", f.path)
		}
		res.FilesWritten++
		res.RowsWritten += f.sum.Rows
		res.BytesWritten += f.sum.Bytes
	}
	if res.FilesWritten == 0 && len(w.replaced) == 0 {
		return CommitResult{RowsDropped: w.dropped}, false, nil
	}
	if err := ctx.Err(); err != nil {
		return res, false, err
	}
	t := w.t
	unlock, err := t.lock(ctx)
	if err != nil {
		return res, false, err
	}
	defer unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = dirStamp{} // look again, whatever the folder's time says
	if err := t.sync(ctx); err != nil {
		return res, false, err
	}
	if err := writable(t.config); err != nil {
		return res, false, err
	}
	now := newSnapshot(t, t.config, t.state, "")
	if err := w.checkConflicts(ctx, now); err != nil {
		return res, false, err
	}
	if err := t.dropMetadataTable(ctx); err != nil {
		return res, false, err
	}
	for partition := range w.stats {
		// Another write that made the partition may have been undone meanwhile.
		if _, err := timeline.WritePartitionMetadata(ctx, t.st, partition, w.instant); err != nil {
			return res, false, fmt.Errorf("partition %q: %w", partition, err)
		}
	}
	data, err := w.metadata(now)
	if err != nil {
		return res, false, err
	}
	if err := w.complete(ctx, data); err != nil {
		return res, false, err
	}
	// The commit is visible: from here on nothing may fail it.
	after := context.WithoutCancel(ctx)
	w.keepStats(after)
	t.seen = dirStamp{} // the next reader looks again
	return res, true, nil
}

// complete creates the completed file. Once it is in place others may have read it, so it counts,
// also when the disk then refused to make that durable.
func (w *Write) complete(ctx context.Context, data []byte) error {
	in := timeline.Instant{Time: w.instant, Action: w.action, State: timeline.Completed}
	err := timeline.Complete(ctx, w.t.st, in, data)
	if errors.Is(err, storage.ErrUnsynced) {
		w.t.log.Warn("commit is visible, but not known to be durable", "instant", w.instant, "error", err)
		return nil
	} else if err != nil {
		return fmt.Errorf("complete instant %s: %w", w.instant, err)
	}
	return nil
}

// metadata is the content of the completed file.
func (w *Write) metadata(now *Snapshot) ([]byte, error) {
	record, namespace := avroName(now.config.Name)
	avro, err := schema.ToAvro(now.Schema(), record, namespace)
	if err != nil {
		return nil, err
	}
	m := &timeline.CommitMetadata{
		PartitionToWriteStats: w.stats,
		ExtraMetadata:         map[string]string{},
		OperationType:         w.opts.operation,
	}
	for k, v := range w.extra {
		m.ExtraMetadata[k] = v
	}
	m.ExtraMetadata[timeline.ExtraSchema] = avro
	if w.action == timeline.ReplaceCommit {
		m.PartitionToReplaceFileIDs = w.replaced
	}
	return m.Encode()
}

// checkConflicts compares what happened since the write's snapshot with what the write depends
// on (docs/format.md: concurrency). First committer wins.
func (w *Write) checkConflicts(ctx context.Context, now *Snapshot) error {
	if !now.Schema().Equal(w.snap.Schema()) {
		return &ConflictError{Instant: w.instant, Other: now.state.schemaInstant, Reason: "the table's schema changed"}
	}
	for partition, ids := range w.replaced {
		for _, id := range ids {
			planned, current := w.snap.Group(partition, id), now.Group(partition, id)
			if planned != nil && current != nil && planned.Latest().FileName == current.Latest().FileName {
				continue
			}
			c := &ConflictError{Instant: w.instant, Partition: partition, FileID: id, Reason: "it was replaced or rewritten"}
			if current != nil {
				c.Other = current.Latest().Instant
			} else if p := now.state.partitions[partition]; p != nil && p.groups[id] != nil && len(p.groups[id].replacedBy) > 0 {
				c.Other = p.groups[id].replacedBy[len(p.groups[id].replacedBy)-1]
			}
			return c
		}
	}
	if w.gen == nil || w.gen.Keyless() || w.opts.duplicates == DuplicatesKeep {
		return nil
	}
	// Keys that somebody else inserted meanwhile.
	for scope, set := range w.keys {
		err := w.lookup(ctx, now, w.scopeGroups(now, scope, w.snap), set, func(key []byte) error {
			if w.opts.duplicates == DuplicatesDrop {
				return &ConflictError{Instant: w.instant, Partition: scope,
					Reason: fmt.Sprintf("record key %q was inserted meanwhile", key)}
			}
			return &DuplicateKeyError{Table: w.t.name, Partition: scope, Key: string(key)}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropMetadataTable removes Hudi's metadata table if the table has one, as Hudi does when a writer
// does not maintain it: readers that trust it would miss this commit's files. Callers hold the
// table's lock and mu.
func (t *Table) dropMetadataTable(ctx context.Context) error {
	props := t.config.Props.Clone()
	had := false
	for _, k := range []string{timeline.KeyMetadataPartitions, timeline.KeyMetadataInflight} {
		if v, ok := props.Get(k); ok {
			had = had || strings.TrimSpace(v) != ""
			props.Delete(k)
		}
	}
	if !had {
		return nil
	}
	// The key goes first: once it is gone nobody reads the folder.
	if err := timeline.WriteProperties(ctx, t.st, props); err != nil {
		return fmt.Errorf("switch off the metadata table: %w", err)
	}
	if err := t.st.RemoveAll(ctx, hoodieDir+"/metadata"); err != nil {
		return fmt.Errorf("remove the metadata table: %w", err)
	}
	t.log.Info("the table's metadata table was removed; Hudi's engines rebuild it")
	return t.readConfig(ctx)
}

// cleanUp removes what a completed write needs no more.
func (w *Write) cleanUp(ctx context.Context) {
	if err := timeline.DeleteMarkers(ctx, w.t.st, w.instant); err != nil {
		w.t.log.Warn("markers of a completed write stay behind", "instant", w.instant, "error", err)
	}
	w.releaseLock(ctx)
}

func (w *Write) releaseLock(ctx context.Context) {
	if w.unlockWrite == nil {
		return
	}
	w.t.removeQuietly(ctx, writeLockPath(w.instant))
	w.unlockWrite()
	w.unlockWrite = nil
}

func (t *Table) removeQuietly(ctx context.Context, path string) {
	if err := t.st.Remove(ctx, path); err != nil {
		t.log.Warn("file not removed", "path", path, "error", err)
	}
}

// Abort undoes the write: its files go first, its instant last, so that a crash on the way leaves
// what the next open can finish. A clustering's plan stays. Abort after Commit, or twice, does
// nothing.
func (w *Write) Abort(ctx context.Context) error {
	if w.ended {
		return nil
	}
	w.ended = true
	w.parts, w.keys = nil, nil
	if w.instant == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.t
	var errs []error
	for _, f := range w.files {
		if !f.closed {
			f.closed = true
			f.out.Abort()
		}
		errs = append(errs, t.st.Remove(ctx, f.path))
	}
	unlock, err := t.lock(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	defer unlock()
	for _, partition := range w.made {
		errs = append(errs, t.removeEmptyPartition(ctx, partition))
	}
	if err := errors.Join(errs...); err != nil {
		// The instant and its lock file stay, so that recovery tries again.
		w.unlockWrite()
		return err
	}
	errs = append(errs, timeline.DeleteMarkers(ctx, t.st, w.instant))
	in := timeline.Instant{Time: w.instant, Action: w.action}
	if w.action == timeline.Commit {
		errs = append(errs, timeline.Remove(ctx, t.st, in))
	} else if w.inflight {
		errs = append(errs, timeline.RevertToRequested(ctx, t.st, in))
	}
	w.releaseLock(ctx)
	return errors.Join(errs...)
}

// isPartitionMetadata is true for the file that makes a folder a partition and its checksum.
func isPartitionMetadata(name string) bool {
	plain := strings.TrimSuffix(name, ".crc")
	return timeline.IsPartitionMetadata(plain) || timeline.IsPartitionMetadata(strings.TrimPrefix(plain, "."))
}

// removeEmptyPartition removes a partition folder that holds nothing but its metadata file, and
// the folders above it that became empty. Callers hold the table's lock.
func (t *Table) removeEmptyPartition(ctx context.Context, partition string) error {
	entries, err := t.st.List(ctx, dirOf(partition))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var marker []string
	for _, e := range entries {
		if partition == "" && e.Name == hoodieDir {
			continue
		}
		if e.IsDir || !isPartitionMetadata(e.Name) {
			return nil // in use
		}
		marker = append(marker, joinPath(partition, e.Name))
	}
	for _, m := range marker {
		if err := t.st.Remove(ctx, m); err != nil {
			return err
		}
	}
	for dir := partition; dir != ""; dir, _ = partitionOf(dir) {
		if entries, err := t.st.List(ctx, dir); err != nil || len(entries) > 0 {
			return nil
		}
		if err := t.st.Remove(ctx, dir); err != nil {
			return nil // somebody put a file there: it is theirs
		}
	}
	return nil
}
