package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// Sentinels to branch on with errors.Is.
var (
	// ErrNewer is returned by Open for a catalog that a later version of the program has made.
	ErrNewer = errors.New("catalog is of a newer version")
	// ErrForeign is returned by Open for a sqlite database that is not a catalog.
	ErrForeign = errors.New("database belongs to another program")
	// ErrCorrupt is returned when sqlite finds the file damaged while it is in use, or when a
	// statistics blob cannot be decoded. The next Open moves a damaged file aside if it shows
	// on opening; otherwise the file can be deleted.
	ErrCorrupt = errors.New("catalog is damaged")
	// ErrNoDatabase is returned when a table is put into a database that is not in the catalog.
	ErrNoDatabase = errors.New("no such database in the catalog")
	// ErrNoTable is returned when something is stored under an id that is not in the catalog
	// (any more).
	ErrNoTable = errors.New("no such table in the catalog")
	// ErrNoState is returned by ApplyDelta when nothing is stored to apply it to.
	ErrNoState = errors.New("no state is stored")
	// ErrStale is returned by ApplyDelta when the stored state is not the one that the delta
	// was made from. The caller loads the state again.
	ErrStale = errors.New("state was changed meanwhile")
)

// VersionError says which schema version a refused catalog has. It wraps ErrNewer.
type VersionError struct {
	Path         string
	Found, Known int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("catalog %s has version %d, this program knows versions up to %d; use the newer program, or another file",
		e.Path, e.Found, e.Known)
}

func (e *VersionError) Unwrap() error { return ErrNewer }

// fail wraps an error once, with what was being done, and gives sqlite's codes their sentinels.
func (c *Catalog) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	if damaged(err) && !errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("%w: %w (stop the program and delete the file; it is made anew from storage)", ErrCorrupt, err)
	}
	return fmt.Errorf("catalog %s: %s: %w", c.path, op, err)
}

// damaged reports whether err says that the file is no database or a broken one.
func damaged(err error) bool {
	var se sqlite3.Error
	return errors.As(err, &se) && (se.Code == sqlite3.ErrNotADB || se.Code == sqlite3.ErrCorrupt)
}

// missingParent reports whether err is the violation of a foreign key.
func missingParent(err error) bool {
	var se sqlite3.Error
	return errors.As(err, &se) && se.ExtendedCode == sqlite3.ErrConstraintForeignKey
}

// ended puts the reason why a context ended before what database/sql says after it has rolled
// the transaction back: that a transaction is done, a statement closed, sqlite interrupted.
func ended(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}
