package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Instant is one entry of a timeline as it was listed. The three first fields together identify
// it: an instant that went from requested to completed has up to three entries.
type Instant struct {
	Time, Action, State string
	// Operation is what the commit's metadata says was done ("INSERT", "CLUSTER", …); "" unknown.
	Operation string
}

// Slice is one version of a file group: a base file. Partition, FileID and Instant identify it.
type Slice struct {
	Partition, FileID, Instant, FileName string
	Size                                 int64 // bytes
	Rows                                 int64 // -1 unknown
}

// Replaced says that a file group's slices up to Instant, a replacecommit's, are no longer part
// of the table.
type Replaced struct {
	Partition, FileID, Instant string
}

// State is what one reading of a table's timeline gave.
type State struct {
	// Fingerprint is the caller's digest of the listing that the state was made from.
	Fingerprint string
	Instants    []Instant
	Partitions  []string
	Slices      []Slice
	Replaced    []Replaced
}

// Delta is what has changed since a State. Things put or added that are there already are
// updated; things dropped that are not there are passed over. Drops come before puts.
type Delta struct {
	// Base, if not "", is the Fingerprint of the state that the delta was made from; ErrStale if
	// another one is stored.
	Base string
	// Fingerprint is that of the state after the delta.
	Fingerprint    string
	PutInstants    []Instant
	DropInstants   []Instant // by Time, Action and State
	AddPartitions  []string
	DropPartitions []string
	AddSlices      []Slice
	DropSlices     []Slice // by Partition, FileID and Instant
	AddReplaced    []Replaced
	DropReplaced   []Replaced
}

