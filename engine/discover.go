package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/shoaldb/shoal/layout/storage"
)

// hoodieDir marks a folder as a Hudi table.
const hoodieDir = ".hoodie"

// attachedFile records, in the warehouse itself, the tables that lie elsewhere, so that losing
// the catalog does not lose them.
const attachedFile = privateDir + "/attached.json"

// discover registers databases and tables from the folders and from attachedFile, and drops
// from the catalog what is gone. The catalog is only written to, never asked.
func (w *Warehouse) discover(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	entries, err := os.ReadDir(w.root)
	if err != nil {
		return fmt.Errorf("warehouse: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		dir := filepath.Join(w.root, e.Name())
		if isTableDir(dir) {
			d := w.addDatabase(DefaultDatabase, w.root)
			if err := w.discoverTable(ctx, d, e.Name(), dir); err != nil {
				return err
			}
			continue
		}
		d := w.addDatabase(e.Name(), dir)
		if err := w.discoverTables(ctx, d, dir, "", 1); err != nil {
			return err
		}
	}
	attached, err := w.readAttached()
	if err != nil {
		return err
	}
	for _, db := range sortedKeys(attached) {
		d := w.addDatabase(db, "")
		for _, name := range sortedKeys(attached[db]) {
			if _, err := w.addTable(ctx, d, name, attached[db][name], true); err != nil {
				return err
			}
		}
	}
	known, err := w.cat.Tables(ctx)
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	for _, t := range known {
		d := w.databases[strings.ToLower(t.Database)]
		if d == nil || d.tables[strings.ToLower(t.Name)] == nil {
			if err := w.cat.DropTable(ctx, t.ID); err != nil {
				return fmt.Errorf("catalog: %w", err)
			}
		}
	}
	for _, d := range w.databases {
		if err := w.cat.PutDatabase(ctx, d.name); err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
	}
	return nil
}

// discoverTables walks the folders of a database. A table's own folders are not searched.
func (w *Warehouse) discoverTables(ctx context.Context, d *database, dir, rel string, depth int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		// A folder that cannot be read hides its tables, no others.
		w.log.Warn("folder of the warehouse cannot be read", "path", dir, "error", err)
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		sub, subRel := filepath.Join(dir, e.Name()), joinPath(rel, e.Name())
		if isTableDir(sub) {
			if err := w.discoverTable(ctx, d, subRel, sub); err != nil {
				return err
			}
		} else if depth < maxDiscoveryDepth {
			if err := w.discoverTables(ctx, d, sub, subRel, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// discoverTable registers a table under its folder's name, or, when that is taken by a table in
// another folder of the database, under its whole relative path with underscores.
func (w *Warehouse) discoverTable(ctx context.Context, d *database, rel, path string) error {
	name := filepath.Base(path)
	if d.tables[strings.ToLower(name)] != nil {
		name = strings.ReplaceAll(rel, "/", "_")
	}
	if other := d.tables[strings.ToLower(name)]; other != nil {
		w.log.Warn("two tables of one name; the second is not served", "name", d.name+"."+name,
			"served", other.path, "skipped", path)
		return nil
	}
	_, err := w.addTable(ctx, d, name, path, false)
	return err
}

// readAttached returns base paths by database and table name.
func (w *Warehouse) readAttached() (map[string]map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(w.root, attachedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]map[string]string{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("attached tables: %w", err)
	}
	out := map[string]map[string]string{}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("attached tables: %s: %w", filepath.Join(w.root, attachedFile), err)
	}
	return out, nil
}

// updateAttached changes attachedFile under its lock. Callers hold mu.
func (w *Warehouse) updateAttached(ctx context.Context, change func(map[string]map[string]string)) error {
	st, err := storage.NewLocal(w.root)
	if err != nil {
		return err
	}
	unlock, err := st.Lock(ctx, attachedFile+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	m, err := w.readAttached()
	if err != nil {
		return err
	}
	change(m)
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return st.Replace(ctx, attachedFile, append(data, '\n'))
}

// AttachTable serves a Hudi table that lies outside the warehouse's folders under db.name. The
// path must be allowed (ResolvePath) and hold a readable table.
func (w *Warehouse) AttachTable(ctx context.Context, db, name, path string) (*Table, error) {
	if err := checkName("table", name); err != nil {
		return nil, err
	}
	abs, err := w.ResolvePath(path)
	if err != nil {
		return nil, err
	}
	if !isTableDir(abs) {
		return nil, &NameError{Kind: ErrNoSuchTable, Name: abs, Hint: "there is no .hoodie folder, so it is not a Hudi table"}
	}
	w.mu.Lock()
	d := w.lookupDatabase(db)
	if d == nil {
		w.mu.Unlock()
		return nil, &NameError{Kind: ErrNoSuchDatabase, Name: db}
	}
	if d.tables[strings.ToLower(name)] != nil {
		w.mu.Unlock()
		return nil, &NameError{Kind: ErrTableExists, Name: d.name + "." + name}
	}
	e, err := w.addTable(ctx, d, name, abs, true)
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t, err := w.Table(ctx, d.name, name)
	if err != nil {
		w.forget(ctx, e)
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.updateAttached(ctx, func(m map[string]map[string]string) {
		if m[d.name] == nil {
			m[d.name] = map[string]string{}
		}
		m[d.name][name] = abs
	}); err != nil {
		return nil, fmt.Errorf("attach %s.%s: %w", d.name, name, err)
	}
	return t, nil
}

// DetachTable stops serving an attached table; its files stay.
func (w *Warehouse) DetachTable(ctx context.Context, db, name string) error {
	e, err := w.entry(ctx, db, name)
	if err != nil {
		return err
	}
	if !e.attached {
		return &UnsupportedError{What: "detaching " + e.database + "." + e.name,
			Why: "it lies in the warehouse folder", Hint: "use DROP TABLE to delete it"}
	}
	w.forget(ctx, e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.updateAttached(ctx, func(m map[string]map[string]string) { delete(m[e.database], e.name) }); err != nil {
		return fmt.Errorf("detach %s.%s: %w", e.database, e.name, err)
	}
	return nil
}
