package sqltest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewriteScripts = flag.Bool("rewrite", false, "write what the server gives into the scripts, where it differs")

// startServer starts the server that the scripts of this directory are played on and returns its
// data source name; the server may read files below tempDir. It ends with t.
var startServer func(t *testing.T, tempDir string) (dsn string)

// TestScripts plays every script of this directory, as text and prepared. SHOAL_SQLTEST_DSN names a
// server that is running already, to play them on instead.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("*.test")
	if err != nil {
		t.Fatal(err)
	}
	tempDir := t.TempDir()
	dsn := os.Getenv("SHOAL_SQLTEST_DSN")
	switch {
	case dsn != "":
	case startServer == nil:
		t.Skip("no server to play scripts on: set SHOAL_SQLTEST_DSN")
	default:
		dsn = startServer(t, tempDir)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(path, ".test"), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			script, err := Parse(path, f)
			if err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), dsn, script, Options{TempDir: tempDir, Rewrite: *rewriteScripts})
			if report != nil && report.Failed() && !*rewriteScripts {
				t.Error("\n" + failuresOf(t, report))
			}
			if err != nil {
				t.Fatal(err)
			}
			if report.Rewritten != nil {
				if err := os.WriteFile(path, report.Rewritten, 0o644); err != nil {
					t.Fatal(err)
				}
				t.Log("rewritten")
			}
		})
	}
}
