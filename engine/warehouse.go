package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/layout/storage"
)

// DefaultDatabase serves the tables that lie directly in the warehouse folder.
const DefaultDatabase = "default"

// privateDir holds what ShoalDB keeps beside the tables; it is never a database.
const privateDir = ".shoal"

// maxDiscoveryDepth bounds how many folders below the warehouse are searched for tables.
const maxDiscoveryDepth = 6

// Options open a Warehouse.
type Options struct {
	// Root is the warehouse folder; it must exist.
	Root string
	// CatalogPath is the sqlite file; "" means <Root>/.shoal/catalog.db.
	CatalogPath string
	// AllowPaths are folders outside Root from which users may attach tables and load files.
	// "/" allows every path.
	AllowPaths []string
	// Logger receives events; nil means slog.Default.
	Logger *slog.Logger
	// Config is the server layer of hoodie.* and shoal.* keys.
	Config map[string]string
	// MemoryBytes bounds what one write buffers; 0 means 256 MiB.
	MemoryBytes int64
	// OpenStorage opens the files below a table's base path; nil means the local disk. Tests
	// inject faults through it.
	OpenStorage func(basePath string) (storage.Storage, error)
}

// Warehouse owns the databases and tables below one folder. It is safe for concurrent use.
type Warehouse struct {
	root    string // absolute, symbolic links resolved
	allowed []string
	log     *slog.Logger
	config  map[string]string
	memory  int64
	cat     *catalog.Catalog

	newStorage func(basePath string) (storage.Storage, error)

	mu        sync.Mutex           // guards what follows
	databases map[string]*database // by lower-case name
}

type database struct {
	name   string
	dir    string                 // absolute folder; "" for a database that only holds attached tables
	tables map[string]*tableEntry // by lower-case name
}

// tableEntry is a known table; it is opened at first use and after every failed opening.
type tableEntry struct {
	database, name string
	path           string // absolute base path
	attached       bool

	mu    sync.Mutex // guards table
	table *Table
}

// OpenWarehouse opens the catalog and finds every Hudi table below the root, whoever wrote it.
// A table that cannot be read is kept and reports its error when used.
func OpenWarehouse(ctx context.Context, o Options) (*Warehouse, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("warehouse %s: %w", o.Root, err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, fmt.Errorf("warehouse %s: %w", o.Root, err)
	}
	if st, err := os.Stat(root); err != nil {
		return nil, fmt.Errorf("warehouse: %w", err)
	} else if !st.IsDir() {
		return nil, fmt.Errorf("warehouse %s is not a folder", root)
	}
	w := &Warehouse{root: root, log: o.Logger, config: o.Config, memory: o.MemoryBytes,
		newStorage: o.OpenStorage, databases: map[string]*database{}}
	if w.newStorage == nil {
		w.newStorage = func(path string) (storage.Storage, error) { return storage.NewLocal(path) }
	}
	if w.log == nil {
		w.log = slog.Default()
	}
	if w.memory <= 0 {
		w.memory = 256 << 20
	}
	for _, p := range o.AllowPaths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("allowed path %s: %w", p, err)
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		w.allowed = append(w.allowed, abs)
	}
	catPath := o.CatalogPath
	if catPath == "" {
		catPath = filepath.Join(root, privateDir, "catalog.db")
	}
	if err := os.MkdirAll(filepath.Dir(catPath), 0o755); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	if w.cat, err = catalog.Open(catPath); err != nil {
		return nil, fmt.Errorf("catalog %s: %w", catPath, err)
	}
	if err := w.discover(ctx); err != nil {
		w.cat.Close()
		return nil, err
	}
	return w, nil
}

// Close releases the catalog. Tables must not be used afterwards.
func (w *Warehouse) Close() error { return w.cat.Close() }

// Root is the absolute warehouse folder.
func (w *Warehouse) Root() string { return w.root }

// Logger is where the warehouse's events go.
func (w *Warehouse) Logger() *slog.Logger { return w.log }

// Config is the server layer of the configuration.
func (w *Warehouse) Config() Config { return NewConfig(w.config) }

// MemoryBytes is the budget of one write or clustering.
func (w *Warehouse) MemoryBytes() int64 { return w.memory }

// Databases lists the database names, sorted.
func (w *Warehouse) Databases() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make([]string, 0, len(w.databases))
	for _, d := range w.databases {
		names = append(names, d.name)
	}
	sort.Strings(names)
	return names
}

// HasDatabase reports whether the database exists, without regard to case.
func (w *Warehouse) HasDatabase(name string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.lookupDatabase(name)
	if d == nil {
		return "", false
	}
	return d.name, true
}

// lookupDatabase finds a database and notices a folder made since the start. Callers hold mu.
func (w *Warehouse) lookupDatabase(name string) *database {
	if d := w.databases[strings.ToLower(name)]; d != nil {
		return d
	}
	if checkName("database", name) != nil {
		return nil
	}
	dir := filepath.Join(w.root, name)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() || isTableDir(dir) {
		return nil
	}
	return w.addDatabase(name, dir)
}

