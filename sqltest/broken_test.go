package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// makeTable makes a Hudi table of two commits, of one row each, and returns its base path.
func makeTable(t *testing.T, dir, name string) string {
	t.Helper()
	ctx := context.Background()
	w, err := engine.OpenWarehouse(ctx, engine.Options{Root: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, ok := w.HasDatabase("made"); !ok {
		if err := w.CreateDatabase(ctx, "made"); err != nil {
			t.Fatal(err)
		}
	}
	tab, err := w.CreateTable(ctx, "made", name, engine.TableSpec{RecordKey: []string{"id"},
		Schema: &column.Schema{Fields: []column.Field{{Name: "id", Type: column.Type{Kind: column.Int64}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		wr, err := tab.BeginInsert(ctx, engine.InsertOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b := column.NewBuilder(column.Type{Kind: column.Int64}, 1)
		b.AppendInt64(int64(i))
		if err := wr.Insert(ctx, &column.Batch{Schema: wr.Schema(), Cols: []*column.Vector{b.Finish()}, Len: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := wr.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return tab.BasePath()
}

// one returns the first file below a table's folder whose name ends so.
func one(t *testing.T, base, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(base, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in %s", pattern, base)
	}
	return files[0]
}

// TestBrokenTablesOverTheWire breaks tables in the ways that disks and other programs do. Each says
// what is wrong with which file; the server and the other tables go on.
func TestBrokenTablesOverTheWire(t *testing.T) {
	db, dir := realServer(t)
	mustExec(t, db, "CREATE TABLE good (id INT)")
	mustExec(t, db, "INSERT INTO good VALUES (1)")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		harm func(base string)
		want string // part of the error
	}{
		"no_properties":     {func(b string) { os.Remove(filepath.Join(b, ".hoodie", "hoodie.properties")) }, "hoodie.properties"},
		"broken_properties": {func(b string) { write(filepath.Join(b, ".hoodie", "hoodie.properties"), "hoodie.table.version=six\n") }, "hoodie.properties"},
		"version_8": {func(b string) {
			write(filepath.Join(b, ".hoodie", "hoodie.properties"), "hoodie.table.name=x\nhoodie.table.version=8\nhoodie.timeline.layout.version=2\n")
		}, "table version 8"},
		"truncated_file": {func(b string) {
			if err := os.Truncate(one(t, b, "*.parquet"), 100); err != nil {
				t.Fatal(err)
			}
		}, ".parquet"},
		"empty_file": {func(b string) { write(one(t, b, "*.parquet"), "") }, ".parquet"},
		"garbage_file": {func(b string) {
			f := one(t, b, "*.parquet")
			st, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			write(f, strings.Repeat("x", int(st.Size())))
		}, ".parquet"},
		"missing_file":   {func(b string) { os.Remove(one(t, b, "*.parquet")) }, ""},
		"garbage_commit": {func(b string) { write(one(t, b, ".hoodie/*.commit"), "not json") }, ".commit"},
		"garbage_plan": {func(b string) {
			write(filepath.Join(b, ".hoodie", "20990101000000000.replacecommit.requested"), "not avro")
		}, "20990101000000000"},
		"stray_files": {func(b string) {
			write(filepath.Join(b, ".hoodie", "what.is.this"), "?")
			write(filepath.Join(b, "note.txt"), "?")
		}, "-"},
		"uncommitted":     {func(b string) { write(filepath.Join(b, "0af0-0_0-0-0_20990101000000000.parquet"), "half") }, "-"},
		"pending_foreign": {func(b string) { write(filepath.Join(b, ".hoodie", "20990101000000000.commit.requested"), "") }, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			base := makeTable(t, dir, name)
			c.harm(base)
			_, err := db.Exec("CALL attach_table(table => ?, path => ?)", name, base)
			if err == nil {
				_, err = collect(db, "SELECT id FROM "+name)
			}
			switch {
			case c.want == "-":
				rows, qerr := collect(db, "SELECT id FROM "+name)
				if err != nil || qerr != nil || len(rows) != 2 {
					t.Errorf("rows %v: %v %v", rows, err, qerr)
				}
			case c.want == "" && err == nil: // the listing no longer has the file
			default:
				var me *mysql.MySQLError
				if !errors.As(err, &me) || !strings.Contains(me.Message, c.want) || me.Number == 1105 {
					t.Errorf("got %v", err)
				}
			}
			if rows, err := collect(db, "SELECT id FROM good"); err != nil || len(rows) != 1 {
				t.Errorf("the other table: %v %v", rows, err)
			}
			if _, err := collect(db, "SHOW TABLES"); err != nil {
				t.Error(err)
			}
			if _, err := collect(db, "SELECT table_name FROM information_schema.tables"); err != nil {
				t.Error(err)
			}
		})
	}
}

func collect(db *sql.DB, query string) ([]string, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s.String)
	}
	return out, rows.Err()
}
