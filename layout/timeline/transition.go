package timeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoaldb/shoal/layout/storage"
)

// ErrSkipsState is returned, wrapped, when an instant's previous state is not there: it never
// was requested, or somebody rolled it back meanwhile.
var ErrSkipsState = errors.New("the previous state's file is missing")

// TransitionError reports a step of an instant that failed. It wraps ErrSkipsState,
// fs.ErrExist when the instant was in the new state already, or an error of the storage.
type TransitionError struct {
	Instant Instant // in the state it was to reach, or that was to be removed
	Err     error
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("instant %s: %v", e.Instant, e.Err)
}

func (e *TransitionError) Unwrap() error { return e.Err }

// Request puts an instant on the timeline. Commits and deltacommits have no content then.
func Request(ctx context.Context, st storage.Storage, in Instant, data []byte) error {
	return advance(ctx, st, in, Requested, data)
}

// Start makes a requested instant inflight. A savepoint begins here. Clusterings have no content
// then: that is how other writers tell them from other replacecommits.
func Start(ctx context.Context, st storage.Storage, in Instant, data []byte) error {
	return advance(ctx, st, in, Inflight, data)
}

// Complete makes an inflight instant completed: the commit point (T1). When it returns nil the
// commit is durable. When the error is storage.ErrUnsynced others may have seen the commit; any
// other error means that this call did not commit.
func Complete(ctx context.Context, st storage.Storage, in Instant, data []byte) error {
	return advance(ctx, st, in, Completed, data)
}

func advance(ctx context.Context, st storage.Storage, in Instant, to State, data []byte) error {
	in.State = to
	fail := func(err error) error { return &TransitionError{Instant: in, Err: err} }
	if _, ok := ParseFileName(in.FileName()); !ok {
		return fail(fmt.Errorf("%s is no file of a timeline", in.FileName()))
	}
	if len(data) > 0 && !hasContent(in) {
		return fail(fmt.Errorf("%s has no content, got %d bytes", in.FileName(), len(data)))
	}
	if prev, ok := previous(in); ok {
		there, err := exists(ctx, st, filePath(prev))
		if err != nil {
			return fail(err)
		}
		if !there {
			return fail(fmt.Errorf("%w: %s", ErrSkipsState, prev.FileName()))
		}
	}
	if err := st.CreateExclusive(ctx, filePath(in), data); err != nil {
		return fail(err)
	}
	return nil
}

func filePath(in Instant) string { return Dir + "/" + in.FileName() }

// previous is the state that must have been reached before.
func previous(in Instant) (Instant, bool) {
	if in.State == Requested || in.Action == Savepoint && in.State == Inflight {
		return Instant{}, false
	}
	in.State--
	return in, true
}

// hasContent reports whether a state file may hold anything (docs/format.md: timeline).
func hasContent(in Instant) bool {
	switch in.State {
	case Requested:
		return in.Action != Commit && in.Action != DeltaCommit
	case Inflight:
		switch in.Action {
		case Rollback, Savepoint, Restore, Compaction, LogCompaction:
			return false
		}
	}
	return true
}

// RevertToRequested takes an inflight instant back, so that its plan can be started again. It is
// an error if it has completed or was never requested; being requested already is none.
func RevertToRequested(ctx context.Context, st storage.Storage, in Instant) error {
	fail := func(err error) error { return &TransitionError{Instant: in, Err: err} }
	in.State = Completed
	if there, err := exists(ctx, st, filePath(in)); err != nil {
		return fail(err)
	} else if there {
		return fail(errors.New("it has completed and cannot be taken back"))
	}
	in.State = Requested
	if there, err := exists(ctx, st, filePath(in)); err != nil {
		return fail(err)
	} else if !there {
		return fail(fmt.Errorf("%w: %s", ErrSkipsState, in.FileName()))
	}
	in.State = Inflight
	if err := remove(ctx, st, filePath(in)); err != nil {
		return fail(err)
	}
	return nil
}

// Remove takes an instant off the timeline, the most advanced state first (T4). Absent files are
// no error, so a removal that was cut short can be repeated.
func Remove(ctx context.Context, st storage.Storage, in Instant) error {
	for _, s := range []State{Completed, Inflight, Requested} {
		in.State = s
		p := filePath(in)
		there, err := exists(ctx, st, p)
		if err == nil && there {
			err = remove(ctx, st, p)
		}
		if err != nil {
			return &TransitionError{Instant: in, Err: err}
		}
	}
	return nil
}

// ReadFile reads the file of an instant in its state.
func ReadFile(ctx context.Context, st storage.Storage, in Instant) ([]byte, error) {
	b, err := st.ReadFile(ctx, filePath(in))
	if err != nil {
		return nil, fmt.Errorf("instant %s: %w", in, err)
	}
	return b, nil
}
