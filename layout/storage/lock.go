package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Locks are flock(2) locks. Each belongs to one open file, so two goroutines that open the same
// path exclude each other just as two processes do, and the kernel drops it with the process.
// Unlocking only closes the file: were it removed, a waiter could lock the removed file while a
// newcomer locks a new one of the same name.

const (
	firstWait = time.Millisecond
	longWait  = 16 * time.Millisecond
)

// Lock implements Storage.
func (l *Local) Lock(ctx context.Context, p string) (unlock func(), err error) {
	c, err := l.begin(ctx, "lock", p)
	if err != nil {
		return nil, err
	}
	wait := firstWait
	for {
		// Within the loop: the directory may be removed while we wait.
		if err := l.mkdirAll(path.Dir(c)); err != nil {
			return nil, pathError("lock", p, err)
		}
		f, err := l.root.OpenFile(c, os.O_RDWR|os.O_CREATE|unix.O_NONBLOCK, 0o666)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, pathError("lock", p, err)
		}
		unlock, held, err := l.lockOpen(c, f)
		if err != nil {
			return nil, pathError("lock", p, err)
		}
		if unlock != nil {
			return unlock, nil
		}
		// A holder in this process wakes us; one in another process has to be asked again.
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, pathError("lock", p, ctx.Err())
		case <-held:
			timer.Stop()
			wait = firstWait
		case <-timer.C:
			wait = min(2*wait, longWait)
		}
	}
}

// TryLock implements Storage.
func (l *Local) TryLock(ctx context.Context, p string) (unlock func(), ok bool, err error) {
	c, err := l.begin(ctx, "lock", p)
	if err != nil {
		return nil, false, err
	}
	f, err := l.root.OpenFile(c, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, pathError("lock", p, absent(err))
	}
	unlock, _, err = l.lockOpen(c, f)
	return unlock, unlock != nil, pathError("lock", p, err)
}

// lockOpen locks f, which it closes unless it returns an unlock. When the lock is taken both are
// nil, and held is closed when the holder is of this process and has unlocked.
func (l *Local) lockOpen(c string, f *os.File) (unlock func(), held <-chan struct{}, err error) {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrNotFile
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	// Watched before the attempt: an unlock between the attempt and the watch would go unnoticed.
	held = holders.watch(st)
	ok, err := tryFlock(f)
	if err != nil || !ok {
		f.Close()
		return nil, held, err
	}
	// The lock counts only if the name still leads to the locked file.
	now, err := l.root.Stat(c)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !os.SameFile(st, now)) {
		f.Close()
		gone := make(chan struct{})
		close(gone)
		return nil, gone, nil
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	released := holders.add(st)
	var once sync.Once
	return func() {
		once.Do(func() {
			holders.publish()
			f.Close()
			released()
		})
	}, nil, nil
}

// holderSet knows which locks this process holds, in order to wake waiters at once. It decides
// nothing: the kernel's lock does.
type holderSet struct {
	mu   sync.Mutex // guards held
	held []holder
}

type holder struct {
	file fs.FileInfo
	gone chan struct{}
}

var holders holderSet

// publish makes what a holder did visible to the next one of this process, whose add comes later:
// Go's memory model knows nothing of flock.
func (h *holderSet) publish() {
	h.mu.Lock()
	//lint:ignore SA2001 passing through the lock is the point
	h.mu.Unlock()
}

func (h *holderSet) watch(file fs.FileInfo) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range h.held {
		if os.SameFile(x.file, file) {
			return x.gone
		}
	}
	return nil
}

func (h *holderSet) add(file fs.FileInfo) (released func()) {
	x := holder{file: file, gone: make(chan struct{})}
	h.mu.Lock()
	h.held = append(h.held, x)
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		for i := range h.held {
			if h.held[i].gone == x.gone {
				h.held = append(h.held[:i], h.held[i+1:]...)
				break
			}
		}
		h.mu.Unlock()
		close(x.gone)
	}
}
