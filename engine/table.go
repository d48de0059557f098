package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/layout/keygen"
	"github.com/shoaldb/shoal/layout/storage"
	"github.com/shoaldb/shoal/layout/timeline"
)

const (
	// lockFile is the table's lock (I3), an advisory lock of the operating system.
	lockFile = hoodieDir + "/.aux/shoal.lock"
	// writeLockDir holds one lock file for each write in progress (I5).
	writeLockDir = hoodieDir + "/.aux/shoal"
	// writeVersion is the table version we create and write.
	writeVersion = 6
)

// Table is one open Hudi table. It is safe for concurrent use.
type Table struct {
	w              *Warehouse
	database, name string
	path           string      // absolute base path
	id             int64       // of the catalog
	folder         os.FileInfo // of the base path when it was opened
	st             storage.Storage
	log            *slog.Logger
	stats          *statsCache

	mu       sync.Mutex // guards what follows; held while syncing
	config   *timeline.TableConfig
	state    *tableState // nil before the first sync
	seen     dirStamp    // of .hoodie at the last sync
	lastTime string      // newest instant this process issued

	hooksMu sync.Mutex // guards hooks
	hooks   []func(CommitEvent)
}

// dirStamp tells whether .hoodie may have changed since it was listed.
type dirStamp struct {
	modTime, listed time.Time
}

// stampSettles is how old a folder's modification time must be before an unchanged one proves
// that nothing was added: file systems stamp with the coarse clock of the kernel's tick.
const stampSettles = 100 * time.Millisecond

