package ingest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.csv", "a.csv", "c.parquet", "_SUCCESS", ".a.csv.crc", "x[1].csv", "sub/d.csv"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"a.csv":     {"a.csv"},
		"*.csv":     {"a.csv", "b.csv", "x[1].csv"},
		"?.*":       {"a.csv", "b.csv", "c.parquet"},
		"x[1].csv":  {"x[1].csv"},
		".":         {"a.csv", "b.csv", "c.parquet", "x[1].csv"},
		"s*/*":      {"sub/d.csv"},
		"[ab].csv":  {"a.csv", "b.csv"},
		"_SUCCESS":  {"_SUCCESS"},
		"*.parquet": {"c.parquet"},
	} {
		got, err := Expand(filepath.Join(dir, pattern))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], dir+"/")
		}
		diff(t, pattern, got, want)
	}
	for _, pattern := range []string{"none.csv", "*.orc", "s*", "sub/e*"} {
		if got, err := Expand(filepath.Join(dir, pattern)); !errors.Is(err, ErrNoFiles) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", pattern, got, err)
		}
	}
	if _, err := Expand(filepath.Join(dir, "[")); !errors.Is(err, ErrOption) {
		t.Errorf("a bad pattern: %v", err)
	}
}
