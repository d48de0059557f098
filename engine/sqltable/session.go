package sqltable

import (
	"strings"
	"sync"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
)

// Session is the state of one connection: what its running statement has pinned, what its last
// statement read, and its hoodie.* options. It is safe for concurrent use.
//
// Tables behave as MySQL's non-transactional engines do: each statement commits by itself, also
// inside BEGIN … COMMIT, and a ROLLBACK after such a write warns that it stays.
type Session struct {
	*sql.BaseSession

	mu        sync.Mutex
	statement statement                   // that snapshots belong to
	snapshots map[string]*engine.Snapshot // by lower-case database.table, and as-of text
	scanned   statement                   // that stats belong to
	stats     engine.ScanStats            // of the last statement that scanned
	scans     int                         // scans counted in stats
	copies    map[string]map[string]any   // table options of CREATE TABLE … SELECT, by database.table
	wrote     bool                        // since BEGIN
}

// statement identifies one statement of a session: contexts derived while it runs share both.
type statement struct {
	pid  uint64
	time time.Time
}

func statementOf(ctx *sql.Context) statement { return statement{ctx.Pid(), ctx.QueryTime()} }

var (
	_ sql.TransactionSession    = (*Session)(nil)
	_ sql.LifecycleAwareSession = (*Session)(nil)
)

// NewSession makes the session of a connection.
func NewSession(base *sql.BaseSession) *Session {
	return &Session{BaseSession: base, snapshots: map[string]*engine.Snapshot{}, copies: map[string]map[string]any{}}
}

// sessionOf is the Session of a context, or nil for a context of the server's own (start-up,
// information_schema refreshes), which pins nothing.
func sessionOf(ctx *sql.Context) *Session {
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Session.(*Session)
	return s
}

// LastScanStats sums the scans of the last statement that scanned a table; scans is their number.
func (s *Session) LastScanStats() (stats engine.ScanStats, scans int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats, s.scans
}

func (s *Session) addScan(ctx *sql.Context, st engine.ScanStats) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := statementOf(ctx); k != s.scanned || s.scans == 0 {
		s.scanned, s.stats, s.scans = k, engine.ScanStats{}, 0
	}
	s.stats.Add(st)
	s.scans++
}

// Options are the hoodie.* and shoal.* values set in the session: its layer of engine.Config.
func (s *Session) Options() map[string]string {
	if s == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range s.GetAllSessionVariables() {
		if !isOption(k) {
			continue
		}
		if text, ok := v.(string); ok && text != "" {
			out[optionKey(k)] = text
		}
	}
	return out
}

// pinned returns the snapshot that the running statement has of a table, taking it with open at
// the first mention (I1).
func (s *Session) pinned(ctx *sql.Context, key string, open func() (*engine.Snapshot, error)) (*engine.Snapshot, error) {
	if s == nil {
		return open()
	}
	key = strings.ToLower(key)
	s.mu.Lock()
	if k := statementOf(ctx); k != s.statement {
		s.statement = k
		clear(s.snapshots)
	}
	snap := s.snapshots[key]
	s.mu.Unlock()
	if snap != nil {
		return snap, nil
	}
	snap, err := open()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots[key] = snap
	return snap, nil
}

// release drops the pinned snapshots: the statement ended, or it changed a table itself and its
// next part (a procedure's next statement, say) has to see that.
func (s *Session) release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.snapshots)
}

// noteWrite remembers a commit for the warning of a later ROLLBACK.
func (s *Session) noteWrite() {
	if s == nil {
		return
	}
	s.release()
	s.mu.Lock()
	s.wrote = true
	s.mu.Unlock()
}

func (s *Session) takeWrote() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.wrote
	s.wrote = false
	return w
}

// keepOptions hands the table options of a CREATE TABLE … SELECT, which the analyzer drops, on to
// its execution.
func (s *Session) keepOptions(database, table string, options map[string]any) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copies[strings.ToLower(database+"."+table)] = options
}

func (s *Session) takeOptions(database, table string) map[string]any {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.ToLower(database + "." + table)
	o := s.copies[key]
	delete(s.copies, key)
	return o
}

// transaction is what BEGIN opens. It holds nothing: statements commit by themselves.
type transaction struct{ readOnly bool }

func (t *transaction) String() string   { return "shoal transaction" }
func (t *transaction) IsReadOnly() bool { return t.readOnly }

// StartTransaction implements sql.TransactionSession.
func (s *Session) StartTransaction(_ *sql.Context, c sql.TransactionCharacteristic) (sql.Transaction, error) {
	s.takeWrote()
	return &transaction{readOnly: c == sql.ReadOnly}, nil
}

// CommitTransaction implements sql.TransactionSession.
func (s *Session) CommitTransaction(*sql.Context, sql.Transaction) error {
	s.takeWrote()
	s.release()
	return nil
}

// Rollback implements sql.TransactionSession. What was written stays, with MySQL's warning.
func (s *Session) Rollback(ctx *sql.Context, _ sql.Transaction) error {
	if s.takeWrote() {
		s.warnNotRolledBack(ctx)
	}
	s.release()
	return nil
}

func (s *Session) warnNotRolledBack(ctx *sql.Context) {
	ctx.Session.Warn(&sql.Warning{Level: "Warning", Code: erWarningNotComplete,
		Message: "Some non-transactional changed tables couldn't be rolled back: each INSERT commits by itself"})
}

// CreateSavepoint implements sql.TransactionSession. Savepoints are accepted and hold nothing.
func (s *Session) CreateSavepoint(*sql.Context, sql.Transaction, string) error { return nil }

// RollbackToSavepoint implements sql.TransactionSession.
func (s *Session) RollbackToSavepoint(ctx *sql.Context, _ sql.Transaction, _ string) error {
	s.mu.Lock()
	wrote := s.wrote
	s.mu.Unlock()
	if wrote {
		s.warnNotRolledBack(ctx)
	}
	return nil
}

// ReleaseSavepoint implements sql.TransactionSession.
func (s *Session) ReleaseSavepoint(*sql.Context, sql.Transaction, string) error { return nil }

// CommandBegin implements sql.LifecycleAwareSession.
func (s *Session) CommandBegin() error { return nil }

// CommandEnd implements sql.LifecycleAwareSession: an idle connection pins nothing.
func (s *Session) CommandEnd() { s.release() }

// SessionEnd implements sql.LifecycleAwareSession.
func (s *Session) SessionEnd() { s.release() }