func openTable(ctx context.Context, w *Warehouse, e *tableEntry, id int64) (*Table, error) {
	folder, err := os.Stat(e.path)
	if err != nil {
		return nil, err
	}
	st, err := w.newStorage(e.path)
	if err != nil {
		return nil, err
	}
	t := &Table{w: w, folder: folder, database: e.database, name: e.name, path: e.path, id: id, st: st,
		log: w.log.With("table", e.database+"."+e.name), stats: newStatsCache(w.cat, id)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readConfig(ctx); err != nil {
		return nil, err
	}
	if err := t.recover(ctx); err != nil {
		return nil, err
	}
	if err := t.sync(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// sameFolder reports whether the base path is still the folder that was opened: another process
// may have dropped the table and made one of the same name.
func (t *Table) sameFolder() bool {
	now, err := os.Stat(t.path)
	return err == nil && os.SameFile(now, t.folder)
}

// readConfig reads hoodie.properties and refuses what this engine cannot read. Callers hold mu.
func (t *Table) readConfig(ctx context.Context) error {
	props, err := timeline.ReadProperties(ctx, t.st)
	if err != nil {
		return malformed(ctx, err)
	}
	cfg, err := timeline.ParseTableConfig(props)
	if err != nil {
		return malformed(ctx, err)
	}
	if err := readable(cfg); err != nil {
		return err
	}
	t.config = cfg
	return nil
}

// malformed marks an error as the table's fault, unless the statement was cancelled.
func malformed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}

// readable refuses tables that this engine cannot read, by name.
func readable(cfg *timeline.TableConfig) error {
	switch {
	case cfg.Version >= 7:
		return &UnsupportedError{What: fmt.Sprintf("table version %d", cfg.Version),
			Why:  "versions up to 6 (Hudi 0.x) are served",
			Hint: "write it with hoodie.write.table.version=6, or downgrade it with Hudi's downgrade_table procedure"}
	case cfg.LayoutVersion > 1:
		return &UnsupportedError{What: fmt.Sprintf("timeline layout version %d", cfg.LayoutVersion), Why: "layout 1 is read"}
	case strings.EqualFold(cfg.Type, "MERGE_ON_READ"):
		return &UnsupportedError{What: "table type MERGE_ON_READ", Why: "COPY_ON_WRITE tables are served"}
	case cfg.BaseFileFormat != "" && !strings.EqualFold(cfg.BaseFileFormat, "PARQUET"):
		return &UnsupportedError{What: "base file format " + cfg.BaseFileFormat, Why: "base files must be Parquet"}
	}
	return nil
}

// writable refuses tables that may be read but not written.
func writable(cfg *timeline.TableConfig) error {
	if err := readable(cfg); err != nil {
		return err
	}
	switch {
	case cfg.Version != writeVersion:
		return &UnsupportedError{What: fmt.Sprintf("writing to a table of version %d", cfg.Version),
			Why:  "only version 6 is written",
			Hint: "upgrade it with Hudi's upgrade_table procedure (to SIX)"}
	case cfg.DropPartitionColumns:
		return &UnsupportedError{What: "writing to a table with hoodie.datasource.write.drop.partition.columns=true"}
	}
	return nil
}

// Database is the name of the table's database.
func (t *Table) Database() string { return t.database }

// Name is the table's name in its database.
func (t *Table) Name() string { return t.name }

// BasePath is the absolute base path.
func (t *Table) BasePath() string { return t.path }

// PlanPath is how a plan names a file of the table: its absolute address, as other engines open it.
func (t *Table) PlanPath(path string) string { return timeline.PlanPath(t.st, path) }

// Config is the table configuration as of the last sync.
func (t *Table) Config() *timeline.TableConfig {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.config
}

// Options resolves configuration for a statement on this table: over, then the table's
// properties, then the server's.
func (t *Table) Options(over map[string]string) Config {
	return NewConfig(over, t.Config().Props.Map(), t.w.config)
}

// OnCommit registers a hook that runs after each commit of this process, outside all locks.
func (t *Table) OnCommit(hook func(CommitEvent)) {
	t.hooksMu.Lock()
	defer t.hooksMu.Unlock()
	t.hooks = append(t.hooks, hook)
}

func (t *Table) runHooks(ev CommitEvent) {
	t.hooksMu.Lock()
	hooks := t.hooks
	t.hooksMu.Unlock()
	for _, h := range hooks {
		h(ev)
	}
}

func (t *Table) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	var te *TableError
	if errors.As(err, &te) {
		return err
	}
	return &TableError{Database: t.database, Table: t.name, Op: op, Err: err}
}

// Snapshot brings the table up to date with its timeline and returns its newest state. It costs
// one stat when nothing changed.
func (t *Table) Snapshot(ctx context.Context) (*Snapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sync(ctx); err != nil {
		return nil, t.wrap("read", err)
	}
	return newSnapshot(t, t.config, t.state, ""), nil
}

// SnapshotAsOf returns the table as it was when asOf was the newest completed instant. asOf is an
// instant, or a date or time as Hudi's as.of.instant takes it.
func (t *Table) SnapshotAsOf(ctx context.Context, asOf string) (*Snapshot, error) {
	instant, err := timeline.ParseTime(asOf)
	if err != nil {
		return nil, t.wrap("read", fmt.Errorf("%w: %w", ErrBadArgument, err))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sync(ctx); err != nil {
		return nil, t.wrap("read", err)
	}
	state, err := t.state.asOf(ctx, t, instant)
	if err != nil {
		return nil, t.wrap("read", err)
	}
	return newSnapshot(t, t.config, state, instant), nil
}

// lock takes the table's lock in every process (I3).
func (t *Table) lock(ctx context.Context) (func(), error) {
	unlock, err := t.st.Lock(ctx, lockFile)
	if err != nil {
		return nil, fmt.Errorf("table lock: %w", err)
	}
	return unlock, nil
}

// nextInstant issues an instant greater than every one in the timeline and every one this
// process issued. Callers hold the table's lock and mu.
func (t *Table) nextInstant(tl *timeline.Timeline) string {
	after := t.lastTime
	if all := tl.Instants(); len(all) > 0 && all[len(all)-1].Time > after {
		after = all[len(all)-1].Time
	}
	t.lastTime = timeline.NextTime(time.Now(), t.config.Location(), after)
	return t.lastTime
}

// keyConfig is the key generator's configuration of the table.
func keyConfig(cfg *timeline.TableConfig) keygen.Config {
	return keygen.Config{
		Class:      cfg.KeyGenerator,
		RecordKey:  cfg.RecordKeyFields,
		Partition:  cfg.PartitionFields,
		HiveStyle:  cfg.HiveStylePartitioning,
		URLEncode:  cfg.URLEncodePartition,
		Properties: cfg.Props.Map(),
	}
}

// CommitMetadata reads the metadata of a completed commit or replacecommit of the active timeline.
func (t *Table) CommitMetadata(ctx context.Context, instant string) (*timeline.CommitMetadata, error) {
	tl, err := timeline.Load(ctx, t.st)
	if err != nil {
		return nil, t.wrap("read timeline", err)
	}
	for _, in := range tl.CompletedCommits() {
		if in.Time == instant {
			m, err := t.readCommit(ctx, in)
			return m, t.wrap("read timeline", err)
		}
	}
	return nil, t.wrap("read timeline", &NameError{Kind: ErrNoSuchInstant, Name: instant, Hint: "CALL show_commits lists them"})
}

// readCommit reads and decodes the completed file of a commit or replacecommit.
func (t *Table) readCommit(ctx context.Context, in timeline.Instant) (*timeline.CommitMetadata, error) {
	data, err := t.st.ReadFile(ctx, hoodieDir+"/"+in.FileName())
	if err != nil {
		return nil, err
	}
	m, err := timeline.DecodeCommit(data)
	if err != nil {
		return nil, fmt.Errorf("%w: instant %s: %w", ErrMalformed, in.FileName(), err)
	}
	return m, nil
}

// Commit is one completed action of the active timeline with its metadata.
type Commit struct {
	Instant  timeline.Instant
	Metadata *timeline.CommitMetadata
}

// Commits lists completed commits and replacecommits of the active timeline, newest first; limit
// <= 0 lists all.
func (t *Table) Commits(ctx context.Context, limit int) ([]Commit, error) {
	tl, err := timeline.Load(ctx, t.st)
	if err != nil {
		return nil, t.wrap("read timeline", err)
	}
	done := tl.CompletedCommits()
	var out []Commit
	for i := len(done) - 1; i >= 0 && (limit <= 0 || len(out) < limit); i-- {
		m, err := t.readCommit(ctx, done[i])
		if err != nil {
			return nil, t.wrap("read timeline", err)
		}
		out = append(out, Commit{Instant: done[i], Metadata: m})
	}
	return out, nil
}

// ClusteringInstant is one clustering of the active timeline in any state.
type ClusteringInstant struct {
	Instant string
	State   timeline.State
	Request *timeline.RequestedReplace
}

// Clusterings lists the clusterings of the active timeline, newest first. Other replacecommits
// are left out.
func (t *Table) Clusterings(ctx context.Context) ([]ClusteringInstant, error) {
	tl, err := timeline.Load(ctx, t.st)
	if err != nil {
		return nil, t.wrap("read timeline", err)
	}
	all := tl.Instants()
	var out []ClusteringInstant
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Action != timeline.ReplaceCommit {
			continue
		}
		req, err := t.readRequest(ctx, all[i].Time)
		if err != nil {
			return nil, t.wrap("read timeline", err)
		}
		if req.IsClustering() {
			out = append(out, ClusteringInstant{Instant: all[i].Time, State: all[i].State, Request: req})
		}
	}
	return out, nil
}

// readRequest reads the requested file of a replacecommit; nil when there is none or it is empty.
func (t *Table) readRequest(ctx context.Context, instant string) (*timeline.RequestedReplace, error) {
	name := timeline.Instant{Time: instant, Action: timeline.ReplaceCommit, State: timeline.Requested}.FileName()
	data, err := t.st.ReadFile(ctx, hoodieDir+"/"+name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	req, err := timeline.DecodeRequestedReplace(data)
	if err != nil {
		return nil, fmt.Errorf("%w: instant %s: %w", ErrMalformed, name, err)
	}
	return req, nil
}

// RecordPlan stores the progress of a clustering plan in the catalog.
func (t *Table) RecordPlan(ctx context.Context, p catalog.Plan) error {
	return t.wrap("record plan", t.w.cat.PutPlan(ctx, t.id, p))
}

// Plans lists what the catalog knows of the table's clustering plans, newest first.
func (t *Table) Plans(ctx context.Context) ([]catalog.Plan, error) {
	p, err := t.w.cat.Plans(ctx, t.id)
	return p, t.wrap("read plans", err)
}
