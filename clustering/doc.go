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
//	I3  An execution commits only after proof, per group, that the rows written are the rows read:
//	    their count, the count that the new files report, and a sum of hashes of their record keys
//	    that does not depend on order. The proof reads all rows in one go; it does not rest on what
//	    the strategy read.
//	I4  Rows keep their commit time, sequence number, record key and partition path; only the
//	    file name changes. Rows that the sort columns do not tell apart keep their order.
//	I5  The rows held for sorting are bounded by Options.MemoryBytes, whatever the size of a group
//	    and however its values are distributed; beside them each group at work holds one row group
//	    that is being encoded.
//	I6  A failed or cancelled execution leaves no file and keeps the plan.
//	I7  What a clustering has laid out as asked is not planned again, so that a second run of the
//	    same request does nothing.
//
// The package knows nothing of SQL or of the wire.
package clustering
