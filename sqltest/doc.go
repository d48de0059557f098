// Package sqltest owns test scripts of SQL behaviour: text files of statements with what they must
// give, played against a running server over the wire. docs/sqltest.md describes the format.
//
// Invariants:
//
//	I1  A script that parses can be written back byte for byte; rewriting touches only the blocks
//	    of statements that did not give what was written.
//	I2  Text and prepared play are judged by the same block: cells are compared in one spelling,
//	    whatever the protocol that brought them.
//	I3  Every value that differs between runs (instants, paths) is a variable; scripts hold none.
//	I4  A script leaves nothing behind on the server but what it made outside its database.
//
// The package knows nothing of the server's insides: it speaks to MySQL as well.
package sqltest
