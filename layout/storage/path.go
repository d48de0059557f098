package storage

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// TempPrefix starts the name of every file that Local is still writing. Such a file lies beside
// the one it becomes, is left out of List, and survives only a crash; Sweep removes it then.
const TempPrefix = ".shoal-tmp-"

var (
	// ErrOutside is returned, wrapped, for a path that would leave the storage's root.
	ErrOutside = errors.New("path leaves the storage's root")
	// ErrUnsynced is returned, wrapped, when a file is in place under its name and the disk
	// then refused to make that durable: others may have seen it, and a power failure may take
	// it back. A caller for whom the file is a commit point has to look again.
	ErrUnsynced = errors.New("in place, but not known to be durable")
	// ErrNotDirectory is returned, wrapped, when List or MkdirAll meets a file.
	ErrNotDirectory = errors.New("not a directory")
	// ErrNotFile is returned, wrapped, when a directory, pipe, socket or device is opened as a file.
	ErrNotFile = errors.New("not a regular file")
	// ErrDone is returned, wrapped, by a Writer that was committed or aborted before.
	ErrDone = errors.New("writer has ended")
)

// clean turns a caller's path into the form the implementations work with: slash-separated,
// without ".", ".." or double slashes, "." for the root itself.
func clean(op, p string) (string, error) {
	c := path.Clean(p)
	if !filepath.IsLocal(c) || strings.IndexByte(c, 0) >= 0 {
		return "", &fs.PathError{Op: op, Path: p, Err: ErrOutside}
	}
	return c, nil
}

// cleanFile is clean for the path of a file: the root cannot be one.
func cleanFile(op, p string) (string, error) {
	c, err := clean(op, p)
	if err == nil && c == "." {
		err = &fs.PathError{Op: op, Path: p, Err: ErrNotFile}
	}
	return c, err
}

// pathError names the operation and the caller's path, whatever the layer below called them.
func pathError(op, p string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Op == op && pe.Path == p {
		return err
	}
	// Keep what lies beneath an os error, and only that: its own path may be a temporary name.
	if pe, ok := err.(*fs.PathError); ok {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: p, Err: err}
}
