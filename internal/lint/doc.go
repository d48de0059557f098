// Package lint holds the rules of the source tree that a compiler does not know, as tests:
//
//	R1  A package imports only packages below it in the list of docs/design/skeleton.md.
//	R2  The SQL front end (go-mysql-server, vitess) is imported by engine/sqltable and what is
//	    above it, nowhere else.
//	R3  What only tests need is not in the import graph of cmd/shoal.
//	R4  Tracked files name nothing that a stranger's clone does not have.
//	R5  Every package says what it owns in its package comment.
package lint
