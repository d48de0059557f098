package storage

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// This file makes files appear. Every new file is written under a temporary name in the directory
// of its final name, synced, and then given that name in one step of the kernel: link(2) where the
// name must be free, rename(2) where it may be taken. A crash before that step leaves a temporary
// file and nothing else, a crash after it leaves the whole file.

// localWriter writes one temporary file.
type localWriter struct {
	l     *Local
	op    string
	path  string // as the caller gave it, for errors
	final string
	temp  string
	f     *os.File
	done  bool
}

// Create implements Storage.
func (l *Local) Create(ctx context.Context, p string) (Writer, error) {
	w, err := l.create(ctx, "create", p)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (l *Local) create(ctx context.Context, op, p string) (*localWriter, error) {
	if err := ctx.Err(); err != nil {
		return nil, pathError(op, p, err)
	}
	c, err := cleanFile(op, p)
	if err != nil {
		return nil, err
	}
	dir := path.Dir(c)
	if err := l.mkdirAll(dir); err != nil {
		return nil, pathError(op, p, err)
	}
	for {
		temp := path.Join(dir, tempName())
		f, err := l.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, pathError(op, p, err)
		}
		// The lock tells Sweep that the file has a living owner. Sweep may have taken the file
		// between the two calls, then it is lost and another one is made.
		ok, err := tryFlock(f)
		if err == nil && ok {
			if ok, err = linked(f); ok && err == nil {
				l.at("created")
				return &localWriter{l: l, op: op, path: p, final: c, temp: temp, f: f}, nil
			}
		}
		f.Close()
		if err != nil {
			l.root.Remove(temp)
			return nil, pathError(op, p, err)
		}
	}
}

func (w *localWriter) Write(b []byte) (int, error) {
	if w.done {
		return 0, pathError("write", w.path, ErrDone)
	}
	n, err := w.f.Write(b)
	return n, pathError("write", w.path, err)
}

// Commit implements Writer.
func (w *localWriter) Commit() error { return w.publish(w.l.root.Link) }

// publish syncs the content, gives it the final name by name, and syncs the directory.
func (w *localWriter) publish(name func(from, to string) error) error {
	if w.done {
		return pathError(w.op, w.path, ErrDone)
	}
	w.l.at("written")
	if err := w.f.Sync(); err != nil {
		w.Abort()
		return pathError(w.op, w.path, err)
	}
	w.l.at("synced")
	if err := name(w.temp, w.final); err != nil {
		w.Abort()
		var le *os.LinkError
		if errors.As(err, &le) {
			err = le.Err
		}
		return pathError(w.op, w.path, err)
	}
	w.done = true
	w.l.at("named")
	// After link the temporary name is a second name of the file, after rename it is gone. One
	// that cannot be removed does no harm and waits for Sweep.
	w.l.root.Remove(w.temp)
	w.l.at("removed")
	w.f.Close() // read errors aside nothing can be lost after Sync
	if err := w.l.syncDir(path.Dir(w.final)); err != nil {
		return pathError(w.op, w.path, fmt.Errorf("%w: %w", ErrUnsynced, err))
	}
	w.l.at("durable")
	return nil
}

// Abort implements Writer.
func (w *localWriter) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	err := w.l.root.Remove(w.temp)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if cerr := w.f.Close(); err == nil {
		err = cerr
	}
	return pathError("abort", w.path, err)
}

// CreateExclusive implements Storage.
func (l *Local) CreateExclusive(ctx context.Context, p string, data []byte) error {
	return l.put(ctx, p, data, l.root.Link)
}

// Replace implements Storage.
func (l *Local) Replace(ctx context.Context, p string, data []byte) error {
	return l.put(ctx, p, data, l.root.Rename)
}

func (l *Local) put(ctx context.Context, p string, data []byte, name func(from, to string) error) error {
	w, err := l.create(ctx, "create", p)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.publish(name)
}

// Sweep removes from one directory the temporary files whose writer has died, and returns how
// many there were. Those of living writers, of any process of this host, stay.
func (l *Local) Sweep(ctx context.Context, dir string) (int, error) {
	c, err := l.begin(ctx, "sweep", dir)
	if err != nil {
		return 0, err
	}
	d, err := l.root.Open(c)
	if err != nil {
		return 0, pathError("sweep", dir, absent(err))
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return 0, pathError("sweep", dir, err)
	}
	n := 0
	for _, name := range names {
		if !strings.HasPrefix(name, TempPrefix) {
			continue
		}
		p := path.Join(c, name)
		f, err := l.root.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return n, pathError("sweep", p, err)
		}
		// The name is removed while the lock is held, so that create sees that it lost the file.
		ok, err := tryFlock(f)
		if ok {
			err = l.root.Remove(p)
			n++
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, pathError("sweep", p, err)
		}
	}
	return n, nil
}

func (l *Local) at(step string) {
	if l.step != nil {
		l.step(step)
	}
}

func tempName() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return TempPrefix + hex.EncodeToString(b[:])
}

// tryFlock takes the exclusive lock of an open file unless another open file holds it.
func tryFlock(f *os.File) (bool, error) {
	rc, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var ferr error
	if err := rc.Control(func(fd uintptr) {
		for {
			if ferr = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB); ferr != syscall.EINTR {
				return
			}
		}
	}); err != nil {
		return false, err
	}
	if ferr == syscall.EWOULDBLOCK {
		return false, nil
	}
	return ferr == nil, ferr
}

// linked reports whether an open file still has a name.
func linked(f *os.File) (bool, error) {
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	s, ok := st.Sys().(*syscall.Stat_t)
	return !ok || s.Nlink > 0, nil
}
