package sqlproc

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
	"github.com/google/go-cmp/cmp"

	"github.com/shoaldb/shoal/clustering"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/sqltable"
)

var carriers = regexp.MustCompile(`CONNECTION='` + carrierMark + `([^']*)'`)

func decodeCarriers(t *testing.T, s string) string {
	return carriers.ReplaceAllStringFunc(s, func(m string) string {
		b, err := base64.StdEncoding.DecodeString(carriers.FindStringSubmatch(m)[1])
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	})
}

// db is an engine over a warehouse of its own, and one connection to it.
type db struct {
	t     *testing.T
	w     *engine.Warehouse
	e     *sqle.Engine
	procs *Procedures
	s     *sqltable.Session
}

// open makes a warehouse with the database d in use.
func open(t *testing.T) *db {
	t.Helper()
	w, err := engine.OpenWarehouse(context.Background(), engine.Options{Root: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	procs := NewProcedures(w, clustering.NewService(w, clustering.Options{}))
	e, _ := sqltable.Assemble(w, NewParser(procs))
	d := &db{t: t, w: w, e: e, procs: procs}
	d.s = sqltable.NewSession(sql.NewBaseSessionWithClientServer("localhost", sql.Client{User: "root", Address: "localhost"}, 1))
	d.exec("CREATE DATABASE d")
	d.s.SetCurrentDatabase("d")
	return d
}

func (d *db) context() *sql.Context {
	return sql.NewContext(context.Background(), sql.WithSession(d.s))
}

// run executes a statement; values are as the wire shows them, NULL as "NULL".
func (d *db) run(ctx *sql.Context, q string, bind map[string]sqlparser.Expr) (rows [][]string, err error) {
	schema, iter, _, err := d.e.QueryWithBindings(ctx, q, nil, bind, nil)
	if err != nil {
		return nil, err
	}
	for {
		row, err := iter.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, errors.Join(err, iter.Close(ctx))
		}
		if types.IsOkResult(row) {
			continue
		}
		out := make([]string, len(row))
		for i, v := range row {
			out[i] = "NULL"
			if v != nil {
				s, err := schema[i].Type.SQL(ctx, nil, v)
				if err != nil {
					return nil, err
				}
				out[i] = s.ToString()
			}
		}
		rows = append(rows, out)
	}
	return rows, iter.Close(ctx)
}

func (d *db) exec(q string) {
	d.t.Helper()
	d.query(q)
}

func (d *db) query(q string) [][]string {
	d.t.Helper()
	rows, err := d.run(d.context(), q, nil)
	if err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
	return rows
}

// prepared runs a statement with its ? bound.
func (d *db) prepared(q string, args ...sqlparser.Expr) ([][]string, error) {
	d.t.Helper()
	if _, err := d.e.PrepareQuery(d.context(), q); err != nil {
		return nil, err
	}
	bind := map[string]sqlparser.Expr{}
	for i, a := range args {
		bind["v"+string(rune('1'+i))] = a
	}
	return d.run(d.context(), q, bind)
}

// want compares the rows of a query with lines of values separated by " | ".
func (d *db) want(q string, lines ...string) {
	d.t.Helper()
	d.wantRows(q, d.query(q), lines...)
}

func (d *db) wantRows(q string, rows [][]string, lines ...string) {
	d.t.Helper()
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(r, " | "))
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", q, diff)
	}
}

// fails expects the MySQL error number and parts of the message.
func (d *db) fails(q string, num int, parts ...string) {
	d.t.Helper()
	_, err := d.run(d.context(), q, nil)
	d.isError(q, err, num, parts...)
}

func (d *db) isError(q string, err error, num int, parts ...string) {
	d.t.Helper()
	if err == nil {
		d.t.Errorf("%s: no error, want %d %q", q, num, parts)
		return
	}
	var e *mysql.SQLError
	if !errors.As(sqltable.SQLError(err), &e) || e.Num != num {
		d.t.Errorf("%s: got %v, want %d %q", q, sqltable.SQLError(err), num, parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(e.Message, p) {
			d.t.Errorf("%s: got %v, want %q", q, e, p)
		}
	}
}
