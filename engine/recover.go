package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/shoaldb/shoal/layout/basefile"
	"github.com/shoaldb/shoal/layout/timeline"
)

// recover finishes or undoes the writes of processes that died (I5). A table on which no such
// write was left is not written to. Callers hold mu.
func (t *Table) recover(ctx context.Context) error {
	if _, err := t.st.Stat(ctx, writeLockDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return t.recoverLocked(ctx)
}

// recoverLocked is recover for callers that hold the table's lock and mu.
func (t *Table) recoverLocked(ctx context.Context) error {
	entries, err := t.st.List(ctx, writeLockDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		instant, ok := strings.CutSuffix(e.Name, ".lock")
		if !ok || e.IsDir {
			continue
		}
		release, free, err := t.st.TryLock(ctx, writeLockPath(instant))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if !free {
			continue // its writer lives
		}
		err = t.finishDead(ctx, instant)
		if err == nil {
			err = t.st.Remove(ctx, writeLockPath(instant))
		}
		release()
		if err != nil {
			return fmt.Errorf("recover instant %s: %w", instant, err)
		}
	}
	return nil
}

// finishDead brings the instant of a dead writer to an end.
func (t *Table) finishDead(ctx context.Context, instant string) error {
	tl, err := timeline.Load(ctx, t.st)
	if err != nil {
		return err
	}
	if in, ok := tl.Get(instant, timeline.Commit); ok {
		if in.State == timeline.Completed {
			return timeline.DeleteMarkers(ctx, t.st, instant)
		}
		return t.rollback(ctx, tl, in)
	}
	if in, ok := tl.Get(instant, timeline.ReplaceCommit); ok && in.State == timeline.Inflight {
		// The plan stays and can be executed again (docs/format.md: clustering execution).
		if _, err := t.removeWritten(ctx, instant); err != nil {
			return err
		}
		t.log.Info("interrupted clustering undone; its plan stays", "instant", instant)
		if err := timeline.RevertToRequested(ctx, t.st, in); err != nil {
			return err
		}
	}
	if err := t.sweep(ctx, hoodieDir); err != nil {
		return err
	}
	return timeline.DeleteMarkers(ctx, t.st, instant)
}

// rollback undoes a commit that did not complete, as a rollback action of its own instant, in
// the order that lets a second try finish a first one (docs/format.md: failed writes).
func (t *Table) rollback(ctx context.Context, tl *timeline.Timeline, dead timeline.Instant) error {
	started := time.Now()
	written, err := t.writtenBy(ctx, dead.Time)
	if err != nil {
		return err
	}
	instant := t.nextInstant(tl)
	roll := timeline.Instant{Time: instant, Action: timeline.Rollback}
	info := timeline.InstantInfo{CommitTime: dead.Time, Action: string(dead.Action)}
	plan := &timeline.RollbackPlan{InstantToRollback: &info}
	for _, partition := range sortedKeys(written) {
		for _, f := range written[partition] {
			req := timeline.RollbackRequest{PartitionPath: partition, FilesToBeDeleted: []string{timeline.PlanPath(t.st, joinPath(partition, f))}}
			if name, err := basefile.ParseName(f); err == nil {
				req.FileID = name.FileID
			}
			plan.Requests = append(plan.Requests, req)
		}
	}
	data, err := plan.Encode()
	if err != nil {
		return err
	}
	if err := timeline.Request(ctx, t.st, roll, data); err != nil {
		return err
	}
	if err := timeline.Start(ctx, t.st, roll, nil); err != nil {
		return err
	}
	deleted, err := t.removeWritten(ctx, dead.Time)
	if err != nil {
		return err
	}
	meta := &timeline.RollbackMetadata{
		StartRollbackTime: instant, TimeTakenInMillis: time.Since(started).Milliseconds(),
		CommitsRollback: []string{dead.Time}, PartitionMetadata: map[string]timeline.RollbackPartitionMetadata{},
		InstantsRollback: []timeline.InstantInfo{info},
	}
	for partition, files := range deleted {
		pm := timeline.RollbackPartitionMetadata{PartitionPath: partition}
		for _, f := range files {
			pm.SuccessDeleteFiles = append(pm.SuccessDeleteFiles, timeline.PlanPath(t.st, joinPath(partition, f)))
		}
		meta.TotalFilesDeleted += int32(len(files))
		meta.PartitionMetadata[partition] = pm
	}
	if data, err = meta.Encode(); err != nil {
		return err
	}
	roll.State = timeline.Completed
	if err := timeline.Complete(ctx, t.st, roll, data); err != nil {
		return err
	}
	if err := timeline.Remove(ctx, t.st, dead); err != nil {
		return err
	}
	t.log.Info("interrupted write rolled back", "instant", dead.Time, "rollback", instant, "files", meta.TotalFilesDeleted)
	return timeline.DeleteMarkers(ctx, t.st, dead.Time)
}

// writtenBy lists, by partition, the base files that exist of an instant's markers.
func (t *Table) writtenBy(ctx context.Context, instant string) (map[string][]string, error) {
	markers, err := timeline.Markers(ctx, t.st, instant)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, m := range markers {
		if _, err := t.st.Stat(ctx, m.Path()); err == nil {
			out[m.Partition] = append(out[m.Partition], m.FileName)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		} else if _, ok := out[m.Partition]; !ok {
			out[m.Partition] = nil
		}
	}
	return out, nil
}

// removeWritten removes the base files of an instant and partition folders that held nothing else.
func (t *Table) removeWritten(ctx context.Context, instant string) (map[string][]string, error) {
	written, err := t.writtenBy(ctx, instant)
	if err != nil {
		return nil, err
	}
	for partition, files := range written {
		for _, f := range files {
			if err := t.st.Remove(ctx, joinPath(partition, f)); err != nil {
				return nil, err
			}
		}
		if err := t.sweep(ctx, dirOf(partition)); err != nil {
			return nil, err
		}
		if err := t.removeEmptyPartition(ctx, partition); err != nil {
			return nil, err
		}
	}
	return written, nil
}

// sweep removes temporary files that dead writers left in a folder, where the storage has such.
func (t *Table) sweep(ctx context.Context, dir string) error {
	s, ok := t.st.(interface {
		Sweep(ctx context.Context, dir string) (int, error)
	})
	if !ok {
		return nil
	}
	if _, err := s.Sweep(ctx, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
