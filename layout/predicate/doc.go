// Package predicate owns conditions on columns, what statistics say of them, and their evaluation
// on batches.
//
// Invariants:
//
//	I1  SQL's three truth values hold throughout: a comparison with null, or with NaN, is neither true
//	    nor false, and only rows for which a predicate is true satisfy it.
//	I2  Prune never contradicts Eval: it answers No or Yes only when no row, or every row, can
//	    satisfy the predicate under any data that the statistics allow. A statistic that is absent, of
//	    another type, or NaN means Unknown, and Unknown keeps the file.
//	I3  Comparisons are exact across integers, decimals and floats, and across units of time; nothing
//	    is rounded to be compared. Strings compare by their bytes, without padding.
//	I4  Predicates, values and statistics are immutable once shared. An Evaluator is for one goroutine.
//
// The package knows nothing of files or SQL text.
package predicate
