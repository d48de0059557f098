package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/shoaldb/shoal/layout/storage"
)

// History is the archived timeline of layout 2 as its newest manifest lists it (docs/format.md:
// Layout 2). Which instants were archived is told by the files' names; the files themselves,
// Parquet with the instants' records, are not opened here. Reading a table does not need them:
// what is older than Timeline.FirstCommit was committed.
type History struct {
	Version int // of the manifest; 0: nothing was archived yet
	Files   []HistoryFile
}

// HistoryFile is a file of the archive.
type HistoryFile struct {
	Name     string // in TableConfig.HistoryDir
	Size     int64  // bytes
	Min, Max string // the least and the greatest instant time in it
	Level    int    // how often its instants have been merged into a greater file
}

// Last is the greatest instant time that was archived; "" when there is none.
func (h *History) Last() string {
	last := ""
	for _, f := range h.Files {
		last = max(last, f.Max)
	}
	return last
}

const (
	historyVersion  = "_version_"
	historyManifest = "manifest_"
)

// LoadHistory reads the newest manifest of the archived timeline. It is empty where nothing was
// archived, and for layout 1, which archives otherwise.
func LoadHistory(ctx context.Context, st storage.Storage, c *TableConfig) (*History, error) {
	if layout, err := c.Layout(); err != nil || layout == Layout1 {
		return &History{}, err
	}
	dir, err := c.HistoryDir()
	if err != nil {
		return nil, err
	}
	version, err := newestHistory(ctx, st, dir)
	if err != nil {
		return nil, fmt.Errorf("archived timeline: %w", err)
	}
	if version == 0 {
		return &History{}, nil
	}
	file := path.Join(dir, historyManifest+strconv.Itoa(version))
	data, err := st.ReadFile(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("archived timeline: %w", err)
	}
	files, err := DecodeHistoryManifest(data)
	if err != nil {
		return nil, fmt.Errorf("archived timeline: %s: %w", file, err)
	}
	return &History{Version: version, Files: files}, nil
}

// newestHistory is the version that the version file names, or where that is missing or not
// whole, the greatest that has a manifest; 0 when there is none.
func newestHistory(ctx context.Context, st storage.Storage, dir string) (int, error) {
	data, err := st.ReadFile(ctx, path.Join(dir, historyVersion))
	if err == nil {
		if v, ok := wholeNumber(strings.TrimSpace(string(data))); ok {
			return v, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	names, err := fileNames(ctx, st, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	newest := 0
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, historyManifest); ok {
			if v, ok := wholeNumber(rest); ok {
				newest = max(newest, v)
			}
		}
	}
	return newest, nil
}

func wholeNumber(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// DecodeHistoryManifest reads a manifest of the archived timeline. An empty one lists no files.
func DecodeHistoryManifest(data []byte) ([]HistoryFile, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var manifest struct {
		Files []struct {
			FileName string
			FileLen  int64
		}
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	files := make([]HistoryFile, 0, len(manifest.Files))
	for _, m := range manifest.Files {
		f, ok := parseHistoryName(m.FileName)
		if !ok {
			return nil, fmt.Errorf("manifest: %q is no file of the archive: want <first>_<last>_<level>.parquet", m.FileName)
		}
		f.Size = m.FileLen
		files = append(files, f)
	}
	return files, nil
}

func parseHistoryName(name string) (HistoryFile, bool) {
	base, ok := strings.CutSuffix(name, ".parquet")
	parts := strings.Split(base, "_")
	if !ok || len(parts) != 3 || !isTime(parts[0]) || !isTime(parts[1]) || parts[0] > parts[1] {
		return HistoryFile{}, false
	}
	level, ok := wholeNumber(parts[2])
	return HistoryFile{Name: name, Min: parts[0], Max: parts[1], Level: level}, ok
}
