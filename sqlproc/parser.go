package sqlproc

import (
	"context"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// Parser is MySQL's parser with the statements that Rewrite documents, and with CALL of ShoalDB's
// procedures. It is safe for concurrent use.
type Parser struct {
	*sql.MysqlParser
	procs *Procedures
}

var _ sql.Parser = (*Parser)(nil)

// NewParser makes a parser that knows procs; nil means no procedures.
func NewParser(procs *Procedures) sql.Parser {
	return &Parser{MysqlParser: sql.NewMysqlParser(), procs: procs}
}

// ParseSimple implements sql.Parser.
func (p *Parser) ParseSimple(query string) (sqlparser.Statement, error) {
	stmt, err := p.MysqlParser.ParseSimple(Rewrite(query))
	if err != nil {
		return stmt, err
	}
	return p.adapt(stmt)
}

// Parse implements sql.Parser.
func (p *Parser) Parse(ctx *sql.Context, query string, multi bool) (sqlparser.Statement, string, string, error) {
	return p.ParseWithOptions(ctx, query, ';', multi, sql.LoadSqlMode(ctx).ParserOptions())
}

// ParseWithOptions implements sql.Parser. The texts returned are of the rewritten query, which may
// be parsed again (I2).
func (p *Parser) ParseWithOptions(ctx context.Context, query string, delimiter rune, multi bool, o sqlparser.ParserOptions) (sqlparser.Statement, string, string, error) {
	stmt, parsed, rest, err := p.MysqlParser.ParseWithOptions(ctx, Rewrite(query), delimiter, multi, o)
	if err == nil {
		stmt, err = p.adapt(stmt)
	}
	return stmt, parsed, rest, err
}

// ParseOneWithOptions implements sql.Parser. The index is of the query as it was given.
func (p *Parser) ParseOneWithOptions(ctx context.Context, query string, o sqlparser.ParserOptions) (sqlparser.Statement, int, error) {
	text, edits := rewrite(query)
	stmt, next, err := p.MysqlParser.ParseOneWithOptions(ctx, text, o)
	if err == nil {
		stmt, err = p.adapt(stmt)
	}
	return stmt, original(edits, next), err
}

// adapt finds what Rewrite marked.
func (p *Parser) adapt(stmt sqlparser.Statement) (sqlparser.Statement, error) {
	switch s := stmt.(type) {
	case *sqlparser.DDL:
		if strings.EqualFold(s.Action, sqlparser.CreateStr) {
			return stmt, adaptCreate(s)
		}
	case *sqlparser.Call:
		return p.adaptCall(s), nil
	case *sqlparser.Explain:
		inner, err := p.adapt(s.Statement)
		s.Statement = inner
		return stmt, err
	}
	return stmt, nil
}

// adaptCall makes a CALL of one of our procedures a statement of its own. Others go on as they
// are, for the SQL engine to say that there is no such procedure.
func (p *Parser) adaptCall(c *sqlparser.Call) sqlparser.Statement {
	var names []string
	var values sqlparser.Exprs
	for i := 0; i < len(c.Params); i++ {
		name, marked := argumentName(c.Params[i])
		if marked && i+1 < len(c.Params) {
			i++
		}
		names = append(names, name)
		values = append(values, c.Params[i])
	}
	proc := p.procs.find(c.ProcName.Name.String())
	if proc == nil {
		c.Params = values
		return c
	}
	return sqlparser.InjectedStatement{
		Auth:      c.Auth,
		Statement: &call{procs: p.procs, proc: proc, database: c.ProcName.Qualifier.String(), names: names},
		Children:  values,
	}
}

// argumentName is the name that a marked string carries.
func argumentName(e sqlparser.Expr) (string, bool) {
	v, ok := e.(*sqlparser.SQLVal)
	if !ok || v.Type != sqlparser.StrVal {
		return "", false
	}
	return strings.CutPrefix(string(v.Val), namedMark)
}
