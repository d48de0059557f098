package storage

import (
	"context"
	"io"
	"time"
)

// FileInfo describes one entry of a directory.
type FileInfo struct {
	Name    string // last path element
	Size    int64  // bytes; 0 for a directory
	ModTime time.Time
	IsDir   bool
}

// File is an open file for reading at any offset. It is safe for concurrent use.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// Writer is a new file being written. Exactly one of Commit and Abort ends it; Abort after
// Commit is a no-op, so that it can be deferred.
type Writer interface {
	io.Writer
	// Commit makes the file durable and visible under its name. It fails with fs.ErrExist if
	// the name was taken meanwhile.
	Commit() error
	// Abort drops what was written.
	Abort() error
}

// Storage is a tree of files. All methods are safe for concurrent use.
type Storage interface {
	// Open opens a file for reading; fs.ErrNotExist if absent.
	Open(ctx context.Context, path string) (File, error)
	// ReadFile returns the whole of a (small) file.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// Stat describes one file or directory; fs.ErrNotExist if absent.
	Stat(ctx context.Context, path string) (FileInfo, error)
	// List returns the entries of one directory sorted by name; fs.ErrNotExist if absent.
	List(ctx context.Context, dir string) ([]FileInfo, error)
	// Create starts a new file; missing parent directories are made.
	Create(ctx context.Context, path string) (Writer, error)
	// CreateExclusive makes a file with this content, atomically and durably (I3); fs.ErrExist if
	// the name exists. Missing parent directories are made.
	CreateExclusive(ctx context.Context, path string, data []byte) error
	// Replace makes or replaces a file atomically and durably.
	Replace(ctx context.Context, path string, data []byte) error
	// MkdirAll makes a directory and its parents.
	MkdirAll(ctx context.Context, dir string) error
	// Remove removes a file or an empty directory, durably; absent is not an error.
	Remove(ctx context.Context, path string) error
	// RemoveAll removes a tree; absent is not an error.
	RemoveAll(ctx context.Context, path string) error
	// Lock takes the exclusive advisory lock of a path (made if missing) between all processes and
	// goroutines, waiting until ctx ends. The lock dies with the process.
	Lock(ctx context.Context, path string) (unlock func(), err error)
	// TryLock is Lock without waiting; ok is false when somebody else holds the lock. Unlike Lock it
	// never makes the file: a missing file gives fs.ErrNotExist.
	TryLock(ctx context.Context, path string) (unlock func(), ok bool, err error)
	// URI is the absolute address of a path, such as file:///data/w/t/p=1/f.parquet.
	URI(path string) string
}
