package catalog

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReopenKeepsEverything(t *testing.T) {
	// The characters that mean something in sqlite's URIs are part of the path.
	path := filepath.Join(t.TempDir(), "a dir?with#all%20 of+it&x=1", "catalog.db")
	c, err := Open(path)
	check(t, err)
	id := putTable(t, c, "t")
	check(t, c.ReplaceState(t.Context(), id, &State{Fingerprint: "f", Partitions: []string{"p"}}))
	check(t, c.Close())
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	c = openAt(t, path)
	if c.MovedAside() != "" {
		t.Errorf("a good file was moved to %s", c.MovedAside())
	}
	s, err := c.LoadState(t.Context(), id)
	check(t, err)
	diff(t, "state", s, &State{Fingerprint: "f", Partitions: []string{"p"}})
}

func TestAnEmptyFileBecomesACatalog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	check(t, os.WriteFile(path, nil, 0o600))
	c := openAt(t, path)
	if c.MovedAside() != "" {
		t.Errorf("moved to %s", c.MovedAside())
	}
	putTable(t, c, "t")
	var version, application, keys int
	var mode string
	check(t, c.write.QueryRow("PRAGMA user_version").Scan(&version))
	check(t, c.write.QueryRow("PRAGMA application_id").Scan(&application))
	check(t, c.write.QueryRow("PRAGMA foreign_keys").Scan(&keys))
	check(t, c.write.QueryRow("PRAGMA journal_mode").Scan(&mode))
	if version != len(migrations) || application != applicationID || keys != 1 || mode != "wal" {
		t.Errorf("version %d, application %#x, foreign keys %d, journal %s", version, application, keys, mode)
	}
}

func TestUnusableFilesAreMovedAside(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	c, err := Open(good)
	check(t, err)
	putTable(t, c, "t")
	check(t, c.Close())
	image, err := os.ReadFile(good)
	check(t, err)
	brokenSchema := append([]byte(nil), image...)
	for i := 100; i < 4096; i++ { // the first page after the header holds the schema
		brokenSchema[i] = 0xff
	}
	for name, content := range map[string][]byte{
		"text":   []byte(strings.Repeat("this is not a database\n", 1000)),
		"short":  []byte("xy"),
		"schema": brokenSchema,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "catalog.db")
			for n := 1; n <= 2; n++ {
				check(t, os.WriteFile(path, content, 0o600))
				check(t, os.WriteFile(path+"-wal", []byte("stale"), 0o600))
				c, err := Open(path)
				check(t, err)
				want := fmt.Sprintf("%s.corrupt-%d", path, n)
				if c.MovedAside() != want {
					t.Errorf("moved to %q, want %q", c.MovedAside(), want)
				}
				kept, err := os.ReadFile(want)
				check(t, err)
				if string(kept) != string(content) {
					t.Error("the moved file has changed")
				}
				if dbs, err := c.Databases(t.Context()); len(dbs) != 0 || err != nil {
					t.Errorf("the new catalog has %v, %v", dbs, err)
				}
				putTable(t, c, "t")
				check(t, c.Close())
				check(t, os.Remove(path))
			}
		})
	}
}

func TestFilesOfOthersAreRefusedAndLeftAlone(t *testing.T) {
	make := func(t *testing.T, script string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "catalog.db")
		db, err := sql.Open("sqlite3", path)
		check(t, err)
		_, err = db.Exec(script)
		check(t, err)
		check(t, db.Close())
		return path
	}
	later := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; CREATE TABLE future (x)", applicationID, len(migrations)+1)
	for name, tc := range map[string]struct {
		script string
		want   error
	}{
		"newer":               {later, ErrNewer},
		"tables of others":    {"CREATE TABLE customers (id)", ErrForeign},
		"versioned by others": {"PRAGMA user_version = 1", ErrForeign},
		"marked by others":    {"PRAGMA application_id = 7", ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			path := make(t, tc.script)
			before, err := os.ReadFile(path)
			check(t, err)
			if _, err := Open(path); !errors.Is(err, tc.want) || !strings.Contains(err.Error(), path) {
				t.Fatalf("got %v, want %v naming the file", err, tc.want)
			}
			after, err := os.ReadFile(path)
			check(t, err)
			if string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
	var ve *VersionError
	if _, err := Open(make(t, later)); !errors.As(err, &ve) || ve.Found != len(migrations)+1 || ve.Known != len(migrations) {
		t.Errorf("got %v", err)
	}
}

func TestDamageFoundInUse(t *testing.T) {
	c := openTest(t)
	id := putTable(t, c, "t")
	err := c.view(t.Context(), "look", func(*tx) error { return sqliteError(t, "CREATE TABLE x (") })
	if err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("an ordinary error: %v", err)
	}
	path := filepath.Join(t.TempDir(), "text")
	check(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	defer db.Close()
	_, damage := db.Exec("SELECT * FROM sqlite_schema")
	if err := c.fail(fmt.Sprint("look at table ", id), damage); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damage: %v", err)
	}
}

func sqliteError(t *testing.T, query string) error {
	t.Helper()
	db, err := sql.Open("sqlite3", ":memory:")
	check(t, err)
	defer db.Close()
	_, err = db.Exec(query)
	return err
}
