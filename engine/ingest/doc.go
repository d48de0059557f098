// Package ingest owns bringing data from outside into a table: files of Parquet and CSV are read
// into batches of the table's schema and handed to a Destination.
//
// Invariants:
//
//	I1  Every row of every file reaches the Destination once, in the order of files and rows, or
//	    Import returns an error. It never leaves out a row or a value it cannot read.
//	I2  A batch handed out has exactly the Destination's schema: its columns, order and types, and
//	    no null where the schema has none.
//	I3  Columns are found by name without regard to ASCII case, except in a CSV file without
//	    header, where they are found by position.
//	I4  No value is rounded, cut or wrapped to fit. What does not fit is an error that names the
//	    file, the place, the value and the type.
//	I5  Memory is bounded by two batches, a row group of the file, and the longest record allowed.
//
// The package knows nothing of tables, timelines or SQL; committing what was inserted, or not, is
// the caller's.
package ingest