func (w *Warehouse) addDatabase(name, dir string) *database {
	d := w.databases[strings.ToLower(name)]
	if d == nil {
		d = &database{name: name, tables: map[string]*tableEntry{}}
		w.databases[strings.ToLower(name)] = d
	}
	if d.dir == "" {
		d.dir = dir
	}
	return d
}

// CreateDatabase makes a folder of the warehouse.
func (w *Warehouse) CreateDatabase(ctx context.Context, name string) error {
	if err := checkName("database", name); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lookupDatabase(name) != nil {
		return &NameError{Kind: ErrDatabaseExists, Name: name}
	}
	dir := filepath.Join(w.root, name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	if err := w.cat.PutDatabase(ctx, name); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	w.addDatabase(name, dir)
	return nil
}

// DropDatabase drops every table of a database and its folder. Attached tables are only detached.
// A folder that holds anything but tables is kept, with an error that names it.
func (w *Warehouse) DropDatabase(ctx context.Context, name string) error {
	w.mu.Lock()
	d := w.lookupDatabase(name)
	w.mu.Unlock()
	if d == nil {
		return &NameError{Kind: ErrNoSuchDatabase, Name: name}
	}
	tables, err := w.Tables(d.name)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := w.DropTable(ctx, d.name, t); err != nil {
			return err
		}
	}
	if d.dir != "" && d.dir != w.root {
		if err := removeEmptyTree(d.dir); err != nil {
			return fmt.Errorf("drop database %s: its tables are gone, but the folder stays: %w", d.name, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.databases, strings.ToLower(d.name))
	return w.cat.DropDatabase(ctx, d.name)
}

// removeEmptyTree removes a folder and the empty folders in it; a file anywhere is an error.
func removeEmptyTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return fmt.Errorf("%s is not part of a table", filepath.Join(dir, e.Name()))
		}
		if err := removeEmptyTree(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(dir)
}

// Tables lists the table names of a database, sorted, broken ones included.
func (w *Warehouse) Tables(db string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.lookupDatabase(db)
	if d == nil {
		return nil, &NameError{Kind: ErrNoSuchDatabase, Name: db}
	}
	w.lookAgain(d)
	names := make([]string, 0, len(d.tables))
	for _, t := range d.tables {
		if t.attached || isTableDir(t.path) {
			names = append(names, t.name)
		}
	}
	sort.Strings(names)
	return names, nil
}

// lookAgain registers the tables that other processes made directly in a database's folder since
// the start. Callers hold mu.
func (w *Warehouse) lookAgain(d *database) {
	if d.dir == "" {
		return
	}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return // what is known is listed all the same
	}
	for _, e := range entries {
		if !e.IsDir() || d.tables[strings.ToLower(e.Name())] != nil || checkName("table", e.Name()) != nil {
			continue
		}
		if dir := filepath.Join(d.dir, e.Name()); isTableDir(dir) {
			if _, err := w.addTable(context.Background(), d, e.Name(), dir, false); err != nil {
				w.log.Warn("new table not registered", "path", dir, "error", err)
			}
		}
	}
}

// entry finds a table and notices one that another engine made in the database's folder since
// the start.
func (w *Warehouse) entry(ctx context.Context, db, name string) (*tableEntry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.lookupDatabase(db)
	if d == nil {
		return nil, &NameError{Kind: ErrNoSuchDatabase, Name: db}
	}
	if e := d.tables[strings.ToLower(name)]; e != nil {
		return e, nil
	}
	if d.dir != "" && checkName("table", name) == nil {
		if dir := filepath.Join(d.dir, name); isTableDir(dir) {
			return w.addTable(ctx, d, name, dir, false)
		}
	}
	return nil, &NameError{Kind: ErrNoSuchTable, Name: d.name + "." + name}
}

// Table opens a table. The error of a table that cannot be read names what is wrong with it;
// it is looked at again at the next call, so that a repaired table needs no restart.
func (w *Warehouse) Table(ctx context.Context, db, name string) (*Table, error) {
	e, err := w.entry(ctx, db, name)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.table != nil && e.table.sameFolder() {
		return e.table, nil
	}
	e.table = nil // dropped, and perhaps made again, by another process
	if !isTableDir(e.path) {
		if !e.attached {
			w.forget(ctx, e)
			return nil, &NameError{Kind: ErrNoSuchTable, Name: e.database + "." + e.name, Hint: "its folder is gone"}
		}
		return nil, &TableError{Database: e.database, Table: e.name, Op: "open",
			Err: fmt.Errorf("%w: no .hoodie folder in %s", ErrMalformed, e.path)}
	}
	id, err := w.cat.PutTable(ctx, catalog.Table{Database: e.database, Name: e.name, Path: e.path, Attached: e.attached})
	if err != nil {
		return nil, &TableError{Database: e.database, Table: e.name, Op: "open", Err: err}
	}
	t, err := openTable(ctx, w, e, id)
	if err != nil {
		return nil, &TableError{Database: e.database, Table: e.name, Op: "open", Err: err}
	}
	e.table = t
	return t, nil
}

