// Package catalog owns the sqlite file in which a warehouse keeps track of its tables: which
// databases and tables there are, what each table's timeline said when it was last read, the
// statistics of its base files, and clustering plans with their progress.
//
// The timeline on storage is the truth; the catalog spares reading it again. Deleting the file
// loses nothing but the history of progress.
//
// Invariants:
//
//	I1  A State is what one reading of one timeline gave, whole: it is replaced or advanced in one
//	    transaction, and a Delta is never applied where no State is stored or where the stored
//	    one is not the one it was made from.
//	I2  A table id is never given out twice. What is stored under it belongs to one base path:
//	    putting the table with another path forgets all of it.
//	I3  A file that is not a database, or a damaged one, is moved aside, never written over; a
//	    catalog of a later version or another program's database is left as it is and refused.
//	I4  Write transactions take sqlite's write lock when they begin, so they wait for each other
//	    (busyTimeout) instead of failing half-way. No transaction spans a call.
//	I5  Every value reaches SQL as a parameter.
//
// A Catalog is safe for concurrent use, and several processes may have the same file open. It is
// not a lock: writers of a table exclude each other by the table's own lock on storage.
//
// # Statistics
//
// A table gets a few files a commit, hundreds of times, and a query wants a few columns of every
// file. One blob per partition and column serves the query but would be written again by each
// commit; one row per file serves the commit but makes the query read every column. So the
// statistics of a partition are kept in three tiers, each written once:
//
//	recent    one row a file with all its columns, as commits bring them (fewer than 256)
//	segments  of 256 files and more: one blob a column, with the file names beside it
//	segments  of 4096 files: 4096/256 small segments joined
//
// A file's statistics are thus written three times in its life, whatever the table's age. Files
// that go away are marked by their position in the segment; a segment is rewritten when half of
// it is gone, and removed with its last file. A file that is put again is read from where it was
// put last: recent rows win over segments, later segments over earlier ones.
//
// The encoding of the blobs is described in statscodec.go.
//
// The package knows nothing of storage, Parquet or the formats of the timeline.
package catalog
