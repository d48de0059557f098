// Package keygen owns how record keys and partition paths are made from a row's columns
// (docs/format.md: keys, partition paths), and what a partition path says of its rows.
//
// Invariants:
//
//	I1  A partition path is relative, has no empty, "." or ".." segment, and so stays inside the table.
//	I2  What RecordKeys and PartitionPaths give for a row depends on its values and the Config alone,
//	    so that every writer of a table agrees on them.
//	I3  PartitionValues answers only where the path determines the values.
//
// The package knows nothing of files or of who asks.
package keygen
