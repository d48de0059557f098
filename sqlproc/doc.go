// Package sqlproc owns what ShoalDB's SQL has beyond MySQL's grammar: the procedures that CALL
// runs with named arguments, and Spark's spelling of Hudi tables and options.
//
// A statement goes text → Rewrite → MySQL's grammar → Parser.adapt → tree. Rewrite is a function
// of the text alone, so that a server can apply it where the wire library parses by itself.
//
// Invariants:
//
//	I1  Rewrite changes tokens of code only, never a string, a quoted name or a comment, except for
//	    the clauses it replaces whole. Every statement that is not one of those documented here
//	    comes out byte for byte.
//	I2  Rewrite(Rewrite(s)) == Rewrite(s): a text may pass through it any number of times.
//	I3  The ? of a text stay, in number and order. What could only be rewritten without one is left
//	    as it is, for the grammar to refuse.
//	I4  Arguments are checked against the procedure's signature before it does anything; an error
//	    names the argument and shows the signature.
//	I5  A procedure works while its rows are fetched, not while its statement is planned, and stops
//	    when its context is done.
//	I6  A procedure changes a table in one commit or not at all.
//	I7  Under access control a procedure needs EXECUTE, and on the table it names the privilege that
//	    the like statement would need.
//
// The package knows nothing of the wire.
package sqlproc
