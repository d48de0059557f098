package server

import (
	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine/sqltable"
)

// provider is the tables' provider with CREATE DATABASE as a server under access control needs
// it: go-mysql-server then asks every new database to keep a collation.
type provider struct{ *sqltable.Provider }

var _ sql.CollatedDatabaseProvider = provider{}

// CreateCollatedDatabase implements sql.CollatedDatabaseProvider. Strings have one collation
// everywhere; a database made for another says so.
func (p provider) CreateCollatedDatabase(ctx *sql.Context, name string, c sql.CollationID) error {
	if err := p.CreateDatabase(ctx, name); err != nil {
		return err
	}
	if c != sql.Collation_Default && c != sql.Collation_Unspecified {
		ctx.Session.Warn(&sql.Warning{Level: "Note", Code: 1235,
			Message: "Strings are compared by " + sql.Collation_Default.Name() + ", not by " + c.Name()})
	}
	return nil
}
