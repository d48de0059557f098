// Package column owns the in-memory form of table data: types, schemas, typed
// vectors with validity, dictionaries and batches.
//
// Invariants:
//
//	I1  A Vector holds exactly one storage form for its Type (see Vector); every slice of
//	    that form has Len elements, also where the row is null (null slots hold zero values).
//	I2  Valid == nil means that no row is null. Readers test Vector.Null(i), never the bitmap.
//	I3  Strings stay dictionary codes (Dict, Codes) from the file to the output where the
//	    file had a dictionary; operators work on codes and look at each entry once.
//	I4  A Vector handed out is immutable. Gather, Slice and Builder make new ones; they may
//	    share a Dictionary and, for Slice, the backing arrays.
//	I5  Nested values are canonical whatever the file's list or map spelling was: a List has
//	    one child "element", a Map the children "key" and "value", a Struct one child a field.
//	I6  A Slice keeps the offsets of its source: the first offset of Str or of a List or Map need
//	    not be 0, nor the last the length of the bytes or of the children.
//	I7  One order of values holds for Compare, AppendKey and SortPermutation: null first, numbers by
//	    value with -0 equal to 0 and NaN last, strings by their bytes, nested values by their parts.
//	I8  Where a struct is null, so are its children. A null list or map has no entries.
//
// The package knows nothing of Parquet, Avro, SQL or storage.
package column
