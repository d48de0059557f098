package sqltest

import "fmt"

// Script is a parsed script.
type Script struct {
	Name string
	// Database is the one made before and dropped after; "" if the script says "database none".
	Database string
	Steps    []Step

	lines []string // of the file, without line ends
}

// Step is one thing that a script does: a *Statement, *Let, *Connection, *Disconnect or *File.
type Step interface {
	// At is the line, from 1, where the step begins.
	At() int
}

// Connection makes a named connection current, opening it the first time.
type Connection struct {
	Line int
	Name string
}

// Disconnect closes a named connection.
type Disconnect struct {
	Line int
	Name string
}

// File writes a file to the temporary directory.
type File struct {
	Line          int
	Name, Content string
}

// Let sets a variable to the one value of a query.
type Let struct {
	Line int
	Name string // without $
	Text string
}

// Statement is a statement with what it must give.
type Statement struct {
	Line int
	Text string // without the semicolon; variables are not replaced yet
	// Sorted says that rows come in no order: both sides are sorted before they are compared.
	Sorted bool
	// SkipPrepared plays the statement as text also in prepared mode.
	SkipPrepared bool
	// Args are the values of the statement's placeholders: nil, int64, float64 or string.
	Args    []any
	Columns []ColumnSpec // nil: not checked
	// Expect is nil if the statement only has to succeed.
	Expect *Expectation
	// Warnings are the lines that SHOW WARNINGS must give; nil: not checked.
	Warnings []string

	columnsLine      int // index into lines, -1 if none
	blockFrom, block int // indices into lines: the block is lines[blockFrom:block]
}

// ColumnSpec is the name of a result column and its type as the driver names it; Type may be "".
type ColumnSpec struct {
	Name, Type string
}

// Outcome is the kind of an Expectation.
type Outcome uint8

// The outcomes.
const (
	Rows     Outcome = iota // these rows, maybe none
	OK                      // success, rows are not looked at
	Affected                // success and the number of rows changed
	Error                   // an error
)

// Expectation is what stands under the line of a statement.
type Expectation struct {
	Outcome  Outcome
	Lines    []string // Rows: one a row, as written
	Affected int64
	// Code (0 any), State ("" any) and Fragment, a part of the message, of an Error.
	Code            int
	State, Fragment string
}

func (s *Connection) At() int { return s.Line }
func (s *Disconnect) At() int { return s.Line }
func (s *File) At() int       { return s.Line }
func (s *Let) At() int        { return s.Line }
func (s *Statement) At() int  { return s.Line }

// ParseError says where a script is not well formed.
type ParseError struct {
	Name    string
	Line    int // from 1
	Problem string
}

func (e *ParseError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Problem) }
