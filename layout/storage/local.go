package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Local is a directory tree of the local disk. The kernel resolves every path beneath the root
// directory that was open when NewLocal returned, so renaming a directory or planting a symbolic
// link cannot lead outside (I1).
type Local struct {
	root *os.Root
	base string // absolute path of root, for URI

	// step, if set, is called with the name of each step of publishing a file. Tests of crash
	// safety die in it.
	step func(name string)
}

var _ Storage = (*Local)(nil)

// NewLocal opens the tree beneath a directory, which must exist.
func NewLocal(root string) (*Local, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("storage root %s: %w", root, err)
	}
	r, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("storage root: %w", err)
	}
	return &Local{root: r, base: abs}, nil
}

// Root returns the absolute path of the tree's root in the file system.
func (l *Local) Root() string { return l.base }

// Close releases the root directory. Open files and held locks stay valid.
func (l *Local) Close() error { return l.root.Close() }

// URI implements Storage. Characters that a URI cannot hold are percent-escaped as UTF-8, so
// that the result can be parsed as a URI again.
func (l *Local) URI(p string) string {
	return (&url.URL{Scheme: "file", Path: path.Join(filepath.ToSlash(l.base), path.Clean("/"+p))}).String()
}

// localFile reads by pread, which keeps no position and so needs no lock.
type localFile struct {
	f    *os.File
	size int64
}

func (f *localFile) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }
func (f *localFile) Close() error                            { return f.f.Close() }
func (f *localFile) Size() int64                             { return f.size }

// Open implements Storage.
func (l *Local) Open(ctx context.Context, p string) (File, error) { return l.open(ctx, "open", p) }

func (l *Local) open(ctx context.Context, op, p string) (*localFile, error) {
	c, err := l.begin(ctx, op, p)
	if err != nil {
		return nil, err
	}
	// Without O_NONBLOCK opening a pipe that has no writer would hang.
	f, err := l.root.OpenFile(c, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, pathError(op, p, absent(err))
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrNotFile
	}
	if err != nil {
		f.Close()
		return nil, pathError(op, p, err)
	}
	return &localFile{f: f, size: st.Size()}, nil
}

// ReadFile implements Storage.
func (l *Local) ReadFile(ctx context.Context, p string) ([]byte, error) {
	f, err := l.open(ctx, "read", p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, f.size)
	// Files are replaced, never rewritten in place, so the size at open time is the whole.
	n, err := io.ReadFull(io.NewSectionReader(f, 0, f.size), b)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, pathError("read", p, err)
	}
	return b[:n], nil
}

// Stat implements Storage.
func (l *Local) Stat(ctx context.Context, p string) (FileInfo, error) {
	c, err := l.begin(ctx, "stat", p)
	if err != nil {
		return FileInfo{}, err
	}
	st, err := l.root.Stat(c)
	if err != nil {
		return FileInfo{}, pathError("stat", p, absent(err))
	}
	return fileInfo(path.Base(c), st), nil
}

// ListFileNames is List for callers that need no more than the names of what are not directories,
// in no particular order: it saves a stat a file, which counts where a folder has thousands and is
// listed often. It follows no symbolic links.
func (l *Local) ListFileNames(ctx context.Context, dir string) ([]string, error) {
	c, err := l.begin(ctx, "list", dir)
	if err != nil {
		return nil, err
	}
	d, err := l.root.OpenFile(c, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, pathError("list", dir, absent(err))
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, pathError("list", dir, err)
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), TempPrefix) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// List implements Storage. Files still being written (TempPrefix) are left out. A symbolic link
// is described as what it leads to; one that leads outside the root fails the listing, because
// leaving it out could hide a table's data.
func (l *Local) List(ctx context.Context, dir string) ([]FileInfo, error) {
	c, err := l.begin(ctx, "list", dir)
	if err != nil {
		return nil, err
	}
	d, err := l.root.OpenFile(c, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, pathError("list", dir, absent(err))
	}
	defer d.Close()
	if st, err := d.Stat(); err != nil {
		return nil, pathError("list", dir, err)
	} else if !st.IsDir() {
		return nil, pathError("list", dir, ErrNotDirectory)
	}
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, pathError("list", dir, err)
	}
	out := make([]FileInfo, 0, len(entries))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), TempPrefix) {
			continue
		}
		var st fs.FileInfo
		if e.Type()&fs.ModeSymlink != 0 {
			st, err = l.root.Stat(path.Join(c, e.Name()))
		} else {
			st, err = e.Info()
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the directory was read, or a link to nothing
		}
		if err != nil {
			return nil, pathError("list", path.Join(dir, e.Name()), err)
		}
		out = append(out, fileInfo(e.Name(), st))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func fileInfo(name string, st fs.FileInfo) FileInfo {
	fi := FileInfo{Name: name, ModTime: st.ModTime(), IsDir: st.IsDir()}
	if !fi.IsDir {
		fi.Size = st.Size()
	}
	return fi
}

// MkdirAll implements Storage. Each directory it makes is durable when it returns.
func (l *Local) MkdirAll(ctx context.Context, dir string) error {
	c, err := l.begin(ctx, "mkdir", dir)
	if err != nil {
		return err
	}
	return pathError("mkdir", dir, l.mkdirAll(c))
}

func (l *Local) mkdirAll(dir string) error {
	switch st, err := l.root.Stat(dir); {
	case err == nil && st.IsDir():
		return nil
	case err == nil:
		return ErrNotDirectory
	case errors.Is(err, syscall.ENOTDIR):
		return ErrNotDirectory
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if dir == "." {
		return fs.ErrNotExist // the root was removed under us
	}
	parent := path.Dir(dir)
	if err := l.mkdirAll(parent); err != nil {
		return err
	}
	err := l.root.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		if st, serr := l.root.Stat(dir); serr != nil {
			return serr
		} else if !st.IsDir() {
			return ErrNotDirectory
		}
		// Somebody else made it just now and may not have synced the parent yet.
		err = nil
	}
	if err != nil {
		return err
	}
	return l.syncDir(parent)
}

// Remove implements Storage.
func (l *Local) Remove(ctx context.Context, p string) error {
	c, err := l.begin(ctx, "remove", p)
	if err != nil {
		return err
	}
	return pathError("remove", p, l.removed(c, l.root.Remove(c)))
}

// RemoveAll implements Storage.
func (l *Local) RemoveAll(ctx context.Context, p string) error {
	c, err := l.begin(ctx, "remove", p)
	if err != nil {
		return err
	}
	if c == "." {
		return pathError("remove", p, fmt.Errorf("%w: the root itself stays", fs.ErrInvalid))
	}
	return pathError("remove", p, l.removed(c, l.root.RemoveAll(c)))
}

// removed makes a removal durable. An absent name is synced as well: it may be absent because
// another process has just removed it.
func (l *Local) removed(c string, err error) error {
	if err != nil && !errors.Is(absent(err), fs.ErrNotExist) {
		return err
	}
	if err := l.syncDir(path.Dir(c)); err != nil && !errors.Is(absent(err), fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l *Local) syncDir(dir string) error {
	d, err := l.root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (l *Local) begin(ctx context.Context, op, p string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", pathError(op, p, err)
	}
	return clean(op, p)
}

// absent reports a path beneath a file as what it is to the caller: not there.
func absent(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fs.ErrNotExist
	}
	return err
}
