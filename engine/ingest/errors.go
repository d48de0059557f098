package ingest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shoaldb/shoal/layout/column"
)

// Sentinels to branch on with errors.Is.
var (
	// ErrNoFiles is returned by Expand when a pattern matches nothing, and wraps fs.ErrNotExist.
	ErrNoFiles = errors.New("no file matches")
	// ErrColumns is wrapped by ColumnsError.
	ErrColumns = errors.New("the columns of the file are not those of the table")
	// ErrValue is wrapped by ValueError.
	ErrValue = errors.New("a value does not fit its column")
	// ErrOption is returned for options that contradict themselves or the files.
	ErrOption = errors.New("bad import option")
)

// ColumnsError lists how the columns of a file differ from those of the table.
type ColumnsError struct {
	File string
	// Missing are columns of the table, not nullable, that the file lacks.
	Missing []string
	// Extra are columns of the file that the table lacks (Options.IgnoreExtra passes over them).
	Extra []string
	// Twice are columns that the file has more than once.
	Twice []string
	// Types are columns whose type cannot be converted, with the reason.
	Types []string
}

func (e *ColumnsError) Error() string {
	var parts []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	add("it lacks", e.Missing)
	add("the table has no", e.Extra)
	add("it has more than one", e.Twice)
	if len(e.Types) > 0 {
		parts = append(parts, strings.Join(e.Types, "; "))
	}
	return fmt.Sprintf("%s: %v: %s", e.File, ErrColumns, strings.Join(parts, "; "))
}

func (e *ColumnsError) Unwrap() error { return ErrColumns }

// some reports whether there is anything to complain about.
func (e *ColumnsError) some() bool {
	return len(e.Missing)+len(e.Extra)+len(e.Twice)+len(e.Types) > 0
}

// ValueError names a value that cannot be stored.
type ValueError struct {
	File string
	// Line and Field are the place in a CSV file, from 1; Row, from 0, that in a Parquet file.
	// The others are 0 and -1.
	Line, Field int
	Row         int64
	Column      string
	Value       string // as text, cut to a readable length; "" for null and the empty string
	Want        column.Type
	Reason      string
}

func (e *ValueError) Error() string {
	place := fmt.Sprintf("row %d", e.Row)
	if e.Line > 0 {
		place = fmt.Sprintf("line %d, field %d", e.Line, e.Field)
	}
	text := fmt.Sprintf("%s: %s: column %s (%s): %s", e.File, place, e.Column, e.Want, e.Reason)
	if e.Value != "" {
		text += fmt.Sprintf(": %q", e.Value)
	}
	return text
}

func (e *ValueError) Unwrap() error { return ErrValue }

// FormatError says where a CSV file is not well formed.
type FormatError struct {
	File   string
	Line   int // from 1; 0 unknown
	Reason string
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Reason
	}
	return fmt.Sprintf("%s: line %d: %s", e.File, e.Line, e.Reason)
}

// readable cuts a value for a message, at the border of a character.
func readable(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
