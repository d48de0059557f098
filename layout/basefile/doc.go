// Package basefile owns base files: their names, reading them to column batches and writing them
// from batches, their footers, statistics and bloom filters.
//
// Invariants:
//
//	I1  Bytes of a file are not trusted: every length, count, level and code is checked before use, what
//	    a page may expand to is bounded, and what is wrong is a CorruptError that names the file.
//	    No input makes a call panic or run away.
//	I2  A batch read from a dictionary-coded column keeps codes; all batches of one row group share the
//	    chunk's Dictionary.
//	I3  Statistics bound values or say nothing. What a file leaves open (absent null count, INT96,
//	    NaN, an order other than the engine's) is unknown, never zero or empty.
//	I4  A written row group has the same pages, row for row, in every column, so that the page index
//	    selects the same ranges in all of them.
//	I5  A reader holds the chosen columns of one row group, a writer the rows of one row group.
//	I6  What a writer puts into the footer about keys (bloom filter, range) covers every row of the file.
//
// The pages are cut and put together here, the encodings included; parquet-go supplies the footer's
// structures, its thrift coding and the types. It is called under recover.
//
// The package knows nothing of timelines, partitions or SQL.
package basefile
