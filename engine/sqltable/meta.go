package sqltable

import (
	"context"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/shoaldb/shoal/layout/column"
)

// The meta columns have to be selectable by name and absent from `*`, NATURAL JOIN, INSERT
// without a column list and DESCRIBE. go-mysql-server knows columns that `*` leaves out, but only
// by a name prefix, and refuses to name them; it knows no columns that are neither.
//
// So a statement that names a meta column is rewritten after parsing: the column gets the hidden
// name, a bare select item an alias that gives its own name back, and the tables it may come from
// a mark, which makes the database present them with meta columns. Other statements never see
// meta columns. What a name refers to follows from the FROM clause alone: a meta name in a scope
// with a table of the warehouse is that table's, one whose scope has only derived tables, views
// and common table expressions is a column of theirs and left as it is.

// hiddenPrefix is what `*` leaves out.
const hiddenPrefix = sql.HiddenSystemColumnPrefix

// metaMark ends the name of a table that is wanted with meta columns. No table can be called so.
const metaMark = "\x00meta"

// dropMark ends the name of a table that is wanted in order to drop it, in whatever state it is.
const dropMark = "\x00drop"

func cutMetaMark(name string) (string, bool) { return strings.CutSuffix(name, metaMark) }

// markedAccess is an access check that sees through the marks of table names.
type markedAccess struct{ sql.AuthorizationHandler }

// CheckTable implements sql.AuthorizationHandler.
func (m markedAccess) CheckTable(ctx *sql.Context, state sql.AuthorizationQueryState, db, schema, table string) error {
	table, _ = cutMetaMark(table)
	return m.AuthorizationHandler.CheckTable(ctx, state, db, schema, strings.TrimSuffix(table, dropMark))
}

// engineColumn is the engine's name of a SQL column.
func engineColumn(name string) string {
	if rest, ok := strings.CutPrefix(name, hiddenPrefix); ok {
		return rest
	}
	return name
}

// metaColumns is what a marked table has besides its own columns.
func metaColumns(database, table string) sql.Schema {
	out := make(sql.Schema, len(column.MetaColumns))
	for i, n := range column.MetaColumns {
		out[i] = &sql.Column{Name: hiddenPrefix + n, Type: types.LongText, Source: table, DatabaseSource: database,
			Nullable: true, HiddenSystem: true}
	}
	return out
}

// metaName is the meta column that a name means, in its own case.
func metaName(name string) (string, bool) {
	for _, n := range column.MetaColumns {
		if sameName(n, name) {
			return n, true
		}
	}
	return "", false
}

// metaParser is a parser whose statements name meta columns the hidden way, and that makes the
// hoodie.* variables which a SET names known.
type metaParser struct {
	sql.Parser
	p *Provider
}

// ParseSimple implements sql.Parser.
func (m *metaParser) ParseSimple(query string) (sqlparser.Statement, error) {
	stmt, err := m.Parser.ParseSimple(query)
	return m.rewrite(context.Background(), query, stmt), err
}

// Parse implements sql.Parser.
func (m *metaParser) Parse(ctx *sql.Context, query string, multi bool) (sqlparser.Statement, string, string, error) {
	stmt, parsed, rest, err := m.Parser.Parse(ctx, query, multi)
	return m.rewrite(ctx, query, stmt), parsed, rest, err
}

// ParseWithOptions implements sql.Parser.
func (m *metaParser) ParseWithOptions(ctx context.Context, query string, delimiter rune, multi bool, o sqlparser.ParserOptions) (sqlparser.Statement, string, string, error) {
	stmt, parsed, rest, err := m.Parser.ParseWithOptions(ctx, query, delimiter, multi, o)
	return m.rewrite(ctx, query, stmt), parsed, rest, err
}

// ParseOneWithOptions implements sql.Parser.
func (m *metaParser) ParseOneWithOptions(ctx context.Context, query string, o sqlparser.ParserOptions) (sqlparser.Statement, int, error) {
	stmt, next, err := m.Parser.ParseOneWithOptions(ctx, query, o)
	return m.rewrite(ctx, query, stmt), next, err
}

