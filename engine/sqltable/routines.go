package sqltable

import (
	"github.com/dolthub/go-mysql-server/sql"

	"github.com/shoaldb/shoal/engine"
)

// There are no stored procedures and triggers of users' own. The interfaces are there so that
// go-mysql-server finds none instead of failing: calling an unknown procedure is then reported as
// such, and under access control every INSERT asks for triggers.

var (
	_ sql.StoredProcedureDatabase = (*Database)(nil)
	_ sql.TriggerDatabase         = (*Database)(nil)
)

// GetStoredProcedure implements sql.StoredProcedureDatabase.
func (d *Database) GetStoredProcedure(*sql.Context, string) (sql.StoredProcedureDetails, bool, error) {
	return sql.StoredProcedureDetails{}, false, nil
}

// GetStoredProcedures implements sql.StoredProcedureDatabase.
func (d *Database) GetStoredProcedures(*sql.Context) ([]sql.StoredProcedureDetails, error) {
	return nil, nil
}

// SaveStoredProcedure implements sql.StoredProcedureDatabase.
func (d *Database) SaveStoredProcedure(*sql.Context, sql.StoredProcedureDetails) error {
	return &engine.UnsupportedError{What: "CREATE PROCEDURE", Why: "procedures of users' own are not stored"}
}

// DropStoredProcedure implements sql.StoredProcedureDatabase.
func (d *Database) DropStoredProcedure(_ *sql.Context, name string) error {
	return sql.ErrStoredProcedureDoesNotExist.New(name)
}

// GetTriggers implements sql.TriggerDatabase.
func (d *Database) GetTriggers(*sql.Context) ([]sql.TriggerDefinition, error) { return nil, nil }

// CreateTrigger implements sql.TriggerDatabase.
func (d *Database) CreateTrigger(*sql.Context, sql.TriggerDefinition) error {
	return &engine.UnsupportedError{What: "CREATE TRIGGER", Why: "writes of other engines would not run it"}
}

// DropTrigger implements sql.TriggerDatabase.
func (d *Database) DropTrigger(_ *sql.Context, name string) error {
	return sql.ErrTriggerDoesNotExist.New(name)
}
