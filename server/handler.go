package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	gms "github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/shoaldb/shoal/engine/sqltable"
	"github.com/shoaldb/shoal/sqlproc"
)

// erQueryInterrupted is the error of a statement that KILL, or the end of its connection, ended.
const erQueryInterrupted = 1317

// handler takes the commands of connections. What it does not say itself is go-mysql-server's.
type handler struct {
	*gms.Handler
	engine  *sqle.Engine
	sm      *gms.SessionManager
	clients *clients
	log     *slog.Logger
	started time.Time
}

var (
	_ mysql.Handler              = (*handler)(nil)
	_ mysql.BinlogReplicaHandler = (*handler)(nil)
)

// NewConnection implements mysql.Handler.
func (h *handler) NewConnection(c *mysql.Conn) {
	h.clients.add(c)
	h.Handler.NewConnection(c)
}

// ConnectionAuthenticated implements mysql.Handler. TLS is in place by now.
func (h *handler) ConnectionAuthenticated(c *mysql.Conn) error {
	p, err := newPipe(c, &connCommander{h, c})
	if err != nil {
		return h.clientError(err)
	}
	h.clients.authenticated(c.ConnectionID, p)
	return h.clientError(h.sm.ConnReady(context.Background(), c))
}

// ConnectionClosed implements mysql.Handler.
func (h *handler) ConnectionClosed(c *mysql.Conn) {
	h.Handler.ConnectionClosed(c)
	h.clients.remove(c.ConnectionID)
}

// ComInitDB implements mysql.Handler.
func (h *handler) ComInitDB(c *mysql.Conn, name string) error {
	return h.clientError(h.sm.SetDB(context.Background(), c, name))
}

// ComResetConnection implements mysql.Handler.
func (h *handler) ComResetConnection(c *mysql.Conn) error {
	return h.clientError(h.Handler.ComResetConnection(c))
}

// ComQuery implements mysql.Handler.
func (h *handler) ComQuery(ctx context.Context, c *mysql.Conn, query string, callback mysql.ResultSpoolFn) error {
	_, err := h.run(ctx, c, statement{text: query}, callback)
	return err
}

// ComMultiQuery implements mysql.Handler.
func (h *handler) ComMultiQuery(ctx context.Context, c *mysql.Conn, query string, callback mysql.ResultSpoolFn) (string, error) {
	return h.run(ctx, c, statement{text: query, several: true}, callback)
}

// ComStmtExecute implements mysql.Handler.
func (h *handler) ComStmtExecute(ctx context.Context, c *mysql.Conn, p *mysql.PrepareData, callback func(*sqltypes.Result) error) error {
	_, err := h.run(ctx, c, statement{text: p.PrepareStmt, bindings: p.BindVars},
		func(res *sqltypes.Result, _ bool) error { return callback(res) })
	return err
}

// ComPrepare implements mysql.Handler.
func (h *handler) ComPrepare(ctx context.Context, c *mysql.Conn, query string, _ *mysql.PrepareData) (fields []*querypb.Field, err error) {
	defer h.recovered(&err, query)
	sctx, err := h.sm.NewContextWithQuery(ctx, c, query)
	if err != nil {
		return nil, err
	}
	if sctx, err = sctx.ProcessList.BeginOperation(sctx); err != nil {
		return nil, err
	}
	defer sctx.ProcessList.EndOperation(sctx)
	if err := sql.SessionCommandBegin(sctx.Session); err != nil {
		return nil, err
	}
	defer sql.SessionCommandEnd(sctx.Session)
	node, err := h.engine.PrepareQuery(sctx, query)
	if err != nil {
		return nil, err
	}
	// A statement that only changes something has no columns, whatever its plan says so far.
	if changes(node) || types.IsOkResultSchema(node.Schema(sctx)) {
		return nil, nil
	}
	return fieldsOf(sctx, node.Schema(sctx)), nil
}

// ComRegisterReplica implements mysql.BinlogReplicaHandler.
func (h *handler) ComRegisterReplica(*mysql.Conn, string, uint16, string, string) error {
	return errNoBinlog
}

// ComBinlogDumpGTID implements mysql.BinlogReplicaHandler.
func (h *handler) ComBinlogDumpGTID(*mysql.Conn, string, uint64, mysql.GTIDSet) error {
	return errNoBinlog
}

