package sqltable

import (
	"errors"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
)

// Provider presents the databases of a warehouse. It is safe for concurrent use.
type Provider struct {
	w     *engine.Warehouse
	views *viewStore
}

var _ sql.MutableDatabaseProvider = (*Provider)(nil)

// NewProvider makes the provider of a warehouse.
func NewProvider(w *engine.Warehouse) *Provider {
	return &Provider{w: w, views: newViewStore(w.Root())}
}

// Warehouse is the warehouse behind the provider.
func (p *Provider) Warehouse() *engine.Warehouse { return p.w }

// Database implements sql.DatabaseProvider; names are matched without regard to case.
func (p *Provider) Database(_ *sql.Context, name string) (sql.Database, error) {
	if real, ok := p.w.HasDatabase(name); ok {
		return &Database{p: p, name: real}, nil
	}
	return nil, sql.ErrDatabaseNotFound.New(name)
}

// HasDatabase implements sql.DatabaseProvider.
func (p *Provider) HasDatabase(_ *sql.Context, name string) bool {
	_, ok := p.w.HasDatabase(name)
	return ok
}

// AllDatabases implements sql.DatabaseProvider. Only listings (information_schema, SHOW) reach
// tables through it, statements bind them through Database; so these databases show keys as
// indexes, which statements must not see (I3), and tables that cannot be opened (I6).
func (p *Provider) AllDatabases(*sql.Context) []sql.Database {
	names := p.w.Databases()
	out := make([]sql.Database, len(names))
	for i, n := range names {
		out[i] = &Database{p: p, name: n, listing: true}
	}
	return out
}

// CreateDatabase implements sql.MutableDatabaseProvider.
func (p *Provider) CreateDatabase(ctx *sql.Context, name string) error {
	err := p.w.CreateDatabase(ctx, name)
	if errors.Is(err, engine.ErrDatabaseExists) {
		return sql.ErrDatabaseExists.New(name)
	}
	return err
}

// DropDatabase implements sql.MutableDatabaseProvider.
func (p *Provider) DropDatabase(ctx *sql.Context, name string) error {
	err := p.w.DropDatabase(ctx, name)
	if errors.Is(err, engine.ErrNoSuchDatabase) {
		return sql.ErrDatabaseNotFound.New(name)
	}
	if err != nil {
		return err
	}
	return p.views.change(name, func(v map[string]view) error { clear(v); return nil })
}
