package server

import (
	"context"
	"errors"
	"io"

	gms "github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// A batch of rows goes to the client when it has batchRows rows or batchBytes bytes. An error
// within the first batch reaches the client as an error; later ones can only end the connection,
// since the rows before it are sent.
const (
	batchRows  = 1024
	batchBytes = 256 << 10
)

// statement is what a client sent.
type statement struct {
	text     string
	several  bool // text may have more statements behind the first
	bindings map[string]*querypb.BindVariable
}

// run executes a statement and hands its rows to callback. rest is what follows it in the text.
func (h *handler) run(ctx context.Context, c *mysql.Conn, s statement, callback mysql.ResultSpoolFn) (rest string, err error) {
	defer h.recovered(&err, s.text)
	ctx, end, err := h.clients.begin(ctx, c.ConnectionID)
	if err != nil {
		return "", err
	}
	defer end()
	sctx, err := h.sm.NewContextWithQuery(ctx, c, s.text)
	if err != nil {
		return "", err
	}
	sctx, stop, err := h.limitTime(sctx, s.text)
	if err != nil {
		return "", err
	}
	defer stop(&err)
	if sctx, err = sctx.ProcessList.BeginQuery(sctx, s.text); err != nil {
		return "", err
	}
	defer sctx.ProcessList.EndQuery(sctx)
	if err := sql.SessionCommandBegin(sctx.Session); err != nil {
		return "", err
	}
	defer sql.SessionCommandEnd(sctx.Session)
	text := s.text
	var parsed sqlparser.Statement
	if _, prepared := sctx.Session.GetPreparedQuery(text); s.several && !prepared {
		var first string
		// An error comes again, and is returned, when the engine parses the text.
		parsed, first, rest, _ = h.engine.Parser.Parse(sctx, text, true)
		if first != "" {
			text = first
		}
	}
	bound, err := bind(s.bindings)
	if err != nil {
		return rest, err
	}
	flags := &sql.QueryFlags{}
	flags.Set(sql.QFlagDeferProjections) // evaluated by RowToSQL, which saves a row each
	schema, rows, _, err := h.engine.QueryWithBindings(sctx, text, parsed, bound, flags)
	if err != nil {
		return rest, err
	}
	sp := &spooler{ctx: sctx, schema: schema, fields: fieldsOf(sctx, schema), more: rest != "", send: callback,
		status: func() error { return setStatus(sctx, c) }}
	return rest, sp.all(rows)
}

// bind turns the values of placeholders into expressions.
func bind(vars map[string]*querypb.BindVariable) (map[string]sqlparser.Expr, error) {
	if len(vars) == 0 {
		return nil, nil
	}
	out := make(map[string]sqlparser.Expr, len(vars))
	for name, v := range vars {
		value, err := sqltypes.BindVariableToValue(v)
		if err != nil {
			return nil, err
		}
		if out[name], err = sqlparser.ExprFromValue(value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// spooler carries the rows of one result to a client.
type spooler struct {
	ctx    *sql.Context
	schema sql.Schema
	fields []*querypb.Field
	more   bool // another result follows
	send   mysql.ResultSpoolFn
	status func() error // before the last part is sent
}

// all sends every row and closes the iterator, whatever happens.
func (s *spooler) all(rows sql.RowIter) (err error) {
	source, projections := gms.GetDeferredProjections(rows)
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, source.Close(s.ctx))
		}
	}()
	res, size := s.batch(), 0
	buf := sql.NewByteBuffer(4 << 10)
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		row, err := source.Next(s.ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if types.IsOkResult(row) {
			res = okResult(types.GetOkResult(row))
			continue
		}
		out, err := gms.RowToSQL(s.ctx, s.schema, row, projections, buf)
		if err != nil {
			return err
		}
		res.Rows = append(res.Rows, out)
		for i := range out {
			out[i] = PlainNumber(out[i])
			size += out[i].Len()
		}
		if len(res.Rows) == batchRows || size >= batchBytes {
			res.RowsAffected = uint64(len(res.Rows))
			if err := s.send(res, s.more); err != nil {
				return err
			}
			// A cursor may still hold the batch, so its bytes are not used again.
			res, size, buf = s.batch(), 0, sql.NewByteBuffer(batchBytes)
		}
	}
	// A statement may still fail when it is closed: it commits then.
	closed = true
	if err := source.Close(s.ctx); err != nil {
		return err
	}
	if err := s.status(); err != nil {
		return err
	}
	if n := len(res.Rows); n > 0 {
		res.RowsAffected = uint64(n)
	}
	return s.send(res, s.more)
}

func (s *spooler) batch() *sqltypes.Result { return &sqltypes.Result{Fields: s.fields} }

func okResult(r types.OkResult) *sqltypes.Result {
	out := &sqltypes.Result{RowsAffected: r.RowsAffected, InsertID: r.InsertID}
	if r.Info != nil {
		out.Info = r.Info.String()
	}
	return out
}

// setStatus tells the client of autocommit and of an open transaction.
func setStatus(ctx *sql.Context, c *mysql.Conn) error {
	v, err := ctx.GetSessionVariable(ctx, sql.AutoCommitSessionVar)
	if err != nil {
		return err
	}
	auto, err := sql.ConvertToBool(ctx, v)
	if err != nil {
		return err
	}
	set := func(flag uint16, on bool) {
		if c.StatusFlags &^= flag; on {
			c.StatusFlags |= flag
		}
	}
	set(uint16(mysql.ServerStatusAutocommit), auto)
	set(uint16(mysql.ServerInTransaction), ctx.GetTransaction() != nil && ctx.GetIgnoreAutoCommit())
	return nil
}

// changes reports whether the plan of a prepared statement will give a count of rows, not rows.
func changes(n sql.Node) bool {
	switch n := n.(type) {
	case *plan.InsertInto:
		return n.Returning == nil
	case *plan.Update, *plan.UpdateJoin, *plan.DeleteFrom:
		return true
	}
	return false
}

// fieldsOf describes the columns of a result to clients; none for a count of changed rows.
func fieldsOf(ctx *sql.Context, s sql.Schema) []*querypb.Field {
	if types.IsOkResultSchema(s) {
		return nil
	}
	results := ctx.GetCharacterSetResults()
	out := make([]*querypb.Field, len(s))
	for i, c := range s {
		f := &querypb.Field{Name: c.Name, OrgName: c.Name, Table: c.Source, OrgTable: c.Source, Database: c.DatabaseSource,
			Type: c.Type.Type(), ColumnLength: c.Type.MaxTextResponseByteLength(ctx), Charset: uint32(sql.Collation_Default.CharacterSet())}
		if t, ok := c.Type.(sql.TypeWithCollation); ok {
			f.Charset = uint32(t.Collation().CharacterSet())
		}
		switch {
		case types.IsBinaryType(c.Type):
			f.Charset = uint32(sql.Collation_binary)
		case results != sql.CharacterSet_Unspecified:
			f.Charset = uint32(results)
		}
		for _, flag := range []struct {
			on   bool
			flag querypb.MySqlFlag
		}{
			{!c.Nullable, querypb.MySqlFlag_NOT_NULL_FLAG},
			{c.AutoIncrement, querypb.MySqlFlag_AUTO_INCREMENT_FLAG},
			{c.PrimaryKey, querypb.MySqlFlag_PRI_KEY_FLAG},
			{types.IsUnsigned(c.Type), querypb.MySqlFlag_UNSIGNED_FLAG},
		} {
			if flag.on {
				f.Flags |= uint32(flag.flag)
			}
		}
		switch t := c.Type.(type) {
		case sql.DecimalType:
			f.Decimals = uint32(t.Scale())
		case sql.DatetimeType:
			f.Decimals = uint32(t.Precision())
		}
		out[i] = f
	}
	return out
}
