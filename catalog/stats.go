package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"sort"

	"github.com/shoaldb/shoal/layout/predicate"
)

// The tiers of doc.go, Statistics.
const (
	recentFiles   = 256  // recent rows of a partition that are folded into a segment
	segmentFiles  = 4096 // files of a full segment, at most
	smallSegments = segmentFiles / recentFiles
)

// FileStats is what is known of the columns of one base file.
type FileStats struct {
	FileName string
	Columns  map[string]predicate.ColumnStats
}

// PutStats stores the statistics of files of one partition, in place of those stored before of
// the same files. A range (HasRange) whose ends are null or nested is not kept. ErrNoTable if
// there is no such table.
func (c *Catalog) PutStats(ctx context.Context, table int64, partition string, files []FileStats) error {
	files = lastOfEach(files)
	if len(files) == 0 {
		return nil
	}
	return c.update(ctx, fmt.Sprintf("put statistics of partition %q of table %d", partition, table), func(t *tx) error {
		p := statsPartition{t, table, partition}
		err := p.put(files)
		if missingParent(err) {
			return ErrNoTable
		}
		return err
	})
}

// LoadStats returns the statistics of the named columns, or of all columns if columns is nil, of
// every file of the partition that has any: file → column → statistics. A file is in the result
// also when nothing is known of those columns, so an empty, non-nil columns lists the files.
// Values of strings and binaries must not be changed.
func (c *Catalog) LoadStats(ctx context.Context, table int64, partition string, columns []string) (map[string]map[string]predicate.ColumnStats, error) {
	var files map[string]map[string]predicate.ColumnStats
	err := c.view(ctx, fmt.Sprintf("load statistics of partition %q of table %d", partition, table), func(t *tx) error {
		var err error
		files, err = statsPartition{t, table, partition}.load(columns)
		return err
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// DropStats forgets the statistics of files. Files of which nothing is stored are passed over.
func (c *Catalog) DropStats(ctx context.Context, table int64, partition string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	return c.update(ctx, fmt.Sprintf("drop statistics of partition %q of table %d", partition, table), func(t *tx) error {
		p := statsPartition{t, table, partition}
		gone := make(map[string]bool, len(files))
		for _, f := range files {
			gone[f] = true
			if err := p.dropRecent(f); err != nil {
				return err
			}
		}
		return p.dropFromSegments(gone)
	})
}

// lastOfEach leaves the last of several entries of one file.
func lastOfEach(files []FileStats) []FileStats {
	last := make(map[string]int, len(files))
	for i := range files {
		last[files[i].FileName] = i
	}
	if len(last) == len(files) {
		return files
	}
	out := make([]FileStats, 0, len(last))
	for i := range files {
		if last[files[i].FileName] == i {
			out = append(out, files[i])
		}
	}
	return out
}

// statsPartition is the statistics of one partition within a transaction.
type statsPartition struct {
	*tx
	table     int64
	partition string
}

func (p statsPartition) put(files []FileStats) error {
	// Many files at once, as when a table is first read, are a segment already.
	if len(files) >= recentFiles {
		rows := make([]statsRow, len(files))
		for i, f := range files {
			rows[i] = statsRow{f.FileName, encodeRow(f.Columns)}
			if err := p.dropRecent(f.FileName); err != nil {
				return err
			}
		}
		return p.fold(rows)
	}
	for _, f := range files {
		if _, err := p.exec("INSERT OR REPLACE INTO stats_recent (table_id, partition, file_name, columns) VALUES (?, ?, ?, ?)",
			p.table, p.partition, f.FileName, encodeRow(f.Columns)); err != nil {
			return err
		}
	}
	var n int
	if err := p.queryRow("SELECT count(*) FROM stats_recent WHERE table_id = ? AND partition = ?",
		[]any{p.table, p.partition}, []any{&n}); err != nil || n < recentFiles {
		return err
	}
	rows, err := p.recent()
	if err != nil {
		return err
	}
	if _, err := p.exec("DELETE FROM stats_recent WHERE table_id = ? AND partition = ?", p.table, p.partition); err != nil {
		return err
	}
	return p.fold(rows)
}

// statsRow is the statistics of one file, encoded.
type statsRow struct {
	name    string
	columns []byte
}

// recent loads the recent rows, oldest first.
func (p statsPartition) recent() ([]statsRow, error) {
	var rows []statsRow
	err := p.query(func(r *sql.Rows) error {
		var row statsRow
		if err := r.Scan(&row.name, &row.columns); err != nil {
			return err
		}
		rows = append(rows, row)
		return nil
	}, "SELECT file_name, columns FROM stats_recent WHERE table_id = ? AND partition = ? ORDER BY id", p.table, p.partition)
	return rows, err
}

func (p statsPartition) dropRecent(file string) error {
	_, err := p.exec("DELETE FROM stats_recent WHERE table_id = ? AND partition = ? AND file_name = ?", p.table, p.partition, file)
	return err
}

// fold makes segments of rows and joins small segments when enough have gathered.
func (p statsPartition) fold(rows []statsRow) error {
	// A file is live in at most one segment, so that the order of segments means nothing.
	again := make(map[string]bool, len(rows))
	for _, r := range rows {
		again[r.name] = true
	}
	if err := p.dropFromSegments(again); err != nil {
		return err
	}
	for len(rows) > 0 {
		n := min(len(rows), segmentFiles)
		if err := p.foldOne(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return p.join()
}

func (p statsPartition) foldOne(rows []statsRow) error {
	names := make([]string, len(rows))
	columns := map[string][][]byte{} // entries by position
	for i, row := range rows {
		names[i] = row.name
		if err := eachColumn(row.columns, func(name, entry []byte) error {
			entries := columns[string(name)]
			if entries == nil {
				entries = make([][]byte, len(rows))
				columns[string(name)] = entries
			}
			entries[i] = entry
			return nil
		}); err != nil {
			return fmt.Errorf("file %s: %w", row.name, err)
		}
	}
	id, err := p.putSegment(names)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(columns) {
		if err := p.putColumn(id, name, columns[name]); err != nil {
			return err
		}
	}
	return nil
}

func (p statsPartition) load(columns []string) (map[string]map[string]predicate.ColumnStats, error) {
	want := func(string) bool { return true }
	if columns != nil {
		set := make(map[string]bool, len(columns))
		for _, c := range columns {
			set[c] = true
		}
		want = func(name string) bool { return set[name] }
	}
	files := map[string]map[string]predicate.ColumnStats{}
	rows, err := p.recent()
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		known := make(map[string]predicate.ColumnStats, len(columns))
		files[row.name] = known
		if err := eachColumn(row.columns, func(name, entry []byte) error {
			if !want(string(name)) {
				return nil
			}
			s, err := decodeEntry(entry)
			if err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
			known[string(name)] = s
			return nil
		}); err != nil {
			return nil, fmt.Errorf("file %s: %w", row.name, err)
		}
	}
	segments, err := p.segments()
	if err != nil {
		return nil, err
	}
	for _, s := range segments {
		if err := p.loadSegment(s, columns, files); err != nil {
			return nil, fmt.Errorf("segment %d: %w", s.id, err)
		}
	}
	return files, nil
}

// loadSegment adds the live files of a segment that are not in files yet.
func (p statsPartition) loadSegment(s segment, columns []string, files map[string]map[string]predicate.ColumnStats) error {
	names, err := p.liveNames(s)
	if err != nil {
		return err
	}
	known := make([]map[string]predicate.ColumnStats, len(names)) // nil: not wanted from here
	for i, name := range names {
		if name == nil || files[string(name)] != nil {
			continue
		}
		known[i] = make(map[string]predicate.ColumnStats, len(columns))
		files[string(name)] = known[i]
	}
	return p.eachEntries(s, columns, func(name string, entries [][]byte) error {
		for i, entry := range entries {
			if len(entry) == 0 || known[i] == nil {
				continue
			}
			st, err := decodeEntry(entry)
			if err != nil {
				return fmt.Errorf("column %s: file %s: %w", name, names[i], err)
			}
			known[i][name] = st
		}
		return nil
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