var errNoBinlog = mysql.NewSQLError(1381, "HY000", "there is no binary log; follow a table by its commits instead")

// recovered makes a panic the error of the statement it happened in, and gives err what a client
// is to see. It must be deferred first, so that the statement's own ends run before it.
func (h *handler) recovered(err *error, query string) {
	if p := recover(); p != nil {
		h.log.Error("statement failed with a panic", "statement", readable(query), "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("internal error, please report it: %v in statement: %s", p, readable(query))
	}
	*err = h.clientError(*err)
}

// clientError gives an error its MySQL number (I2); nil stays nil.
func (h *handler) clientError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errShutdown) || errors.Is(err, errClientGone) {
		return mysql.NewSQLError(erQueryInterrupted, "70100", "Query execution was interrupted")
	}
	return sqltable.SQLError(err)
}

// readable cuts a statement for a message.
func readable(query string) string {
	const most = 200
	r := []rune(query)
	if len(r) <= most {
		return query
	}
	return string(r[:most]) + "…"
}

// newContext makes the contexts of statements. A file that a client sends passes its pipe as it is.
func (h *handler) newContext(ctx context.Context, opts ...sql.ContextOption) *sql.Context {
	c := sql.NewContext(ctx, opts...)
	if c.Session == nil {
		return c
	}
	base := *c
	id := c.Session.ID()
	sql.WithServices(sql.Services{
		KillConnection: base.KillConnection,
		LoadInfile: func(name string) (io.ReadCloser, error) {
			p := h.clients.pipeOf(id)
			if p == nil {
				return base.LoadInfile(name)
			}
			p.raw.Store(true)
			r, err := base.LoadInfile(name)
			if err != nil {
				p.raw.Store(false)
				return nil, err
			}
			return &infile{r, p}, nil
		},
	})(c)
	return c
}

// infile is a file that a client sends. Close returns when the client has sent all of it.
type infile struct {
	io.ReadCloser
	p *pipe
}

// Close implements io.Closer.
func (f *infile) Close() error {
	err := f.ReadCloser.Close()
	f.p.raw.Store(false)
	return err
}

// connCommander is what a pipe asks about its connection.
type connCommander struct {
	h *handler
	c *mysql.Conn
}

func (k *connCommander) closing() bool { return k.h.clients.closing() }

func (k *connCommander) statistics() []byte {
	up := max(int64(time.Since(k.h.started).Seconds()), 1)
	questions := statusVariable("Questions")
	return fmt.Appendf(nil, "Uptime: %d  Threads: %d  Questions: %d  Slow queries: %d  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: %.3f",
		up, k.h.clients.count(), questions, statusVariable("Slow_queries"), float64(questions)/float64(up))
}

func statusVariable(name string) uint64 {
	_, v, ok := sql.StatusVariables.GetGlobal(name)
	n, isInt := v.(uint64)
	if !ok || !isInt {
		return 0
	}
	return n
}

// prepare implements commander. The wire library would answer a text that it cannot parse with
// error 1105 and no SQLSTATE of syntax errors, and ends connections over trees that it cannot walk.
func (k *connCommander) prepare(text string) (string, []byte) {
	text = sqlproc.Rewrite(text)
	o, err := k.h.ParserOptionsForConnection(k.c)
	var stmt sqlparser.Statement
	if err == nil {
		stmt, err = sqlparser.ParseWithOptions(context.Background(), text, o)
	}
	switch {
	case errors.Is(err, sqlparser.ErrEmpty):
		return "", errPacket(mysql.EREmptyQuery, "42000", "Query was empty")
	case err != nil:
		return "", errPacket(mysql.ERParseError, "42000", sql.ErrSyntaxError.New(err.Error()).Error())
	case !preparable(stmt):
		return "", errPacket(erUnsupportedPrepare, "HY000", "This command is not supported in the prepared statement protocol yet")
	}
	return text, nil
}

// erUnsupportedPrepare makes drivers send the statement as text.
const erUnsupportedPrepare = 1295

// preparable reports whether a statement can be prepared. As in MySQL, LOAD DATA cannot.
func preparable(stmt sqlparser.Statement) (ok bool) {
	if _, load := stmt.(*sqlparser.Load); load {
		return false
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // as the wire library is about to
		if v, isValue := n.(*sqlparser.SQLVal); isValue {
			_ = v.Val
		}
		return true, nil
	}, stmt)
	return true
}
