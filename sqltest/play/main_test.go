package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExitCodeOfWhatCannotBePlayed(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.test")
	if err := os.WriteFile(bad, []byte("\nSELECT 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "good.test")
	if err := os.WriteFile(good, []byte("SELECT 1;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string // in what is printed to stderr
	}{
		"no file":    {nil, "usage: play"},
		"absent":     {[]string{bad + ".no"}, "no such file"},
		"malformed":  {[]string{bad}, "bad.test:2: the statement does not end"},
		"mode":       {[]string{"-mode", "x", good}, "is not text, prepared or both"},
		"flag":       {[]string{"-nope", good}, "flag provided but not defined"},
		"no server":  {[]string{"-dsn", "root@tcp(127.0.0.1:1)/", good}, "connection refused"},
		"dsn":        {[]string{"-dsn", "nonsense", good}, "invalid DSN"},
		"the second": {[]string{"-dsn", "root@tcp(127.0.0.1:1)/", good, bad}, "bad.test:2"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := run(t.Context(), tc.args, &stdout, &stderr); code != exitBroken {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(stderr.String(), tc.want) {
				t.Errorf("printed %q", stderr.String())
			}
		})
	}
}
