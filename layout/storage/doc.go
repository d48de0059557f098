// Package storage owns how files are reached: one small interface, and the local disk behind it.
//
// Invariants:
//
//	I1  Every path is relative to the storage's root, slash-separated, cleaned, and cannot leave
//	    the root, neither by ".." nor through a symbolic link.
//	I2  A file made by Create is invisible under its name until Commit returned; then it is durable.
//	I3  CreateExclusive is the commit point primitive: at most one caller succeeds for a name, the
//	    file appears whole or not at all, and it is durable when the call returns.
//	I4  Errors wrap fs.ErrNotExist and fs.ErrExist where they apply and always name the path.
//	I5  What a crash leaves of an unfinished file is a name that starts with TempPrefix. It is never
//	    listed, and Sweep removes it once its writer is dead.
//	I6  A lock belongs to one holder among all goroutines and processes of the host, and ends with
//	    its process. Unlocking leaves the lock's file in place.
//
// Local is the disk, Mem a stand-in for tests, Faulty a wrapper that breaks chosen calls.
// The package knows nothing of Hudi.
package storage
