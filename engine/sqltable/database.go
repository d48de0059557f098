package sqltable

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"

	"github.com/shoaldb/shoal/engine"
)

// Database is one database of the warehouse.
type Database struct {
	p       *Provider
	name    string
	listing bool // see Provider.AllDatabases
}

var (
	_ sql.VersionedDatabase = (*Database)(nil)
	_ sql.TableCreator      = (*Database)(nil)
	_ sql.TableDropper      = (*Database)(nil)
)

// databaseOf finds the Database behind what a plan names, or nil when it is somebody else's.
func databaseOf(db sql.Database) *Database {
	if priv, ok := db.(mysql_db.PrivilegedDatabase); ok {
		db = priv.Unwrap()
	}
	d, _ := db.(*Database)
	return d
}

// Name implements sql.Database.
func (d *Database) Name() string { return d.name }

// GetTableNames implements sql.Database; tables that cannot be opened are among them (I6).
func (d *Database) GetTableNames(*sql.Context) ([]string, error) { return d.p.w.Tables(d.name) }

// GetTableNamesAsOf implements sql.VersionedDatabase: the tables of now.
func (d *Database) GetTableNamesAsOf(ctx *sql.Context, _ any) ([]string, error) {
	return d.GetTableNames(ctx)
}

// GetTableInsensitive implements sql.Database: the table as the running statement sees it.
func (d *Database) GetTableInsensitive(ctx *sql.Context, name string) (sql.Table, bool, error) {
	return d.table(ctx, name, "")
}

// GetTableInsensitiveAsOf implements sql.VersionedDatabase. asOf is an instant, a date or a time,
// as text or as a TIMESTAMP; times are those of the table's timeline.
func (d *Database) GetTableInsensitiveAsOf(ctx *sql.Context, name string, asOf any) (sql.Table, bool, error) {
	text, err := asOfText(asOf)
	if err != nil {
		return nil, false, err
	}
	return d.table(ctx, name, text)
}

func asOfText(asOf any) (string, error) {
	switch v := asOf.(type) {
	case string:
		if strings.TrimSpace(v) == "" {
			return "", fmt.Errorf("%w: AS OF ''", engine.ErrBadArgument)
		}
		return v, nil
	case []byte:
		return asOfText(string(v))
	case time.Time:
		return v.Format("2006-01-02 15:04:05.000"), nil
	case nil:
		return "", fmt.Errorf("%w: AS OF NULL", engine.ErrBadArgument)
	}
	if n, ok := wholeNumber(asOf); ok {
		return fmt.Sprint(n), nil // AS OF 20240101000000
	}
	return "", fmt.Errorf("%w: AS OF %v: give an instant, a date or a time", engine.ErrBadArgument, asOf)
}

func (d *Database) table(ctx *sql.Context, name, asOf string) (sql.Table, bool, error) {
	name, meta := cutMetaMark(name)
	name, drop := strings.CutSuffix(name, dropMark)
	t, err := d.p.w.Table(ctx, d.name, name)
	if err == nil {
		key := d.name + "." + t.Name() + "@" + asOf
		var snap *engine.Snapshot
		snap, err = sessionOf(ctx).pinned(ctx, key, func() (*engine.Snapshot, error) {
			if asOf == "" {
				return t.Snapshot(ctx)
			}
			return t.SnapshotAsOf(ctx, asOf)
		})
		if err == nil {
			return newTable(d, t, snap, meta), true, nil
		}
	}
	gone := errors.Is(err, engine.ErrNoSuchTable)
	switch {
	case d.listing, drop && !gone: // a listed table may have vanished since its name was read
		return &brokenTable{name: name, err: err}, true, nil
	case gone:
		return nil, false, nil
	}
	return nil, false, err
}

// CreateTable implements sql.TableCreator for callers that have no more than this to say; CREATE
// TABLE itself comes through createTable.
func (d *Database) CreateTable(ctx *sql.Context, name string, schema sql.PrimaryKeySchema, _ sql.CollationID, comment string) error {
	return d.createTable(ctx, definition{name: name, schema: schema, options: map[string]any{"comment": comment}})
}

// DropTable implements sql.TableDropper.
func (d *Database) DropTable(ctx *sql.Context, name string) error {
	err := d.p.w.DropTable(ctx, d.name, name)
	if errors.Is(err, engine.ErrNoSuchTable) {
		return sql.ErrTableNotFound.New(name)
	}
	sessionOf(ctx).release()
	return err
}