func (m *metaParser) rewrite(ctx context.Context, query string, stmt sqlparser.Statement) sqlparser.Statement {
	if stmt == nil {
		return nil
	}
	if set, ok := stmt.(*sqlparser.Set); ok {
		registerNamed(set)
		return stmt
	}
	if e, ok := stmt.(*sqlparser.Explain); ok {
		m.rewrite(ctx, query, e.Statement)
		return stmt
	}
	if hasPoint(query) {
		castDecimals(stmt)
	}
	if ddl, ok := stmt.(*sqlparser.DDL); ok {
		if ddl.OptLike != nil {
			m.keepLike(ctx, ddl)
		}
		if ddl.Action == sqlparser.DropStr {
			m.markDropped(ctx, ddl)
		}
	}
	if !strings.Contains(strings.ToLower(query), "_hoodie_") {
		return stmt
	}
	r := &metaRewriter{isTable: func(db, table string) bool { return m.isTable(ctx, db, table) }}
	r.walk(stmt, nil)
	if ddl, ok := stmt.(*sqlparser.DDL); ok && ddl.OptSelect != nil {
		r.walk(ddl.OptSelect.Select, nil)
	}
	return stmt
}

// markDropped lets DROP TABLE name a table that cannot be opened.
func (m *metaParser) markDropped(ctx context.Context, ddl *sqlparser.DDL) {
	for i, n := range ddl.FromTables {
		if m.isTable(ctx, n.DbQualifier.String(), n.Name.String()) {
			ddl.FromTables[i].Name = sqlparser.NewTableIdent(n.Name.String() + dropMark)
		}
	}
}

// isTable reports whether a name in a FROM clause is a table of the warehouse.
func (m *metaParser) isTable(ctx context.Context, db, table string) bool {
	if db == "" {
		if c, ok := ctx.(*sql.Context); ok && c != nil && c.Session != nil {
			db = c.GetCurrentDatabase()
		}
	}
	names, err := m.p.w.Tables(db)
	if err != nil {
		return false
	}
	for _, n := range names {
		if sameName(n, table) {
			return true
		}
	}
	return false
}

// registerNamed makes the hoodie.* and shoal.* variables of a SET known, whatever they are called.
func registerNamed(set *sqlparser.Set) {
	for _, e := range set.Exprs {
		if e.Name == nil {
			continue
		}
		name := e.Name.Name.String()
		if q := e.Name.Qualifier.Name.String(); q != "" {
			name = q + "." + name
		}
		name = strings.ReplaceAll(name, "`", "")
		lower := strings.ToLower(name)
		for _, prefix := range []string{"hoodie.", "shoal."} {
			if i := strings.Index(lower, prefix); i == 0 || i > 0 && (lower[i-1] == '.' || lower[i-1] == '@') {
				RegisterOption(name[i:])
			}
		}
	}
}

// metaScope is what one SELECT can name columns of.
type metaScope struct {
	outer  *metaScope
	tables map[string]*sqlparser.AliasedTableExpr // of the warehouse, by lower-case alias
	others map[string]bool                        // everything else
	ctes   map[string]bool                        // common table expressions visible here
}

type metaRewriter struct {
	isTable func(db, table string) bool
}

// walk rewrites the SELECTs in a node.
func (r *metaRewriter) walk(node sqlparser.SQLNode, outer *metaScope) {
	if node == nil {
		return
	}
	// Walk's only error is the visitor's, and this one has none.
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *sqlparser.Select:
			if n != nil {
				r.selectStatement(n, outer)
			}
			return false, nil
		case *sqlparser.SetOp:
			if n != nil && n.With != nil {
				r.setOp(n, outer)
				return false, nil
			}
		}
		return true, nil
	}, node)
}

// setOp handles a UNION with common table expressions, whose names its branches see.
func (r *metaRewriter) setOp(n *sqlparser.SetOp, outer *metaScope) {
	s := &metaScope{outer: outer, ctes: map[string]bool{}}
	r.with(n.With, s)
	r.walk(n.Left, s)
	r.walk(n.Right, s)
}

