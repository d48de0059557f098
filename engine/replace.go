package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shoaldb/shoal/layout/timeline"
)

// Schedule makes a plan on the newest snapshot, under the table's lock, and stores it as a
// requested replacecommit. It returns "" when plan returns nil: nothing is written then.
func (t *Table) Schedule(ctx context.Context, plan func(*Snapshot) (*timeline.RequestedReplace, error)) (string, error) {
	instant, err := t.schedule(ctx, plan)
	return instant, t.wrap("schedule", err)
}

func (t *Table) schedule(ctx context.Context, plan func(*Snapshot) (*timeline.RequestedReplace, error)) (string, error) {
	unlock, err := t.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sync(ctx); err != nil {
		return "", err
	}
	if err := writable(t.config); err != nil {
		return "", err
	}
	if err := t.recoverLocked(ctx); err != nil {
		return "", err
	}
	req, err := plan(newSnapshot(t, t.config, t.state, ""))
	if err != nil || req == nil {
		return "", err
	}
	data, err := req.Encode()
	if err != nil {
		return "", err
	}
	tl, err := timeline.Load(ctx, t.st)
	if err != nil {
		return "", err
	}
	instant := t.nextInstant(tl)
	if err := timeline.Request(ctx, t.st, timeline.Instant{Time: instant, Action: timeline.ReplaceCommit}, data); err != nil {
		return "", fmt.Errorf("instant %s: %w", instant, err)
	}
	t.seen = dirStamp{}
	return instant, t.sync(ctx)
}

// BeginPending starts executing a stored clustering plan. The plan stays if the write is aborted.
func (t *Table) BeginPending(ctx context.Context, instant string, c Config) (*Write, *timeline.RequestedReplace, error) {
	w, req, err := t.beginPending(ctx, instant, c)
	return w, req, t.wrap("execute plan "+instant, err)
}

func (t *Table) beginPending(ctx context.Context, instant string, c Config) (*Write, *timeline.RequestedReplace, error) {
	unlock, err := t.lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.recoverLocked(ctx); err != nil {
		return nil, nil, err
	}
	t.seen = dirStamp{}
	if err := t.sync(ctx); err != nil {
		return nil, nil, err
	}
	if err := writable(t.config); err != nil {
		return nil, nil, err
	}
	in, ok := t.state.tl.Get(instant, timeline.ReplaceCommit)
	if !ok {
		return nil, nil, &NameError{Kind: ErrNoSuchInstant, Name: instant, Hint: "CALL show_clustering lists the plans"}
	}
	if in.State == timeline.Completed {
		return nil, nil, &ConflictError{Instant: instant, Reason: "the plan was executed already"}
	}
	req, err := t.readRequest(ctx, instant)
	if err != nil {
		return nil, nil, err
	}
	if !req.IsClustering() {
		return nil, nil, fmt.Errorf("%w: replacecommit %s is not a clustering", ErrBadArgument, instant)
	}
	release, free, err := t.st.TryLock(ctx, writeLockPath(instant))
	switch {
	case errors.Is(err, fs.ErrNotExist) && in.State == timeline.Inflight:
		return nil, nil, &UnsupportedError{What: "executing plan " + instant, Why: "another engine has begun it",
			Hint: "wait until it is done, or roll it back there"}
	case errors.Is(err, fs.ErrNotExist):
		if release, err = t.st.Lock(ctx, writeLockPath(instant)); err != nil {
			return nil, nil, err
		}
	case err != nil:
		return nil, nil, err
	case !free:
		return nil, nil, &ConflictError{Instant: instant, Reason: "the plan is being executed"}
	}
	snap := newSnapshot(t, t.config, t.state, "")
	wo, err := resolveWriteOptions(t, snap, InsertOptions{Config: c, Operation: "CLUSTER"})
	if err != nil {
		release()
		t.removeQuietly(ctx, writeLockPath(instant))
		return nil, nil, err
	}
	return &Write{t: t, action: timeline.ReplaceCommit, opts: wo, snap: snap, instant: instant, unlockWrite: release,
		stats: map[string][]timeline.WriteStat{}, replaced: map[string][]string{}, extra: map[string]string{}}, req, nil
}

// CancelPending removes a plan that nobody executes.
func (t *Table) CancelPending(ctx context.Context, instant string) error {
	w, _, err := t.BeginPending(ctx, instant, Config{})
	if err != nil {
		return err
	}
	if err := w.Abort(ctx); err != nil {
		return t.wrap("cancel plan "+instant, err)
	}
	unlock, err := t.lock(ctx)
	if err != nil {
		return t.wrap("cancel plan "+instant, err)
	}
	defer unlock()
	return t.wrap("cancel plan "+instant, timeline.Remove(ctx, t.st, timeline.Instant{Time: instant, Action: timeline.ReplaceCommit}))
}
