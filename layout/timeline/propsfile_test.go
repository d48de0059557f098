package timeline

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/layout/storage"
)

func fresh() *Properties { return NewProperties(KeyDatabase, "db", KeyName, "t", KeyVersion, "6") }

// tableAt makes a table's properties in memory.
func tableAt(t *testing.T) *storage.Mem {
	t.Helper()
	m := storage.NewMem()
	if err := CreateProperties(bg, m, fresh()); err != nil {
		t.Fatal(err)
	}
	return m
}

func put(t *testing.T, st storage.Storage, path, text string) {
	t.Helper()
	if err := st.Replace(bg, path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, st storage.Storage, path string) bool {
	t.Helper()
	ok, err := exists(bg, st, path)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func value(t *testing.T, st storage.Storage, key string) string {
	t.Helper()
	p, err := ReadProperties(bg, st)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := p.Get(key)
	return v
}

func TestCreateProperties(t *testing.T) {
	m := tableAt(t)
	b, err := m.ReadFile(bg, propertiesPath)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	// The checksum was computed with another program: crc32 of "db.t".
	if len(lines) != 7 || !strings.HasPrefix(lines[0], "#Properties saved on 2") || !strings.HasPrefix(lines[1], "#") ||
		lines[2] != "hoodie.database.name=db" || lines[5] != "hoodie.table.checksum=2184977423" {
		t.Errorf("%q", lines)
	}
	if err := CreateProperties(bg, m, fresh()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	if err := CreateProperties(bg, storage.NewMem(), NewProperties(KeyVersion, "6")); err == nil {
		t.Error("created without a name")
	}
}

func TestReadPropertiesFallsBackToTheBackup(t *testing.T) {
	backup := "hoodie.table.name=t\nfrom=backup\n"
	for _, c := range []struct {
		claim, main string // "": absent
	}{
		{"missing", ""},
		{"cut short", "hoodie.database.name=db\n"},
		{"wrong checksum", "hoodie.table.name=t\nhoodie.table.checksum=1\n"},
		{"malformed", "hoodie.table.name=t\nx=\\u12\n"},
	} {
		m := storage.NewMem()
		if c.main != "" {
			put(t, m, propertiesPath, c.main)
		}
		put(t, m, backupPath, backup)
		if got := value(t, m, "from"); got != "backup" {
			t.Errorf("%s: read from %q", c.claim, got)
		}
	}
	m := storage.NewMem()
	put(t, m, propertiesPath, "hoodie.table.name=t\nfrom=main\n")
	put(t, m, backupPath, backup)
	if got := value(t, m, "from"); got != "main" {
		t.Errorf("a whole file lost to its backup: %q", got)
	}
}

func TestReadPropertiesErrors(t *testing.T) {
	if _, err := ReadProperties(bg, storage.NewMem()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no table: %v", err)
	}
	m := storage.NewMem()
	put(t, m, propertiesPath, "hoodie.table.name=t\nhoodie.table.checksum=1\n")
	if _, err := ReadProperties(bg, m); !errors.Is(err, ErrChecksum) || !strings.Contains(err.Error(), propertiesPath) {
		t.Errorf("wrong checksum: %v", err)
	}
}

func TestWriteProperties(t *testing.T) {
	m := tableAt(t)
	put(t, m, ".hoodie/.hoodie.properties.crc", "stale soon")
	p := NewProperties(KeyName, "renamed", KeyDatabase, "db", "new", "1")
	if err := WriteProperties(bg, m, p); err != nil {
		t.Fatal(err)
	}
	// crc32 of "db.renamed", by another program.
	if got := value(t, m, KeyChecksum); got != "836989259" {
		t.Errorf("checksum %s", got)
	}
	if value(t, m, "new") != "1" || value(t, m, KeyVersion) != "" {
		t.Error("the properties were not replaced")
	}
	if _, ok := p.Get(KeyChecksum); ok {
		t.Error("the argument was changed")
	}
	if has(t, m, backupPath) || has(t, m, ".hoodie/.hoodie.properties.crc") {
		t.Error("a backup or a stale checksum file is left")
	}
}

func TestUpdatePropertiesErrorChangesNothing(t *testing.T) {
	m := tableAt(t)
	stop := errors.New("stop")
	err := UpdateProperties(bg, m, func(p *Properties) error { p.Set("x", "1"); return stop })
	if !errors.Is(err, stop) || value(t, m, "x") != "" || has(t, m, backupPath) {
		t.Errorf("%v", err)
	}
	if err := UpdateProperties(bg, m, func(p *Properties) error { p.Delete(KeyName); return nil }); err == nil {
		t.Error("a table lost its name")
	}
	if err := UpdateProperties(bg, storage.NewMem(), func(*Properties) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no table: %v", err)
	}
}

// An update is broken before and after each of its calls. Readers see the old or the new
// properties at once, and the next update works.
func TestUpdatePropertiesSurvivesCrashes(t *testing.T) {
	update := func(st storage.Storage, v string) error {
		return UpdateProperties(bg, st, func(p *Properties) error { p.Set("v", v); return nil })
	}
	setup := func() *storage.Mem {
		m := tableAt(t)
		if err := update(m, "old"); err != nil {
			t.Fatal(err)
		}
		put(t, m, ".hoodie/.hoodie.properties.crc", "x")
		return m
	}
	clean := storage.NewFaulty(setup())
	if err := update(clean, "new"); err != nil {
		t.Fatal(err)
	}
	n := len(clean.Calls())
	if n < 7 {
		t.Fatalf("only %d calls", n)
	}
	seen := map[string]bool{}
	for i := 1; i <= n; i++ {
		for _, after := range []bool{false, true} {
			for _, do := range []storage.Effect{storage.Crash, storage.Fail} {
				m := setup()
				f := storage.NewFaulty(m, storage.Rule{N: i, After: after, Do: do})
				where := fmt.Sprintf("call %d of %d (%v), after %v, effect %d", i, n, clean.Calls()[i-1], after, do)
				update(f, "new")
				got := value(t, m, "v")
				if got != "old" && got != "new" {
					t.Errorf("%s: read %q", where, got)
				}
				seen[got] = true
				if err := update(m, "next"); err != nil {
					t.Errorf("%s: next update: %v", where, err)
					continue
				}
				if value(t, m, "v") != "next" || has(t, m, backupPath) {
					t.Errorf("%s: not recovered", where)
				}
			}
		}
	}
	if !seen["old"] || !seen["new"] {
		t.Errorf("seen %v", seen)
	}
}

// Hudi deletes the file before it makes the new one. We may find any moment of that.
func TestRecoverPropertiesAfterHudi(t *testing.T) {
	old, next := "hoodie.table.name=t\nv=old\n", "hoodie.table.name=t\nv=new\n"
	for _, c := range []struct{ claim, main, backup, want string }{
		{"backup made", old, old, "old"},
		{"backup half made", old, "hoodie.tab", "old"},
		{"file deleted", "", old, "old"},
		{"file half made", "hoodie.tabl", old, "old"},
		{"file made", next, old, "new"},
		{"no update", next, "", "new"},
	} {
		m := storage.NewMem()
		if c.main != "" {
			put(t, m, propertiesPath, c.main)
		}
		if c.backup != "" {
			put(t, m, backupPath, c.backup)
			put(t, m, ".hoodie/.hoodie.properties.backup.crc", "x")
		}
		if err := RecoverProperties(bg, m); err != nil {
			t.Errorf("%s: %v", c.claim, err)
			continue
		}
		if got := value(t, m, "v"); got != c.want || has(t, m, backupPath) || has(t, m, ".hoodie/.hoodie.properties.backup.crc") {
			t.Errorf("%s: %q", c.claim, got)
		}
	}
	m := storage.NewMem()
	put(t, m, backupPath, "x=1\n")
	if err := RecoverProperties(bg, m); err == nil || !has(t, m, backupPath) {
		t.Errorf("the last trace of a table was removed: %v", err)
	}
}
