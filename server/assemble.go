package server

import (
	sqle "github.com/dolthub/go-mysql-server"

	"github.com/shoaldb/shoal/clustering"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/sqltable"
	"github.com/shoaldb/shoal/sqlproc"
)

// mysqlVersion is the MySQL release whose behaviour clients may expect.
const mysqlVersion = "8.0.33"

// SQL is a SQL engine over a warehouse: what a server puts behind a listener, and what a process
// may use by itself with sessions from sqltable.NewSession.
type SQL struct {
	Engine     *sqle.Engine
	Provider   *sqltable.Provider
	Procedures *sqlproc.Procedures
	// Version is what clients are told, such as "8.0.33-shoal-1.2.0".
	Version string
}

// Assemble builds the SQL engine: MySQL's grammar with ShoalDB's additions, its procedures, its
// tables. System variables are the process's: they are set for all engines in it. Nobody can log
// in yet, and access is not controlled. A nil c means a service with the warehouse's memory.
func Assemble(w *engine.Warehouse, c *clustering.Service, version string) (*SQL, error) {
	if c == nil {
		c = clustering.NewService(w, clustering.Options{MemoryBytes: w.MemoryBytes()})
	}
	s := &SQL{Procedures: sqlproc.NewProcedures(w, c), Version: mysqlVersion + "-shoal"}
	if version != "" {
		s.Version += "-" + version
	}
	s.Engine, s.Provider = sqltable.Assemble(w, sqlproc.NewParser(s.Procedures))
	s.Engine.Analyzer.Catalog.DbProvider = provider{s.Provider}
	s.Procedures.SetAccess(s.Engine.Analyzer.Catalog.MySQLDb)
	if err := setVariables(s.Version); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends what the engine runs in the background.
func (s *SQL) Close() error { return s.Engine.Close() }