func (r *metaRewriter) with(w *sqlparser.With, s *metaScope) {
	if w == nil {
		return
	}
	for _, c := range w.Ctes {
		if w.Recursive {
			s.ctes[strings.ToLower(c.As.String())] = true
		}
		r.walk(c.AliasedTableExpr.Expr, s)
		s.ctes[strings.ToLower(c.As.String())] = true
	}
}

func (r *metaRewriter) selectStatement(sel *sqlparser.Select, outer *metaScope) {
	s := &metaScope{outer: outer, tables: map[string]*sqlparser.AliasedTableExpr{}, others: map[string]bool{}, ctes: map[string]bool{}}
	r.with(sel.With, s)
	for _, t := range sel.From {
		r.collect(t, s)
	}
	for _, e := range sel.SelectExprs {
		if a, ok := e.(*sqlparser.AliasedExpr); ok {
			if c, ok := a.Expr.(*sqlparser.ColName); ok && r.column(c, s) && a.As.IsEmpty() {
				a.As = sqlparser.NewColIdent(engineColumn(c.Name.String()))
			}
		}
	}
	visit := func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *sqlparser.Select:
			if n != nil {
				r.selectStatement(n, s)
			}
			return false, nil
		case *sqlparser.ColName:
			if n != nil {
				r.column(n, s)
			}
		}
		return true, nil
	}
	for _, part := range []sqlparser.SQLNode{sel.SelectExprs, sel.From, sel.Where, sel.GroupBy, sel.Having, sel.OrderBy} {
		_ = sqlparser.Walk(visit, part)
	}
	for _, w := range sel.Window {
		_ = sqlparser.Walk(visit, w)
	}
}

// collect notes what a FROM item brings into scope.
func (r *metaRewriter) collect(t sqlparser.TableExpr, s *metaScope) {
	switch t := t.(type) {
	case *sqlparser.AliasedTableExpr:
		name, isName := t.Expr.(sqlparser.TableName)
		alias := t.As.String()
		if alias == "" && isName {
			alias = name.Name.String()
		}
		alias = strings.ToLower(alias)
		if isName && !(name.DbQualifier.IsEmpty() && s.isCTE(name.Name.String())) &&
			r.isTable(name.DbQualifier.String(), name.Name.String()) {
			s.tables[alias] = t
			return
		}
		s.others[alias] = true
	case *sqlparser.JoinTableExpr:
		r.collect(t.LeftExpr, s)
		r.collect(t.RightExpr, s)
	case *sqlparser.ParenTableExpr:
		for _, e := range t.Exprs {
			r.collect(e, s)
		}
	default:
		s.others[""] = true
	}
}

func (s *metaScope) isCTE(name string) bool {
	for ; s != nil; s = s.outer {
		if s.ctes[strings.ToLower(name)] {
			return true
		}
	}
	return false
}

// column renames a reference to a meta column of a table and reports whether it is one.
func (r *metaRewriter) column(c *sqlparser.ColName, s *metaScope) bool {
	if strings.HasPrefix(c.Name.String(), hiddenPrefix) {
		return true
	}
	name, ok := metaName(c.Name.String())
	if !ok {
		return false
	}
	qualifier := strings.ToLower(c.Qualifier.Name.String())
	for ; s != nil; s = s.outer {
		var from []*sqlparser.AliasedTableExpr
		switch {
		case qualifier == "":
			for _, t := range s.tables {
				from = append(from, t)
			}
			if len(from) == 0 && len(s.others) > 0 {
				return false
			}
		case s.others[qualifier]:
			return false
		case s.tables[qualifier] != nil:
			from = append(from, s.tables[qualifier])
		}
		if len(from) == 0 {
			continue
		}
		for _, t := range from {
			mark(t)
		}
		c.Name = sqlparser.NewColIdent(hiddenPrefix + name)
		return true
	}
	return false
}

// mark asks for a table with its meta columns.
func mark(t *sqlparser.AliasedTableExpr) {
	n, ok := t.Expr.(sqlparser.TableName)
	if !ok || strings.HasSuffix(n.Name.String(), metaMark) {
		return
	}
	n.Name = sqlparser.NewTableIdent(n.Name.String() + metaMark)
	t.Expr = n
}
