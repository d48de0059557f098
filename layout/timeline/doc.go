// Package timeline owns the folder .hoodie of a table: the instants and their state files, the
// records those files hold, hoodie.properties, partition metadata and markers. It writes table
// version 6 with timeline layout 1, and reads what versions 0 to 6 left there and, in timeline
// layout 2, versions 8 and 9.
//
// Invariants:
//
//	T1  An instant is committed when its completed file exists. That file appears whole and
//	    durable, once; nothing else of a write is a commit.
//	T2  Instants are known by (time, action), never by time alone: in old tables a clean and a
//	    commit share a time. Times are compared as strings.
//	T3  A Timeline does not change. Two of them are compared as sets (Diff): instants complete out
//	    of order, and rollbacks remove them, so "newer than" says nothing about "new".
//	T4  An instant takes its states in order, and each state's file requires the file before it.
//	    Removing an instant goes the other way, so that a crash leaves a state that existed.
//	T5  hoodie.properties or its backup is whole at every moment of an update.
//	T6  What is read here was written by others: malformed bytes give an error that names the file
//	    or key, and never a panic.
//	T7  Layout 2 is read only. LoadFor, ReadState and ReadCommit ask the table's configuration
//	    where and how; Load, ReadFile and the transitions are of layout 1.
//
// Paths given to its functions are relative to the table's base path, at which the Storage is
// rooted. The package knows nothing of snapshots, locks or transactions: whoever moves an
// instant forward holds the table's lock where the protocol wants it.
package timeline
