package basefile

import (
	"errors"
	"fmt"
)

// ErrCorrupt is what every CorruptError matches with errors.Is.
var ErrCorrupt = errors.New("corrupt base file")

// ErrUnsupported is what every UnsupportedError matches with errors.Is.
var ErrUnsupported = errors.New("unsupported base file")

// CorruptError says that a file's bytes are not what the format asks for.
type CorruptError struct {
	Path   string // of the file, as given to Open
	Column string // dotted path of the column, or ""
	Reason string
	Err    error // what lies under it, or nil
}

func (e *CorruptError) Error() string {
	return describe("corrupt base file", e.Path, e.Column, e.Reason, e.Err)
}
func (e *CorruptError) Unwrap() error { return e.Err }

// Is reports a match with ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// UnsupportedError says that a file is or may be valid but uses what this reader does not read.
type UnsupportedError struct {
	Path   string
	Column string
	Reason string
	Err    error
}

func (e *UnsupportedError) Error() string {
	return describe("cannot read base file", e.Path, e.Column, e.Reason, e.Err)
}
func (e *UnsupportedError) Unwrap() error { return e.Err }

// Is reports a match with ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

func describe(what, path, column, reason string, err error) string {
	s := what + " " + path
	if column != "" {
		s += fmt.Sprintf(", column %q", column)
	}
	if reason != "" {
		s += ": " + reason
	}
	if err != nil {
		s += ": " + err.Error()
	}
	return s
}

// unsupported is an error found where neither path nor column are known.
type unsupported string

func (u unsupported) Error() string { return string(u) }

// fault makes err, found while reading a column of a file, one of the package's typed errors.
func fault(path, column string, err error) error {
	var c *CorruptError
	var u *UnsupportedError
	var i *ioError
	var reason unsupported
	switch {
	case err == nil:
		return nil
	case errors.As(err, &c), errors.As(err, &u):
		return err
	case errors.As(err, &i):
		return fmt.Errorf("read base file %s: %w", path, i.err)
	case errors.As(err, &reason):
		return &UnsupportedError{Path: path, Column: column, Reason: string(reason)}
	}
	return &CorruptError{Path: path, Column: column, Err: err}
}

// ioError is a failure of the storage, which says nothing about the file's content.
type ioError struct{ err error }

func (e *ioError) Error() string { return e.err.Error() }
func (e *ioError) Unwrap() error { return e.err }
