package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // the "sqlite3" driver
	"golang.org/x/sys/unix"
)

// busyTimeout is how long a statement waits for another process' transaction. Transactions last
// milliseconds, except when the state of a large table is first stored.
const busyTimeout = 30 * time.Second

// Catalog is an open catalog file.
type Catalog struct {
	path  string
	aside string // see MovedAside

	// write has one connection, whose transactions begin by taking the write lock (I4); read
	// has several, whose transactions each see one state of the file.
	write, read *sql.DB
}

// Open opens the catalog at path, making it and its directory if missing. A file that is not a
// sqlite database, or whose first pages are damaged, is moved aside and made anew: MovedAside
// tells. Open fails with ErrNewer or ErrForeign for files that are somebody else's.
func Open(path string) (*Catalog, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open catalog %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return nil, fmt.Errorf("open catalog %s: %w", path, err)
	}
	// Under the lock, nobody else makes, migrates or moves the file: without it a process that
	// found the file damaged could move aside the good one that another has just made.
	unlock, err := lockFile(abs + ".lock")
	if err != nil {
		return nil, fmt.Errorf("open catalog %s: %w", path, err)
	}
	defer unlock()

	c, err := open(abs)
	if err == nil || !damaged(err) {
		return c, err
	}
	moved, moveErr := moveAside(abs)
	if moveErr != nil {
		return nil, fmt.Errorf("open catalog %s: %w; moving it aside: %w", path, err, moveErr)
	}
	if c, err = open(abs); err != nil {
		return nil, err
	}
	c.aside = moved
	return c, nil
}

// MovedAside is the path to which Open moved a file that was not usable, or "".
func (c *Catalog) MovedAside() string { return c.aside }

// Path is the absolute path of the catalog file.
func (c *Catalog) Path() string { return c.path }

// Close closes the file. Calls still running are waited for; later ones fail.
func (c *Catalog) Close() error {
	// The last connection to close folds the write-ahead log into the file, so the writer
	// closes last.
	return errors.Join(c.read.Close(), c.write.Close())
}

func open(path string) (_ *Catalog, err error) {
	c := &Catalog{path: path}
	// Nothing but sqlite opens the file: when a process closes any descriptor of it, all locks that
	// the process holds on it are gone, those of another Catalog included.
	if c.write, err = sql.Open("sqlite3", dataSource(path, "immediate")); err != nil {
		return nil, c.fail("open", err)
	}
	c.write.SetMaxOpenConns(1)
	defer func() {
		if err != nil {
			_ = c.write.Close() // the first error tells more
		}
	}()
	if err := c.migrate(context.Background()); err != nil {
		var ve *VersionError
		if errors.As(err, &ve) {
			return nil, err
		}
		return nil, c.fail("open", err)
	}
	if c.read, err = sql.Open("sqlite3", dataSource(path, "deferred")); err != nil {
		return nil, c.fail("open", err)
	}
	readers := max(4, runtime.GOMAXPROCS(0))
	c.read.SetMaxOpenConns(readers)
	c.read.SetMaxIdleConns(readers)
	return c, nil
}

// dataSource makes sqlite's URI of a path, in which % ? and # have a meaning.
func dataSource(path, txlock string) string {
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return fmt.Sprintf("file:%s?_foreign_keys=on&_busy_timeout=%d&_synchronous=NORMAL&_txlock=%s",
		escaped, busyTimeout.Milliseconds(), txlock)
}

func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil // closing gives the lock back
}

// moveAside renames the file to <path>.corrupt-<n>, n being the first number free, and the
// write-ahead log with it: a log left behind would be played into the new file.
func moveAside(path string) (string, error) {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.corrupt-%d", path, n)
		if _, err := os.Lstat(to); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for _, suffix := range []string{"-wal", "-shm", "-journal"} {
			if err := os.Rename(path+suffix, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		return to, os.Rename(path, to)
	}
}

// update runs fn in a write transaction.
func (c *Catalog) update(ctx context.Context, op string, fn func(*tx) error) error {
	return c.run(ctx, c.write, op, fn)
}

// view runs fn in a read transaction: everything it reads is of one moment.
func (c *Catalog) view(ctx context.Context, op string, fn func(*tx) error) error {
	return c.run(ctx, c.read, op, fn)
}

func (c *Catalog) run(ctx context.Context, db *sql.DB, op string, fn func(*tx) error) error {
	sqlTx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return c.fail(op, ended(ctx, err))
	}
	t := &tx{tx: sqlTx, stmts: map[string]*sql.Stmt{}}
	if err := fn(t); err != nil {
		_ = sqlTx.Rollback() // err tells why; a transaction that the context ended is rolled back already
		return c.fail(op, ended(ctx, err))
	}
	return c.fail(op, ended(ctx, sqlTx.Commit()))
}

// tx is a transaction that prepares each statement once. Statements run without the context of
// the transaction: when that ends, database/sql rolls the transaction back and the next
// statement fails, which is soon enough and spares a goroutine for each row.
type tx struct {
	tx    *sql.Tx
	stmts map[string]*sql.Stmt
}

func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if s, ok := t.stmts[query]; ok {
		return s, nil
	}
	s, err := t.tx.Prepare(query) // closed with the transaction
	if err == nil {
		t.stmts[query] = s
	}
	return s, err
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	s, err := t.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls each for every row; each scans it.
func (t *tx) query(each func(*sql.Rows) error, query string, args ...any) error {
	s, err := t.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			_ = rows.Close() // err tells why
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// queryRow scans the one row of a query into dest; sql.ErrNoRows if there is none.
func (t *tx) queryRow(query string, args, dest []any) error {
	s, err := t.prepare(query)
	if err != nil {
		return err
	}
	return s.QueryRow(args...).Scan(dest...)
}
