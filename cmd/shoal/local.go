package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	gsql "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/shoaldb/shoal/clustering"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/sqltable"
	"github.com/shoaldb/shoal/server"
	"github.com/shoaldb/shoal/sqlproc"
)

// localOptions open a localEngine.
type localOptions struct {
	warehouse string
	catalog   string
	config    string
	memory    int64
	database  string // to begin in; may be empty
	quiet     bool   // no warnings on stderr
}

// localEngine runs statements in this process, as one session of the account root. Statements may
// name any file that the process may read.
type localEngine struct {
	warehouse *engine.Warehouse
	sql       *server.SQL
	session   *sqltable.Session
	pid       uint64
}

func openLocal(ctx context.Context, o localOptions) (*localEngine, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if o.quiet {
		log = slog.New(slog.DiscardHandler)
	}
	f := warehouseFlags{dir: o.warehouse, catalog: o.catalog, config: o.config, memory: byteSize(o.memory)}
	w, err := f.open(ctx, log, "/")
	if err != nil {
		return nil, err
	}
	server.RedirectLogs(log)
	s, err := server.Assemble(w, clustering.NewService(w, clustering.Options{MemoryBytes: o.memory}), shortVersion())
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	// With accounts the statements about accounts work, too; the one that is here may do anything.
	s.Engine.Analyzer.Catalog.MySQLDb.AddRootAccount()
	const id = 1
	l := &localEngine{warehouse: w, sql: s, session: sqltable.NewSession(gsql.NewBaseSessionWithClientServer("localhost",
		gsql.Client{User: "root", Address: "localhost"}, id))}
	s.Engine.ProcessList.AddConnection(id, "localhost")
	s.Engine.ProcessList.ConnectionReady(l.session)
	if o.database != "" {
		name, ok := w.HasDatabase(o.database)
		if !ok {
			return nil, errors.Join(sqltable.SQLError(gsql.ErrDatabaseNotFound.New(o.database)), l.close())
		}
		l.session.SetCurrentDatabase(name)
	}
	return l, nil
}

func (l *localEngine) close() error {
	return errors.Join(l.sql.Close(), l.warehouse.Close())
}

// scanStats says what the last statement that scanned a table considered and read.
func (l *localEngine) scanStats() engine.ScanStats {
	stats, _ := l.session.LastScanStats()
	return stats
}

// newContext is the context of the next statement.
func (l *localEngine) newContext(ctx context.Context, text string) *gsql.Context {
	l.pid++
	return gsql.NewContext(ctx, gsql.WithSession(l.session), gsql.WithPid(l.pid), gsql.WithQuery(text),
		gsql.WithProcessList(l.sql.Engine.ProcessList), gsql.WithServices(gsql.Services{
			LoadInfile: func(name string) (io.ReadCloser, error) { return os.Open(name) },
		}))
}

// cell is a value as MySQL's text protocol has it.
type cell struct {
	text string
	null bool
}

// output takes the result of a statement: first the columns, none if it only changes something,
// then the rows.
type output interface {
	begin(columns gsql.Schema) error
	row(cells []cell) error
	end() error
}

// run executes one statement. Errors are MySQL's.
func (l *localEngine) run(ctx context.Context, text string, out output) error {
	return sqltable.SQLError(l.execute(ctx, text, out))
}

func (l *localEngine) execute(ctx context.Context, text string, out output) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error, please report it: %v in statement: %s", p, text)
		}
	}()
	sctx, err := l.sql.Engine.ProcessList.BeginQuery(l.newContext(ctx, text), text)
	if err != nil {
		return err
	}
	defer l.sql.Engine.ProcessList.EndQuery(sctx)
	if err := gsql.SessionCommandBegin(l.session); err != nil {
		return err
	}
	defer gsql.SessionCommandEnd(l.session)
	schema, rows, _, err := l.sql.Engine.Query(sctx, text)
	if err != nil {
		return err
	}
	if err := l.spool(sctx, schema, rows, out); err != nil {
		return errors.Join(err, rows.Close(sctx))
	}
	// It may still fail here: some statements commit when they are closed.
	if err := rows.Close(sctx); err != nil {
		return err
	}
	return out.end()
}

func (l *localEngine) spool(ctx *gsql.Context, schema gsql.Schema, rows gsql.RowIter, out output) error {
	columns := schema
	if types.IsOkResultSchema(schema) {
		columns = nil
	}
	if err := out.begin(columns); err != nil {
		return err
	}
	cells := make([]cell, len(columns))
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if types.IsOkResult(row) {
			continue
		}
		for i, v := range row {
			if cells[i] = (cell{null: true}); v == nil {
				continue
			}
			s, err := columns[i].Type.SQL(ctx, nil, v)
			if err != nil {
				return err
			}
			if !s.IsNull() {
				cells[i] = cell{text: server.PlainNumber(s).ToString()}
			}
		}
		if err := out.row(cells); err != nil {
			return err
		}
	}
}

// script runs the statements of a text one after the other, until one fails.
func (l *localEngine) script(ctx context.Context, text string, out output, warned func([]*gsql.Warning)) error {
	text = sqlproc.Rewrite(text) // so that what is left of it below is a part of it
	for {
		if text = gsql.RemoveSpaceAndDelimiter(text, ';'); text == "" {
			return nil
		}
		_, first, rest, err := l.sql.Engine.Parser.Parse(l.newContext(ctx, text), text, true)
		if errors.Is(err, sqlparser.ErrEmpty) {
			// The parser is a byte too far behind the semicolon of an empty statement.
			if i := len(text) - len(rest) - 1; rest != "" && i > 0 && text[i-1] == ';' {
				rest = text[i:]
			}
			text = rest
			continue
		}
		// A text that does not parse fails here, with the engine's error.
		if err := l.run(ctx, first, out); err != nil {
			return err
		}
		warned(l.session.Warnings())
		text = rest
	}
}

// result is that of a statement, in memory.
type result struct {
	columns []string
	rows    [][]string // NULL is the text NULL
	took    time.Duration
}

// query runs one statement and keeps its result.
func (l *localEngine) query(ctx context.Context, text string) (*result, error) {
	began := time.Now()
	r := &result{}
	err := l.run(ctx, text, r)
	r.took = time.Since(began)
	return r, err
}

func (r *result) begin(columns gsql.Schema) error {
	for _, c := range columns {
		r.columns = append(r.columns, c.Name)
	}
	return nil
}

func (r *result) row(cells []cell) error {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = c.text; c.null {
			row[i] = "NULL"
		}
	}
	r.rows = append(r.rows, row)
	return nil
}

func (r *result) end() error { return nil }
