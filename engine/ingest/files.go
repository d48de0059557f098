package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/storage"
)

// Expand lists the files that a path means, sorted: the file itself, the files of a directory, or
// those that match a pattern of path/filepath.Match. Directories among the matches, and files of a
// directory whose name begins with a dot or an underscore, are passed over. ErrNoFiles, which
// wraps fs.ErrNotExist, if there are none.
func Expand(pattern string) ([]string, error) {
	info, err := os.Stat(pattern)
	var candidates []string
	switch {
	case err == nil && info.IsDir():
		entries, err := os.ReadDir(pattern)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), "_") {
				candidates = append(candidates, filepath.Join(pattern, e.Name()))
			}
		}
	case err == nil: // also for a name with characters that would be a pattern
		candidates = []string{pattern}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	default:
		if candidates, err = filepath.Glob(pattern); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrOption, pattern, err)
		}
	}
	var files []string
	for _, c := range candidates {
		info, err := os.Stat(c)
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			files = append(files, c)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w %s: %w", ErrNoFiles, pattern, fs.ErrNotExist)
	}
	slices.Sort(files)
	return files, nil
}

// localFile is a file of the local disk.
type localFile struct {
	*os.File
	bytes int64
}

func (f localFile) Size() int64 { return f.bytes }

func openLocal(_ context.Context, path string) (storage.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close() // err tells more
		return nil, err
	}
	return localFile{f, info.Size()}, nil
}

// reader reads one file as batches of the table's schema.
type reader interface {
	// next returns the next batch, of at least one row; io.EOF after the last.
	next(ctx context.Context) (*column.Batch, error)
	size() int64  // of the file
	bytes() int64 // read so far
	Close() error
}

// openReader opens a file, finds out its format and checks its columns.
func openReader(ctx context.Context, path string, schema *column.Schema, o *Options) (reader, error) {
	f, err := o.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	format, err := formatOf(f, path, o.Format)
	var r reader
	if err == nil {
		if format == Parquet {
			r, err = openParquet(f, path, schema, o)
		} else {
			r, err = openCSV(f, path, schema, o)
		}
	}
	if err != nil {
		_ = f.Close() // err tells more
		return nil, err
	}
	return r, nil
}

// formatOf tells the format by the first bytes, and where they do not say, by the name: a file
// named .parquet that is none then fails as a Parquet file.
func formatOf(f storage.File, path string, asked Format) (Format, error) {
	if asked != Auto {
		return asked, nil
	}
	magic := make([]byte, 4)
	n, err := f.ReadAt(magic, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Auto, fmt.Errorf("%s: %w", path, err)
	}
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case bytes.Equal(magic[:n], []byte("PAR1")), bytes.Equal(magic[:n], []byte("PARE")),
		ext == ".parquet", ext == ".parq", ext == ".pq":
		return Parquet, nil
	}
	return CSV, nil
}
