package engine

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinels to branch on with errors.Is. Each is returned wrapped by a typed error below that
// names the object.
var (
	// ErrNoSuchDatabase is returned when a database (folder of the warehouse) does not exist.
	ErrNoSuchDatabase = errors.New("no such database")
	// ErrDatabaseExists is returned by CreateDatabase for a name that is taken.
	ErrDatabaseExists = errors.New("database exists")
	// ErrNoSuchTable is returned when a database has no table of the name.
	ErrNoSuchTable = errors.New("no such table")
	// ErrTableExists is returned by CreateTable and AttachTable for a name that is taken.
	ErrTableExists = errors.New("table exists")
	// ErrNoSuchColumn is returned when a table has no column of the name.
	ErrNoSuchColumn = errors.New("no such column")
	// ErrNoSuchInstant is returned when a named instant is not in the timeline.
	ErrNoSuchInstant = errors.New("no such instant")
	// ErrDuplicateKey is returned when an insert meets a record key that the partition already has.
	ErrDuplicateKey = errors.New("duplicate record key")
	// ErrConflict is returned when another writer committed first what this write depends on.
	ErrConflict = errors.New("write conflict")
	// ErrUnsupported is returned for tables, versions and formats that are understood but refused.
	ErrUnsupported = errors.New("not supported")
	// ErrMalformed is returned for tables whose files on storage break the format.
	ErrMalformed = errors.New("malformed table")
	// ErrBadOption is returned for a bad value of a known configuration key.
	ErrBadOption = errors.New("bad option value")
	// ErrBadArgument is returned for values that cannot be stored or names that cannot be used.
	ErrBadArgument = errors.New("bad argument")
	// ErrPathNotAllowed is returned for a path outside what the server was given access to.
	ErrPathNotAllowed = errors.New("path not allowed")
)

// TableError says what was being done to which table when Err happened.
type TableError struct {
	Database, Table string
	Op              string // "open", "scan", "commit", …
	Err             error
}

func (e *TableError) Error() string {
	return fmt.Sprintf("%s %s.%s: %v", e.Op, e.Database, e.Table, e.Err)
}

func (e *TableError) Unwrap() error { return e.Err }

// NameError is about one named object: Kind is one of the ErrNoSuch… and Err…Exists sentinels.
type NameError struct {
	Kind error
	Name string
	Hint string // what to do, may be empty
}

func (e *NameError) Error() string {
	s := fmt.Sprintf("%v: %s", e.Kind, e.Name)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *NameError) Unwrap() error { return e.Kind }

// UnsupportedError refuses something by name and says what to do instead.
type UnsupportedError struct {
	What, Why, Hint string
}

func (e *UnsupportedError) Error() string {
	var b strings.Builder
	b.WriteString(e.What)
	b.WriteString(" is not supported")
	if e.Why != "" {
		b.WriteString(": " + e.Why)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

func (e *UnsupportedError) Unwrap() error { return ErrUnsupported }

// DuplicateKeyError names the record key an insert met twice.
type DuplicateKeyError struct {
	Table, Partition, Key string
}

func (e *DuplicateKeyError) Error() string {
	if e.Partition == "" {
		return fmt.Sprintf("duplicate record key %q in table %s", e.Key, e.Table)
	}
	return fmt.Sprintf("duplicate record key %q in partition %q of table %s", e.Key, e.Partition, e.Table)
}

func (e *DuplicateKeyError) Unwrap() error { return ErrDuplicateKey }

// ConflictError names the instant that committed first and the file group both wanted.
type ConflictError struct {
	Instant           string // ours
	Other             string // the one that won; "" if it only vanished
	Partition, FileID string
	Reason            string
}

func (e *ConflictError) Error() string {
	s := fmt.Sprintf("instant %s conflicts", e.Instant)
	if e.Other != "" {
		s += " with instant " + e.Other
	}
	if e.FileID != "" {
		s += fmt.Sprintf(" over file group %s of partition %q", e.FileID, e.Partition)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s + "; nothing was committed, run it again"
}

func (e *ConflictError) Unwrap() error { return ErrConflict }

// OptionError names a configuration key, its value and what is allowed.
type OptionError struct {
	Key, Value, Allowed string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%s = %q is not valid: allowed is %s", e.Key, e.Value, e.Allowed)
}

func (e *OptionError) Unwrap() error { return ErrBadOption }
