package timeline

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layout2Table makes a folder with files below .hoodie/timeline.
func layout2Table(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, ".hoodie/timeline", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const manifest2 = `{
  "files" : [ {
    "fileName" : "20240101000000000_20240109000000000_1.parquet",
    "fileLen" : 4096
  }, {
    "fileName" : "20240110000000000_20240119000000000_0.parquet",
    "fileLen" : 512
  } ]
}`

func TestLoadHistory(t *testing.T) {
	whole := []HistoryFile{
		{Name: "20240101000000000_20240109000000000_1.parquet", Size: 4096, Min: "20240101000000000", Max: "20240109000000000", Level: 1},
		{Name: "20240110000000000_20240119000000000_0.parquet", Size: 512, Min: "20240110000000000", Max: "20240119000000000"},
	}
	cases := []struct {
		name  string
		files map[string]string
		want  History
		err   string
	}{
		{"never archived", map[string]string{"history/.keep": ""}, History{}, ""},
		{"no folder", map[string]string{".keep": ""}, History{}, ""},
		{"version file", map[string]string{"history/_version_": "2", "history/manifest_2": manifest2, "history/manifest_3": "not read"}, History{2, whole}, ""},
		{"no version file", map[string]string{"history/manifest_1": "", "history/manifest_2": manifest2, "history/manifest_x": ""}, History{2, whole}, ""},
		{"torn version file", map[string]string{"history/_version_": "", "history/manifest_2": manifest2}, History{2, whole}, ""},
		{"empty manifest", map[string]string{"history/_version_": "1", "history/manifest_1": ""}, History{Version: 1}, ""},
		{"missing manifest", map[string]string{"history/_version_": "4"}, History{}, "manifest_4"},
		{"torn manifest", map[string]string{"history/_version_": "1", "history/manifest_1": manifest2[:40]}, History{}, "manifest_1: manifest:"},
		{"strange file", map[string]string{"history/manifest_1": `{"files":[{"fileName":"../x.parquet"}]}`}, History{}, `"../x.parquet" is no file`},
	}
	for _, c := range cases {
		got, err := LoadHistory(context.Background(), open(t, layout2Table(t, c.files)), &TableConfig{LayoutVersion: 2})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(&c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if last := got.Last(); len(c.want.Files) > 0 && last != "20240119000000000" || len(c.want.Files) == 0 && last != "" {
			t.Errorf("%s: last %q", c.name, last)
		}
	}
	if h, err := LoadHistory(context.Background(), open(t, t.TempDir()), &TableConfig{Version: 6}); err != nil || h.Version != 0 {
		t.Errorf("layout 1: %+v %v", h, err)
	}
}

func FuzzDecodeHistoryManifest(f *testing.F) {
	f.Add([]byte(manifest2))
	f.Add([]byte(`{"files":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := DecodeHistoryManifest(data)
		if err != nil {
			return
		}
		for _, h := range files {
			if h.Name != filepath.Base(h.Name) || h.Min > h.Max || h.Level < 0 {
				t.Errorf("%+v", h)
			}
		}
	})
}