// forget removes a table from the registries, not from storage.
func (w *Warehouse) forget(ctx context.Context, e *tableEntry) {
	w.mu.Lock()
	if d := w.databases[strings.ToLower(e.database)]; d != nil {
		delete(d.tables, strings.ToLower(e.name))
	}
	w.mu.Unlock()
	if err := w.dropFromCatalog(ctx, e); err != nil {
		w.log.Warn("catalog keeps a table that is gone", "table", e.database+"."+e.name, "error", err)
	}
}

func (w *Warehouse) dropFromCatalog(ctx context.Context, e *tableEntry) error {
	tables, err := w.cat.Tables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if strings.EqualFold(t.Database, e.database) && strings.EqualFold(t.Name, e.name) {
			return w.cat.DropTable(ctx, t.ID)
		}
	}
	return nil
}

// DropTable removes a table of the warehouse with all its files; an attached table is only
// detached. Statements that still read it may fail.
func (w *Warehouse) DropTable(ctx context.Context, db, name string) error {
	e, err := w.entry(ctx, db, name)
	if err != nil {
		return err
	}
	if e.attached {
		return w.DetachTable(ctx, db, name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	w.forget(ctx, e)
	e.table = nil
	// The rename makes the drop atomic for everybody who looks by name; removing the files of a
	// large table takes long and may be interrupted.
	trash := filepath.Join(w.root, privateDir, "dropped", uuid.NewString())
	if err := os.MkdirAll(filepath.Dir(trash), 0o755); err != nil {
		return &TableError{Database: e.database, Table: e.name, Op: "drop", Err: err}
	}
	if err := os.Rename(e.path, trash); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &TableError{Database: e.database, Table: e.name, Op: "drop", Err: err}
	}
	if err := os.RemoveAll(trash); err != nil {
		w.log.Warn("files of a dropped table stay behind", "path", trash, "error", err)
	}
	return nil
}

// isTableDir reports whether dir is the base path of a Hudi table.
func isTableDir(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, hoodieDir))
	return err == nil && st.IsDir()
}

// addTable registers a table. Callers hold mu.
func (w *Warehouse) addTable(ctx context.Context, d *database, name, path string, attached bool) (*tableEntry, error) {
	e := &tableEntry{database: d.name, name: name, path: path, attached: attached}
	if err := w.cat.PutDatabase(ctx, d.name); err != nil {
		return nil, fmt.Errorf("database %s: catalog: %w", d.name, err)
	}
	if _, err := w.cat.PutTable(ctx, catalog.Table{Database: d.name, Name: name, Path: path, Attached: attached}); err != nil {
		return nil, fmt.Errorf("table %s.%s: catalog: %w", d.name, name, err)
	}
	d.tables[strings.ToLower(name)] = e
	return e, nil
}

// checkName refuses names that cannot be a folder of the warehouse.
func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: a %s name is empty", ErrBadArgument, what)
	case len(name) > 64:
		return fmt.Errorf("%w: %s name %q is longer than 64 bytes", ErrBadArgument, what, name)
	case name[0] == '.':
		return fmt.Errorf("%w: %s name %q begins with a dot", ErrBadArgument, what, name)
	case strings.ContainsAny(name, "/\\\x00") || strings.TrimSpace(name) != name:
		return fmt.Errorf("%w: %s name %q has a slash, a NUL or a blank at its end", ErrBadArgument, what, name)
	}
	return nil
}

// ResolvePath turns a path that a user named into an absolute one, if it lies below the warehouse
// or an allowed folder after symbolic links are resolved. A relative path is taken from the
// warehouse folder. The last elements need not exist (a pattern, say).
func (w *Warehouse) ResolvePath(path string) (string, error) {
	path = strings.TrimPrefix(path, "file://")
	if path == "" || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w: empty path", ErrBadArgument)
	}
	if i := strings.Index(path, "://"); i > 0 {
		return "", &UnsupportedError{What: "path " + path, Why: "only local files can be named"}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.root, path)
	}
	path = filepath.Clean(path)
	// Resolve the longest existing prefix, so that a link cannot lead outside.
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			path = filepath.Join(real, rest)
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
	for _, base := range append([]string{w.root}, w.allowed...) {
		if below(path, base) && !below(path, filepath.Join(w.root, privateDir)) {
			return path, nil
		}
	}
	return "", &NameError{Kind: ErrPathNotAllowed, Name: path,
		Hint: "start the server with --allow-path " + filepath.Dir(path)}
}

func below(path, base string) bool {
	return path == base || base == "/" || strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}

// BrokenTables lists the tables that cannot be opened, with their errors, for the log at start.
func (w *Warehouse) BrokenTables(ctx context.Context) map[string]error {
	out := map[string]error{}
	for _, db := range w.Databases() {
		names, err := w.Tables(db)
		if err != nil {
			continue
		}
		for _, n := range names {
			if _, err := w.Table(ctx, db, n); err != nil {
				out[db+"."+n] = err
			}
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
