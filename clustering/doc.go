// Package clustering owns the table service that rewrites many small, arrival-ordered files into
// few large, sorted ones: its plans, their execution, and the service that runs both.
//
// Data flows one way: snapshot and options → Plan (a value) → requested replacecommit → groups
// read, sorted and written → replacecommit.
//
// Invariants:
//
//	I1  MakePlan is a pure function: the same input and options give the same plan. Scheduling
//	    stores it, execution reads it back from the timeline and does nothing else.
//	I2  No file group is in two groups of a plan, nor in a plan while another is pending.
//	I3  An execution commits only after proof, per group, that the rows written are the rows read
//	    (count, and a sum of hashes of their record keys that does not depend on order).
//	I4  Rows keep their commit time, sequence number, record key and partition path; only the
//	    file name changes.
//	I5  Memory is bounded by Options.MemoryBytes, whatever the size of a group.
//	I6  A failed or cancelled execution leaves no file and keeps the plan.
//
// The package knows nothing of SQL or of the wire.
package clustering
