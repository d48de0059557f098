// Package server owns the MySQL listener: it assembles the SQL engine over a warehouse, lets
// clients in, carries their statements to the engine and the rows back.
//
//	assemble.go  the SQL engine: parser, procedures, tables
//	variables.go what it says of itself
//	accounts.go  who may log in; where accounts are kept
//	listen.go    addresses that need a password, TLS
//	conn.go      what is done to a connection's bytes before the wire library sees them
//	handler.go   the commands of a connection
//	spool.go     one statement and its rows
//	limit.go     how long a SELECT may take
//	watch.go     clients that went away, shutdown
//
// Invariants:
//
//	I1  Beyond the loopback interface nobody gets in without a password: a server whose address is
//	    reachable from elsewhere does not start without one.
//	I2  Every error that reaches a client has passed sqltable.SQLError. A panic in a statement is
//	    such an error, and the server goes on.
//	I3  A statement holds one batch of encoded rows, whatever the size of its result.
//	I4  A statement whose client is gone is cancelled within watchInterval, whether it sends rows
//	    or works in silence, with and without TLS.
//	I5  Text that Rewrite knows is rewritten wherever the wire library parses by itself; no other
//	    byte of a connection is changed.
//	I6  Close takes no statement's answer away: what runs may end within the grace period.
package server
