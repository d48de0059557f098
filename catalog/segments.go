package catalog

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
)

// segment is the statistics of many files, one blob a column (doc.go, Statistics).
type segment struct {
	id    int64
	count int // of files, those that are gone included
}

// segments lists the segments of the partition, oldest first.
func (p statsPartition) segments() ([]segment, error) {
	var list []segment
	err := p.query(func(r *sql.Rows) error {
		var s segment
		if err := r.Scan(&s.id, &s.count); err != nil {
			return err
		}
		list = append(list, s)
		return nil
	}, "SELECT id, file_count FROM stats_segments WHERE table_id = ? AND partition = ? ORDER BY id", p.table, p.partition)
	return list, err
}

func (p statsPartition) putSegment(names []string) (id int64, err error) {
	err = p.queryRow("INSERT INTO stats_segments (table_id, partition, file_count, file_names) VALUES (?, ?, ?, ?) RETURNING id",
		[]any{p.table, p.partition, len(names), encodeList(names)}, []any{&id})
	return id, err
}

func (p statsPartition) putColumn(segment int64, name string, entries [][]byte) error {
	_, err := p.exec("INSERT INTO stats_columns (segment_id, name, data) VALUES (?, ?, ?)", segment, name, encodeList(entries))
	return err
}

func (p statsPartition) dropSegment(id int64) error {
	_, err := p.exec("DELETE FROM stats_segments WHERE id = ?", id)
	return err
}

// liveNames returns the file names of a segment by position, nil where the file is gone.
func (p statsPartition) liveNames(s segment) ([][]byte, error) {
	var blob []byte
	if err := p.queryRow("SELECT file_names FROM stats_segments WHERE id = ?", []any{s.id}, []any{&blob}); err != nil {
		return nil, err
	}
	names, err := decodeList(blob)
	if err != nil {
		return nil, fmt.Errorf("file names: %w", err)
	}
	if len(names) != s.count {
		return nil, fmt.Errorf("%w: %d file names for %d files", ErrCorrupt, len(names), s.count)
	}
	return names, p.query(func(r *sql.Rows) error {
		var i int
		if err := r.Scan(&i); err != nil {
			return err
		}
		if i < 0 || i >= len(names) {
			return fmt.Errorf("%w: position %d of %d files", ErrCorrupt, i, len(names))
		}
		names[i] = nil
		return nil
	}, "SELECT position FROM stats_gone WHERE segment_id = ?", s.id)
}

// eachEntries calls fn with the entries, by position, of the named columns of a segment, or of all
// its columns if columns is nil.
func (p statsPartition) eachEntries(s segment, columns []string, fn func(name string, entries [][]byte) error) error {
	each := func(r *sql.Rows) error {
		var name string
		var blob []byte
		if err := r.Scan(&name, &blob); err != nil {
			return err
		}
		entries, err := decodeList(blob)
		if err == nil && len(entries) != s.count {
			err = fmt.Errorf("%w: %d entries for %d files", ErrCorrupt, len(entries), s.count)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		return fn(name, entries)
	}
	if columns == nil {
		return p.query(each, "SELECT name, data FROM stats_columns WHERE segment_id = ? ORDER BY name", s.id)
	}
	for _, c := range columns {
		if err := p.query(each, "SELECT name, data FROM stats_columns WHERE segment_id = ? AND name = ?", s.id, c); err != nil {
			return err
		}
	}
	return nil
}

// dropFromSegments marks files as gone, removes segments that have none left and rewrites those
// that have lost more than half.
func (p statsPartition) dropFromSegments(files map[string]bool) error {
	list, err := p.segments()
	if err != nil {
		return err
	}
	for _, s := range list {
		names, err := p.liveNames(s)
		if err != nil {
			return fmt.Errorf("segment %d: %w", s.id, err)
		}
		live, dropped := 0, 0
		for i, name := range names {
			switch {
			case name == nil:
			case !files[string(name)]:
				live++
			default:
				dropped++
				if _, err := p.exec("INSERT INTO stats_gone (segment_id, position) VALUES (?, ?)", s.id, i); err != nil {
					return err
				}
			}
		}
		switch {
		case dropped == 0:
		case live == 0:
			err = p.dropSegment(s.id)
		case 2*live < s.count:
			err = p.rewrite([]segment{s})
		}
		if err != nil {
			return fmt.Errorf("segment %d: %w", s.id, err)
		}
	}
	return nil
}

// join rewrites small segments into full ones while there are too many of them, the smallest
// first: each rewrite takes as many as fill a segment, so a file is rewritten about once.
func (p statsPartition) join() error {
	for {
		list, err := p.segments()
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(s segment) bool { return s.count >= segmentFiles })
		if len(list) < smallSegments {
			return nil
		}
		slices.SortStableFunc(list, func(a, b segment) int { return cmp.Compare(a.count, b.count) })
		n, files := 0, 0
		for n < len(list) && (n < 2 || files < segmentFiles) {
			files += list[n].count
			n++
		}
		if err := p.rewrite(list[:n]); err != nil {
			return err
		}
	}
}

// place is where a live file's entries are: position i of the from-th segment rewritten.
type place struct{ from, i int }

// rewrite puts the live files of the segments into as few new ones as hold them.
func (p statsPartition) rewrite(old []segment) error {
	var names []string
	var places []place
	for from, s := range old {
		live, err := p.liveNames(s)
		if err != nil {
			return fmt.Errorf("segment %d: %w", s.id, err)
		}
		for i, name := range live {
			if name != nil {
				names, places = append(names, string(name)), append(places, place{from, i})
			}
		}
	}
	for len(names) > 0 {
		n := min(len(names), segmentFiles)
		if err := p.rewriteOne(old, names[:n], places[:n]); err != nil {
			return err
		}
		names, places = names[n:], places[n:]
	}
	for _, s := range old {
		if err := p.dropSegment(s.id); err != nil {
			return err
		}
	}
	return nil
}

func (p statsPartition) rewriteOne(old []segment, names []string, places []place) error {
	columns, err := p.columnNames(old)
	if err != nil {
		return err
	}
	id, err := p.putSegment(names)
	if err != nil {
		return err
	}
	// Column by column, so that no more than one column of the old segments is held at once.
	for _, name := range columns {
		from := make([][][]byte, len(old)) // nil: the segment does not have the column
		for f, s := range old {
			if err := p.eachEntries(s, []string{name}, func(_ string, entries [][]byte) error {
				from[f] = entries
				return nil
			}); err != nil {
				return fmt.Errorf("segment %d: %w", s.id, err)
			}
		}
		entries, known := make([][]byte, len(places)), false
		for i, at := range places {
			if from[at.from] != nil {
				entries[i] = from[at.from][at.i]
				known = known || len(entries[i]) > 0
			}
		}
		if !known {
			continue
		}
		if err := p.putColumn(id, name, entries); err != nil {
			return err
		}
	}
	return nil
}

// columnNames lists the columns of all the segments, sorted.
func (p statsPartition) columnNames(list []segment) ([]string, error) {
	set := map[string]bool{}
	for _, s := range list {
		if err := p.query(func(r *sql.Rows) error {
			var name string
			if err := r.Scan(&name); err != nil {
				return err
			}
			set[name] = true
			return nil
		}, "SELECT name FROM stats_columns WHERE segment_id = ?", s.id); err != nil {
			return nil, err
		}
	}
	return sortedKeys(set), nil
}
