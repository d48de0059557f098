package sqltable

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
	"github.com/google/go-cmp/cmp"

	"github.com/shoaldb/shoal/engine"
)

// db is an engine over a warehouse of its own, and one connection to it.
type db struct {
	t *testing.T
	w *engine.Warehouse
	e *sqle.Engine
	s *Session
}

// open makes a warehouse with the database d in use.
func open(t *testing.T) *db {
	t.Helper()
	return openRoot(t, t.TempDir(), engine.Options{})
}

func openRoot(t *testing.T, root string, o engine.Options) *db {
	t.Helper()
	o.Root, o.Logger = root, slog.New(slog.DiscardHandler)
	w, err := engine.OpenWarehouse(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	e, _ := Assemble(w, optionParser{sql.NewMysqlParser()})
	d := &db{t: t, w: w, e: e, s: newTestSession(1)}
	if _, ok := w.HasDatabase("d"); !ok {
		d.exec("CREATE DATABASE d")
	}
	d.s.SetCurrentDatabase("d")
	return d
}

func newTestSession(id uint32) *Session {
	return NewSession(sql.NewBaseSessionWithClientServer("localhost", sql.Client{User: "root", Address: "localhost"}, id))
}

// other is a second connection.
func (d *db) other() *db {
	o := *d
	o.s = newTestSession(2)
	o.s.SetCurrentDatabase("d")
	return &o
}

func (d *db) context() *sql.Context {
	return sql.NewContext(context.Background(), sql.WithSession(d.s))
}

// run executes a statement; values are as the wire shows them, NULL as "NULL".
func (d *db) run(ctx *sql.Context, q string) (rows [][]string, affected uint64, err error) {
	schema, iter, _, err := d.e.Query(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	for {
		row, err := iter.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, errors.Join(err, iter.Close(ctx))
		}
		if types.IsOkResult(row) {
			affected = types.GetOkResult(row).RowsAffected
			continue
		}
		out := make([]string, len(row))
		for i, v := range row {
			out[i] = "NULL"
			if v != nil {
				s, err := schema[i].Type.SQL(ctx, nil, v)
				if err != nil {
					return nil, 0, err
				}
				out[i] = s.ToString()
			}
		}
		rows = append(rows, out)
	}
	return rows, affected, iter.Close(ctx)
}

func (d *db) exec(q string) uint64 {
	d.t.Helper()
	_, n, err := d.run(d.context(), q)
	if err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
	return n
}

func (d *db) query(q string) [][]string {
	d.t.Helper()
	rows, _, err := d.run(d.context(), q)
	if err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
	return rows
}

// want compares the rows of a query with lines of values separated by " | ".
func (d *db) want(q string, lines ...string) {
	d.t.Helper()
	var got []string
	for _, r := range d.query(q) {
		got = append(got, strings.Join(r, " | "))
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", q, diff)
	}
}

// fails expects the MySQL error number and a part of the message.
func (d *db) fails(q string, num int, part string) {
	d.t.Helper()
	_, _, err := d.run(d.context(), q)
	if err == nil {
		d.t.Errorf("%s: no error, want %d %s", q, num, part)
		return
	}
	var e *mysql.SQLError
	if !errors.As(SQLError(err), &e) || e.Num != num || !strings.Contains(e.Message, part) {
		d.t.Errorf("%s: got %v, want %d %s", q, SQLError(err), num, part)
	}
}

// column is the names of a query's result columns.
func (d *db) columns(q string) []string {
	d.t.Helper()
	ctx := d.context()
	schema, iter, _, err := d.e.Query(ctx, q)
	if err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
	defer iter.Close(ctx)
	names := make([]string, len(schema))
	for i, c := range schema {
		names[i] = c.Name
	}
	return names
}

// optionParser carries PARTITION BY to the tables as the server's parser does.
type optionParser struct{ sql.Parser }

func carry(stmt sqlparser.Statement) sqlparser.Statement {
	ddl, ok := stmt.(*sqlparser.DDL)
	if !ok || ddl.TableSpec == nil || ddl.TableSpec.PartitionOpt == nil {
		return stmt
	}
	var by []string
	for _, c := range ddl.TableSpec.PartitionOpt.ColList {
		by = append(by, c.String())
	}
	ddl.TableSpec.TableOpts = append(ddl.TableSpec.TableOpts, &sqlparser.TableOption{Name: optPartitionBy, Value: strings.Join(by, ",")})
	return stmt
}

func (p optionParser) ParseSimple(q string) (sqlparser.Statement, error) {
	s, err := p.Parser.ParseSimple(q)
	return carry(s), err
}

func (p optionParser) Parse(ctx *sql.Context, q string, multi bool) (sqlparser.Statement, string, string, error) {
	s, parsed, rest, err := p.Parser.Parse(ctx, q, multi)
	return carry(s), parsed, rest, err
}

func (p optionParser) ParseWithOptions(ctx context.Context, q string, d rune, multi bool, o sqlparser.ParserOptions) (sqlparser.Statement, string, string, error) {
	s, parsed, rest, err := p.Parser.ParseWithOptions(ctx, q, d, multi, o)
	return carry(s), parsed, rest, err
}

func (p optionParser) ParseOneWithOptions(ctx context.Context, q string, o sqlparser.ParserOptions) (sqlparser.Statement, int, error) {
	s, next, err := p.Parser.ParseOneWithOptions(ctx, q, o)
	return carry(s), next, err
}
