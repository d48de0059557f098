// Package sqltable presents the tables of an engine.Warehouse to go-mysql-server.
//
// It owns the mapping between MySQL's types, values, statements and errors and those of the
// engine: databases and tables, DDL, INSERT and LOAD DATA, AS OF, and the rules that hand a
// statement's filters to engine.Scan.
//
// Invariants:
//
//	I1  A statement sees one Snapshot of a table, however often it names it. A session keeps the
//	    snapshots of its running statement; the next statement, or a commit of its own, drops them.
//	I2  A predicate is handed to the scan only if it keeps every row that the filter above it
//	    keeps. The filter stays in the plan, so a predicate that keeps too much is only slower.
//	    What cannot be typed exactly is not handed down.
//	I3  Record keys are unique within a partition at most, so the analyzer never learns of a key:
//	    PrimaryKeySchema has no ordinals and tables bound by a statement have no indexes. Keys are
//	    shown (DESCRIBE, SHOW KEYS, information_schema), never relied upon.
//	I4  An INSERT, a LOAD DATA or a CREATE TABLE … SELECT is one engine.Write. Whatever
//	    ends it before the commit — an error, a cancelled statement, a panic — aborts it, and
//	    nothing of it is left in the session.
//	I5  The meta columns exist in a table's SQL schema only in statements that name one of them,
//	    under names that `*` does not expand to (meta.go).
//	I6  A table that cannot be opened is listed everywhere and usable nowhere: naming it gives its
//	    own error, and no listing fails because of it.
//	I7  Every error that leaves the package carries the MySQL code of its cause (errors.go).
//
// The package knows nothing of the wire, of procedures, or of how clustering works.
package sqltable
