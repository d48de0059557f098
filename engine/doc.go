// Package engine owns tables: opening them, their snapshots, scans, staged writes and commits.
//
// Who owns what:
//
//	Warehouse  the databases and tables below one root, and the paths users may name
//	Table      one Hudi table: its configuration, its current Snapshot, its lock
//	Snapshot   an immutable view of a table: schema, partitions, file groups, statistics
//	Scan       the batches of a snapshot that a predicate may match, and what was skipped
//	Write      one staged commit: requested → inflight → files with markers → completed
//
// Invariants:
//
//	I1  The timeline on storage is the truth. An instant counts when its completed file exists;
//	    the catalog and every Snapshot can be rebuilt from storage.
//	I2  A Snapshot is its set of completed instants. What happened since a snapshot is the
//	    difference of two sets, never a comparison of instants: instants complete out of order
//	    and rollbacks remove them.
//	I3  An instant is chosen, and a commit is re-synced, checked and completed, under the table's
//	    lock (.hoodie/.aux/shoal.lock), in every process.
//	I4  Nothing is visible before the completed file; whatever fails before it leaves no files.
//	I5  A write whose process died is known by its free write lock (.hoodie/.aux/shoal/<instant>.lock)
//	    and is rolled back, with a rollback instant, by the next open or write. Pending instants
//	    of other engines are never touched.
//	I6  A table of another writer is opened without writing a byte below its base path; only
//	    writing to it does.
//
// The package knows nothing of SQL, of the MySQL protocol, or of how clustering plans are made.
package engine