// LoadState returns what is stored of a table's timeline, or nil if nothing is. Each list is
// sorted by its fields in order.
func (c *Catalog) LoadState(ctx context.Context, table int64) (*State, error) {
	var s *State
	err := c.view(ctx, fmt.Sprintf("load state of table %d", table), func(t *tx) error {
		fingerprint, err := t.fingerprint(table)
		if errors.Is(err, ErrNoTable) || errors.Is(err, ErrNoState) {
			return nil
		}
		if err != nil {
			return err
		}
		s = &State{Fingerprint: fingerprint}
		return t.loadState(table, s)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ReplaceState stores s in place of what was stored of the table's timeline, in one transaction.
// Statistics and plans stay.
func (c *Catalog) ReplaceState(ctx context.Context, table int64, s *State) error {
	return c.update(ctx, fmt.Sprintf("replace state of table %d", table), func(t *tx) error {
		if err := t.setFingerprint(table, s.Fingerprint); err != nil {
			return err
		}
		for _, q := range []string{
			"DELETE FROM instants WHERE table_id = ?",
			"DELETE FROM partitions WHERE table_id = ?",
			"DELETE FROM slices WHERE table_id = ?",
			"DELETE FROM replaced WHERE table_id = ?",
		} {
			if _, err := t.exec(q, table); err != nil {
				return err
			}
		}
		return t.add(table, s.Instants, s.Partitions, s.Slices, s.Replaced)
	})
}

// ApplyDelta advances the stored state in one transaction. ErrNoState if nothing is stored,
// ErrStale if d.Base says that the delta was made from another state; then nothing is changed.
func (c *Catalog) ApplyDelta(ctx context.Context, table int64, d *Delta) error {
	return c.update(ctx, fmt.Sprintf("apply delta to table %d", table), func(t *tx) error {
		stored, err := t.fingerprint(table)
		if err != nil {
			return err
		}
		if d.Base != "" && d.Base != stored {
			return ErrStale
		}
		if err := t.setFingerprint(table, d.Fingerprint); err != nil {
			return err
		}
		if err := t.drop(table, d); err != nil {
			return err
		}
		return t.add(table, d.PutInstants, d.AddPartitions, d.AddSlices, d.AddReplaced)
	})
}

// fingerprint returns that of the stored state; ErrNoTable, ErrNoState.
func (t *tx) fingerprint(table int64) (string, error) {
	var f sql.NullString
	err := t.queryRow("SELECT fingerprint FROM tables WHERE id = ?", []any{table}, []any{&f})
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNoTable
	}
	if err == nil && !f.Valid {
		err = ErrNoState
	}
	return f.String, err
}

func (t *tx) setFingerprint(table int64, fingerprint string) error {
	n, err := t.exec("UPDATE tables SET fingerprint = ? WHERE id = ?", fingerprint, table)
	if err == nil && n == 0 {
		err = ErrNoTable
	}
	return err
}

func (t *tx) add(table int64, instants []Instant, partitions []string, slices []Slice, replaced []Replaced) error {
	for _, i := range instants {
		if _, err := t.exec("INSERT OR REPLACE INTO instants (table_id, time, action, state, operation) VALUES (?, ?, ?, ?, ?)",
			table, i.Time, i.Action, i.State, i.Operation); err != nil {
			return fmt.Errorf("instant %s.%s: %w", i.Time, i.Action, err)
		}
	}
	for _, p := range partitions {
		if _, err := t.exec("INSERT OR IGNORE INTO partitions (table_id, path) VALUES (?, ?)", table, p); err != nil {
			return fmt.Errorf("partition %s: %w", p, err)
		}
	}
	for _, s := range slices {
		if _, err := t.exec("INSERT OR REPLACE INTO slices (table_id, partition, file_id, instant, file_name, size, row_count)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?)",
			table, s.Partition, s.FileID, s.Instant, s.FileName, s.Size, s.Rows); err != nil {
			return fmt.Errorf("file %s of partition %q: %w", s.FileName, s.Partition, err)
		}
	}
	for _, r := range replaced {
		if _, err := t.exec("INSERT OR IGNORE INTO replaced (table_id, partition, file_id, instant) VALUES (?, ?, ?, ?)",
			table, r.Partition, r.FileID, r.Instant); err != nil {
			return fmt.Errorf("replaced file group %s of partition %q: %w", r.FileID, r.Partition, err)
		}
	}
	return nil
}

func (t *tx) drop(table int64, d *Delta) error {
	for _, i := range d.DropInstants {
		if _, err := t.exec("DELETE FROM instants WHERE table_id = ? AND time = ? AND action = ? AND state = ?",
			table, i.Time, i.Action, i.State); err != nil {
			return fmt.Errorf("instant %s.%s: %w", i.Time, i.Action, err)
		}
	}
	for _, p := range d.DropPartitions {
		if _, err := t.exec("DELETE FROM partitions WHERE table_id = ? AND path = ?", table, p); err != nil {
			return fmt.Errorf("partition %s: %w", p, err)
		}
	}
	for _, s := range d.DropSlices {
		if _, err := t.exec("DELETE FROM slices WHERE table_id = ? AND partition = ? AND file_id = ? AND instant = ?",
			table, s.Partition, s.FileID, s.Instant); err != nil {
			return fmt.Errorf("file %s of partition %q: %w", s.FileName, s.Partition, err)
		}
	}
	for _, r := range d.DropReplaced {
		if _, err := t.exec("DELETE FROM replaced WHERE table_id = ? AND partition = ? AND file_id = ? AND instant = ?",
			table, r.Partition, r.FileID, r.Instant); err != nil {
			return fmt.Errorf("replaced file group %s of partition %q: %w", r.FileID, r.Partition, err)
		}
	}
	return nil
}

func (t *tx) loadState(table int64, s *State) error {
	// The same few partitions, instants and operations come again and again; one copy of each
	// is kept.
	one := interner{}
	if err := t.query(func(r *sql.Rows) error {
		var i Instant
		if err := r.Scan(&i.Time, &i.Action, &i.State, &i.Operation); err != nil {
			return err
		}
		i.Time, i.Action, i.State, i.Operation = one.of(i.Time), one.of(i.Action), one.of(i.State), one.of(i.Operation)
		s.Instants = append(s.Instants, i)
		return nil
	}, "SELECT time, action, state, operation FROM instants WHERE table_id = ? ORDER BY time, action, state", table); err != nil {
		return err
	}
	if err := t.query(func(r *sql.Rows) error {
		var p string
		if err := r.Scan(&p); err != nil {
			return err
		}
		s.Partitions = append(s.Partitions, one.of(p))
		return nil
	}, "SELECT path FROM partitions WHERE table_id = ? ORDER BY path", table); err != nil {
		return err
	}
	if err := t.query(func(r *sql.Rows) error {
		var e Slice
		if err := r.Scan(&e.Partition, &e.FileID, &e.Instant, &e.FileName, &e.Size, &e.Rows); err != nil {
			return err
		}
		e.Partition, e.Instant = one.of(e.Partition), one.of(e.Instant)
		s.Slices = append(s.Slices, e)
		return nil
	}, "SELECT partition, file_id, instant, file_name, size, row_count FROM slices WHERE table_id = ?"+
		" ORDER BY partition, file_id, instant", table); err != nil {
		return err
	}
	return t.query(func(r *sql.Rows) error {
		var e Replaced
		if err := r.Scan(&e.Partition, &e.FileID, &e.Instant); err != nil {
			return err
		}
		e.Partition, e.Instant = one.of(e.Partition), one.of(e.Instant)
		s.Replaced = append(s.Replaced, e)
		return nil
	}, "SELECT partition, file_id, instant FROM replaced WHERE table_id = ? ORDER BY partition, file_id, instant", table)
}

type interner map[string]string

func (in interner) of(s string) string {
	if known, ok := in[s]; ok {
		return known
	}
	in[s] = s
	return s
}
