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
	return p.adapt(stmt), err
}

// Parse implements sql.Parser.
func (p *Parser) Parse(ctx *sql.Context, query string, multi bool) (sqlparser.Statement, string, string, error) {
	return p.ParseWithOptions(ctx, query, ';', multi, sql.LoadSqlMode(ctx).ParserOptions())
}

// ParseWithOptions implements sql.Parser. The texts returned are of the rewritten query, which may
// be parsed again (I2).
func (p *Parser) ParseWithOptions(ctx context.Context, query string, delimiter rune, multi bool, o sqlparser.ParserOptions) (sqlparser.Statement, string, string, error) {
	stmt, parsed, rest, err := p.MysqlParser.ParseWithOptions(ctx, Rewrite(query), delimiter, multi, o)
	return p.adapt(stmt), parsed, rest, err
}

// ParseOneWithOptions implements sql.Parser. The index is of the query as it was given.
func (p *Parser) ParseOneWithOptions(ctx context.Context, query string, o sqlparser.ParserOptions) (sqlparser.Statement, int, error) {
	text, edits := rewrite(query)
	stmt, next, err := p.MysqlParser.ParseOneWithOptions(ctx, text, o)
	return p.adapt(stmt), original(edits, next), err
}

// adapt finds what Rewrite marked. A statement that is refused becomes one that fails with its
// reason when it is planned: an error of a parser is reported as one of syntax.
func (p *Parser) adapt(stmt sqlparser.Statement) sqlparser.Statement {
	switch s := stmt.(type) {
	case *sqlparser.DDL:
		if s != nil && strings.EqualFold(s.Action, sqlparser.CreateStr) {
			if err := adaptCreate(s); err != nil {
				return sqlparser.InjectedStatement{Auth: sqlparser.AuthInformation{AuthType: sqlparser.AuthType_IGNORE}, Statement: refused{err}}
			}
		}
	case *sqlparser.Call:
		return p.adaptCall(s)
	case *sqlparser.Explain:
		s.Statement = p.adapt(s.Statement)
	}
	return stmt
}

// refused is a statement that fails.
type refused struct{ err error }

// WithResolvedChildren implements sqlparser.Injectable.
func (r refused) WithResolvedChildren(context.Context, []any) (any, error) { return nil, r.err }

// adaptCall makes a CALL a statement of its own. There are no procedures but ours; the SQL engine
// would look for others in the database in use, and fails badly when there is none.
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
		return sqlparser.InjectedStatement{Auth: c.Auth,
			Statement: refused{sql.ErrStoredProcedureDoesNotExist.New(c.ProcName.String())}}
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
	name, ok := strings.CutPrefix(string(v.Val), namedMark)
	if !ok {
		return "", false
	}
	return name, true
}
