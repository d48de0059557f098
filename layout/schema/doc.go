// Package schema owns the ways a table's schema is written down, Avro in the timeline and Parquet
// in base files, and how a file's older columns become the table's.
//
// Invariants:
//
//	I1  FromAvro(ToAvro(s)) is s, and so is FromParquet(ToParquet(s)), up to what the target cannot
//	    say: documentation in Parquet, the name of list elements in Avro.
//	I2  A conversion never loses a value silently: what could is refused when it is resolved.
//	I3  Columns are matched by name, never by position.
package schema
