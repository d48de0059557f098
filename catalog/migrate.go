package catalog

import (
	"context"
	"fmt"
)

// applicationID marks the sqlite files that are catalogs ("Shoa"), so that a database of another
// program given by mistake is recognized (I3).
const applicationID = 0x53686f61

// migrations brings a catalog from version i to i+1; PRAGMA user_version holds the version.
// Entries are never changed once released, only added.
var migrations = []string{
	// Version 1.
	`
CREATE TABLE databases (
	name TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: an id is never used again, so that a process that still holds the id of a
-- dropped table cannot write into another.
CREATE TABLE tables (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	database TEXT NOT NULL REFERENCES databases (name) ON DELETE CASCADE,
	name TEXT NOT NULL,
	path TEXT NOT NULL,
	attached INTEGER NOT NULL,
	fingerprint TEXT, -- NULL: no state is stored
	UNIQUE (database, name)
) STRICT;

CREATE TABLE instants (
	table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
	time TEXT NOT NULL,
	action TEXT NOT NULL,
	state TEXT NOT NULL,
	operation TEXT NOT NULL,
	PRIMARY KEY (table_id, time, action, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE partitions (
	table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
	path TEXT NOT NULL,
	PRIMARY KEY (table_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE slices (
	table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
	partition TEXT NOT NULL,
	file_id TEXT NOT NULL,
	instant TEXT NOT NULL,
	file_name TEXT NOT NULL,
	size INTEGER NOT NULL,
	row_count INTEGER NOT NULL,
	PRIMARY KEY (table_id, partition, file_id, instant)
) STRICT, WITHOUT ROWID;

CREATE TABLE replaced (
	table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
	partition TEXT NOT NULL,
	file_id TEXT NOT NULL,
	instant TEXT NOT NULL,
	PRIMARY KEY (table_id, partition, file_id, instant)
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
	table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
	instant TEXT NOT NULL,
	state TEXT NOT NULL,
	strategy TEXT NOT NULL,
	ordering TEXT NOT NULL,
	groups_total INTEGER NOT NULL,
	groups_done INTEGER NOT NULL,
	input_files INTEGER NOT NULL,
	input_bytes INTEGER NOT NULL,
	rows_in INTEGER NOT NULL,
	rows_done INTEGER NOT NULL,
	output_files INTEGER NOT NULL,
	output_bytes INTEGER NOT NULL,
	owner TEXT NOT NULL,
	error TEXT NOT NULL,
	reason TEXT NOT NULL,
	started INTEGER, -- µs since 1970-01-01 UTC, NULL: not yet; the same for the two below
	updated INTEGER,
	finished INTEGER,
	PRIMARY KEY (table_id, instant)
) STRICT, WITHOUT ROWID;

-- Statistics of one file, all columns; see doc.go, Statistics.
CREATE TABLE stats_recent (
	id INTEGER PRIMARY KEY,
	table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
	partition TEXT NOT NULL,
	file_name TEXT NOT NULL,
	columns BLOB NOT NULL,
	UNIQUE (table_id, partition, file_name)
) STRICT;

-- A segment is the statistics of many files. A higher id is newer, hence AUTOINCREMENT.
CREATE TABLE stats_segments (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
	partition TEXT NOT NULL,
	file_count INTEGER NOT NULL,
	file_names BLOB NOT NULL
) STRICT;
CREATE INDEX stats_segments_of_partition ON stats_segments (table_id, partition);

CREATE TABLE stats_columns (
	segment_id INTEGER NOT NULL REFERENCES stats_segments (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (segment_id, name)
) STRICT;

-- Positions in a segment whose file is gone.
CREATE TABLE stats_gone (
	segment_id INTEGER NOT NULL REFERENCES stats_segments (id) ON DELETE CASCADE,
	position INTEGER NOT NULL,
	PRIMARY KEY (segment_id, position)
) STRICT, WITHOUT ROWID;
`,
}

// migrate brings the file to the newest version. The caller holds the lock of Open.
func (c *Catalog) migrate(ctx context.Context) error {
	var version, application, objects int
	if err := c.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if err := c.write.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return err
	}
	if err := c.write.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return err
	}
	if application != applicationID && (application != 0 || version != 0 || objects != 0) {
		return fmt.Errorf("%w; name another file for the catalog", ErrForeign)
	}
	if version < 0 || version > len(migrations) {
		return &VersionError{Path: c.path, Found: version, Known: len(migrations)}
	}
	// The journal mode stays with the file. A file system without shared memory keeps another
	// mode, which works as well, with more waiting.
	var mode string
	if err := c.write.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	for ; version < len(migrations); version++ {
		if err := c.step(ctx, version); err != nil {
			return fmt.Errorf("migrate from version %d: %w", version, err)
		}
	}
	return nil
}

// step does one migration and records it, in one transaction.
func (c *Catalog) step(ctx context.Context, version int) error {
	tx, err := c.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // a no-op after Commit
	// PRAGMA takes no parameters; both numbers are our own.
	marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version+1)
	for _, script := range []string{migrations[version], marks} {
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return err
		}
	}
	return tx.Commit()
}
