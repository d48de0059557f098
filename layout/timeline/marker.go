package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/shoaldb/shoal/layout/storage"
)

// Markers tell which data files a write in progress may have made, so that whoever rolls it back
// finds them without listing the table. Each is an empty file named after its data file.

const (
	tempFolder  = ".temp"
	markerInfix = ".marker."
	// Writers that collect markers in a server keep them as lines of these files instead.
	markerListPrefix = "MARKERS"
	markerListType   = "MARKERS.type"
)

// MarkerKind is what is being done to the data file.
type MarkerKind string

// The kinds.
const (
	MarkerCreate MarkerKind = "CREATE" // a new file group
	MarkerMerge  MarkerKind = "MERGE"  // a new slice of a file group
	MarkerAppend MarkerKind = "APPEND" // a log file
)

// Marker says that a write made, or was about to make, a data file.
type Marker struct {
	Partition string
	FileName  string
	Kind      MarkerKind
}

// Path is the data file's path relative to the base path.
func (m Marker) Path() string { return path.Join(m.Partition, m.FileName) }

func markerDir(instant string) string { return path.Join(Dir, tempFolder, instant) }

// MarkerPath is the path of a marker relative to the base path.
func MarkerPath(instant, partition, fileName string, kind MarkerKind) string {
	return path.Join(markerDir(instant), partition, fileName+markerInfix+string(kind))
}

// WriteMarker makes a marker; one that is there already is fine. It is durable before the data
// file is begun.
func WriteMarker(ctx context.Context, st storage.Storage, instant, partition, fileName string, kind MarkerKind) error {
	if !isTime(instant) {
		return fmt.Errorf("marker of %s: %w", fileName, &TimeError{Text: instant})
	}
	err := st.CreateExclusive(ctx, MarkerPath(instant, partition, fileName, kind), nil)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("marker of %s: %w", path.Join(partition, fileName), err)
	}
	return nil
}

// Markers lists the markers of an instant, sorted by path; none is no error. A data file may have
// markers of several kinds.
func Markers(ctx context.Context, st storage.Storage, instant string) ([]Marker, error) {
	if !isTime(instant) {
		return nil, fmt.Errorf("list markers: %w", &TimeError{Text: instant})
	}
	var out []Marker
	err := walkMarkers(ctx, st, markerDir(instant), "", &out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("markers of %s: %w", instant, err)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Path() != b.Path() {
			return a.Path() < b.Path()
		}
		return a.Kind < b.Kind
	})
	return out, nil
}

func walkMarkers(ctx context.Context, st storage.Storage, root, partition string, out *[]Marker) error {
	entries, err := st.List(ctx, path.Join(root, partition))
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := path.Join(partition, e.Name)
		switch {
		case e.IsDir:
			if err := walkMarkers(ctx, st, root, p, out); err != nil {
				return err
			}
		case partition == "" && strings.HasPrefix(e.Name, markerListPrefix) && e.Name != markerListType:
			b, err := st.ReadFile(ctx, path.Join(root, e.Name))
			if err != nil {
				return err
			}
			for _, line := range strings.Split(string(b), "\n") {
				if m, ok := parseMarker(strings.TrimSpace(line)); ok {
					*out = append(*out, m)
				}
			}
		default:
			if m, ok := parseMarker(p); ok {
				*out = append(*out, m)
			}
		}
	}
	return nil
}

// parseMarker reads a marker's path relative to the folder of its instant.
func parseMarker(p string) (Marker, bool) {
	i := strings.LastIndex(p, markerInfix)
	if i < 0 {
		return Marker{}, false
	}
	kind := MarkerKind(p[i+len(markerInfix):])
	switch kind {
	case MarkerCreate, MarkerMerge, MarkerAppend:
	default:
		return Marker{}, false
	}
	dir, file := path.Split(path.Clean("/" + p[:i])) // the lines of a file could climb out
	if file == "" {
		return Marker{}, false
	}
	return Marker{Partition: strings.Trim(dir, "/"), FileName: file, Kind: kind}, true
}

// DeleteMarkers removes all markers of an instant; none is no error.
func DeleteMarkers(ctx context.Context, st storage.Storage, instant string) error {
	if !isTime(instant) {
		return fmt.Errorf("delete markers: %w", &TimeError{Text: instant})
	}
	if err := st.RemoveAll(ctx, markerDir(instant)); err != nil {
		return fmt.Errorf("delete markers of %s: %w", instant, err)
	}
	return nil
}

// MarkerInstants lists the instants that have a folder of markers, sorted.
func MarkerInstants(ctx context.Context, st storage.Storage) ([]string, error) {
	entries, err := st.List(ctx, path.Join(Dir, tempFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list markers: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir && isTime(e.Name) {
			out = append(out, e.Name)
		}
	}
	return out, nil
}
