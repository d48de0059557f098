package sqltable

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/shoaldb/shoal/engine"
)

// Rule ids beyond those of go-mysql-server.
const (
	ruleRefuse analyzer.RuleId = 1000 + iota
	ruleKeepOptions
	ruleCountRows
	rulePushFilters
)

// refuse rejects statements that tables do not do yet before anything of them runs.
func refuse(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	what := ""
	var err error
	transform.InspectWithOpaque(ctx, n, func(_ *sql.Context, n sql.Node) bool {
		switch n := n.(type) {
		case *plan.Into:
			err = refuseOutfile(n)
		case *plan.Update:
			what = changes(ctx, n.Child, "UPDATE")
		case *plan.DeleteFrom:
			what = changes(ctx, n.Child, "DELETE")
		case *plan.Truncate:
			what = changes(ctx, n.Child, "TRUNCATE TABLE")
		case *plan.InsertInto:
			switch {
			case n.IsReplace:
				what = changes(ctx, n.Destination, "REPLACE")
			case n.OnDupExprs.HasUpdates():
				what = changes(ctx, n.Destination, "INSERT … ON DUPLICATE KEY UPDATE")
			case len(n.Returning) > 0:
				what = changes(ctx, n.Destination, "INSERT … RETURNING")
			}
		}
		return what == "" && err == nil
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	if what != "" {
		return nil, transform.SameTree, notYet(what)
	}
	return n, transform.SameTree, nil
}

func notYet(what string) error {
	return &engine.UnsupportedError{What: what, Why: "not supported yet, tables take INSERT, INSERT IGNORE and LOAD DATA"}
}

// changes gives what back if a table of ours is below n, and "" otherwise.
func changes(ctx *sql.Context, n sql.Node, what string) string {
	found := ""
	transform.InspectWithOpaque(ctx, n, func(_ *sql.Context, n sql.Node) bool {
		if rt, ok := n.(*plan.ResolvedTable); ok && tableOf(rt.Table) != nil {
			found = what
		}
		return found == ""
	})
	return found
}

// keepOptions remembers the table options of CREATE TABLE … SELECT, whose plan the analyzer
// rebuilds without them.
func keepOptions(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	if ct, ok := n.(*plan.CreateTable); ok && ct.Select() != nil {
		if d := databaseOf(ct.Database()); d != nil {
			sessionOf(ctx).keepOptions(d.name, ct.Name(), ct.TableOpts)
		}
	}
	return n, transform.SameTree, nil
}

// countRows answers SELECT COUNT(*) of a whole table from its snapshot. go-mysql-server does so
// itself for tables with a key; this does it for those without.
func countRows(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	if plan.IsDDLNode(n) {
		return n, transform.SameTree, nil
	}
	return transform.Node(ctx, n, func(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
		g, ok := n.(*plan.GroupBy)
		if !ok || len(g.SelectDeps) != 1 || len(g.GroupByExprs) != 0 {
			return n, transform.SameTree, nil
		}
		rt := resolvedTable(g.Child)
		count, name := countOf(g.SelectDeps[0])
		if rt == nil || count == nil {
			return n, transform.SameTree, nil
		}
		t, ok := rt.Table.(*Table)
		if !ok {
			return n, transform.SameTree, nil
		}
		rows, exact, err := t.RowCount(ctx)
		if err != nil || !exact {
			return n, transform.SameTree, err
		}
		out := expression.NewAlias(name, expression.NewGetFieldWithTable(int(count.Id()), 0, types.Int64, rt.Database().Name(), t.Name(), name, false)).
			WithId(count.Id())
		return plan.NewProject([]sql.Expression{out}, plan.NewTableCount(name, rt.SqlDatabase, t, rows, count.Id())), transform.NewTree, nil
	})
}

// countOf is the COUNT(*) or COUNT(literal) that an expression is, with its output name.
func countOf(e sql.Expression) (*aggregation.Count, string) {
	name := e.String()
	if a, ok := e.(*expression.Alias); ok {
		name, e = a.Name(), a.Child
	}
	c, ok := e.(*aggregation.Count)
	if !ok {
		return nil, ""
	}
	switch arg := c.Child.(type) {
	case *expression.Star:
		return c, name
	case *expression.Literal:
		if arg.Value() != nil {
			return c, name
		}
	}
	return nil, ""
}

// resolvedTable is the table that a node is, perhaps under an alias.
func resolvedTable(n sql.Node) *plan.ResolvedTable {
	if a, ok := n.(*plan.TableAlias); ok {
		n = a.Child
	}
	rt, _ := n.(*plan.ResolvedTable)
	return rt
}

// pushFilters hands the filters that stand directly above tables to their scans and folds the
// constants in what stays above. It runs after all other rules, on the final tree.
func pushFilters(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	return pushInto(ctx, n, !switchedOff(ctx, VarPushdown))
}

func pushInto(ctx *sql.Context, n sql.Node, push bool) (sql.Node, transform.TreeIdentity, error) {
	return transform.NodeWithOpaque(ctx, n, func(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
		same := transform.SameTree
		if ins, ok := n.(*plan.InsertInto); ok {
			src, id, err := pushInto(ctx, ins.Source, push)
			if err != nil {
				return nil, same, err
			}
			if id == transform.NewTree {
				n, same = ins.WithSource(src), id
			}
			if destination(ins.Destination) != nil {
				n, same = &insertNode{n.(*plan.InsertInto)}, transform.NewTree
			}
		}
		m, id, err := transform.OneNodeExprsWithNode(ctx, n, func(ctx *sql.Context, _ sql.Node, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
			sub, ok := e.(*plan.Subquery)
			if !ok {
				return e, transform.SameTree, nil
			}
			q, id, err := pushInto(ctx, sub.Query, push)
			if err != nil || id == transform.SameTree {
				return e, transform.SameTree, err
			}
			return sub.WithQuery(q), transform.NewTree, nil
		})
		if err != nil {
			return nil, transform.SameTree, err
		}
		n, same = m, same && id
		f, ok := n.(*plan.Filter)
		if !ok {
			return n, same, nil
		}
		p, id, err := pushFilter(ctx, f, push)
		return p, same && id, err
	})
}

// pushFilter handles one filter above one table of ours.
func pushFilter(ctx *sql.Context, f *plan.Filter, push bool) (sql.Node, transform.TreeIdentity, error) {
	rt := resolvedTable(f.Child)
	if rt == nil {
		return f, transform.SameTree, nil
	}
	t, ok := rt.Table.(*Table)
	if !ok {
		return f, transform.SameTree, nil
	}
	cond, err := foldConstants(ctx, f.Expression)
	if err != nil {
		return nil, transform.SameTree, err
	}
	var child sql.Node = f.Child
	if push && t.predicate == nil {
		c := &filterCompiler{ctx: ctx, schema: t.snap.FullSchema(), column: columnsOf(ctx, t, f.Child)}
		if p, from := c.conjuncts(cond); p != nil {
			if child, err = withTable(ctx, f.Child, rt, t.WithPredicate(p, from)); err != nil {
				return nil, transform.SameTree, err
			}
		}
	}
	if cond == f.Expression && child == f.Child {
		return f, transform.SameTree, nil
	}
	return plan.NewFilter(cond, child), transform.NewTree, nil
}

// columnsOf tells which expressions are plain columns of the table under a filter. A field of
// another name (an outer query's) is not.
func columnsOf(ctx *sql.Context, t *Table, under sql.Node) func(sql.Expression) (string, sql.Type, bool) {
	alias := t.Name()
	if a, ok := under.(*plan.TableAlias); ok {
		alias = a.Name()
	}
	return func(e sql.Expression) (string, sql.Type, bool) {
		g, ok := e.(*expression.GetField)
		if !ok || !strings.EqualFold(g.Table(), alias) {
			return "", nil, false
		}
		i := t.schema.IndexOfColName(g.Name())
		if i < 0 {
			return "", nil, false
		}
		c := t.schema[i]
		return engineColumn(c.Name), c.Type, c.Type.Equals(g.Type(ctx))
	}
}

// withTable puts a changed table back where it came from.
func withTable(ctx *sql.Context, under sql.Node, rt *plan.ResolvedTable, t *Table) (sql.Node, error) {
	changed, err := rt.ReplaceTable(ctx, t)
	if err != nil {
		return nil, err
	}
	if a, ok := under.(*plan.TableAlias); ok {
		return a.WithChildren(ctx, changed)
	}
	return changed, nil
}

// groupByRule is go-mysql-server's check of ONLY_FULL_GROUP_BY without a fault of it: it rejects
// an ORDER BY of an aggregate's alias beside HAVING, which is valid and what BI tools send.
func groupByRule(check analyzer.RuleFunc) analyzer.RuleFunc {
	return func(ctx *sql.Context, a *analyzer.Analyzer, n sql.Node, s *plan.Scope, sel analyzer.RuleSelector, q *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
		out, same, err := check(ctx, a, n, s, sel, q)
		if err == nil {
			return out, same, nil
		}
		having, sorted := false, false
		transform.InspectWithOpaque(ctx, n, func(_ *sql.Context, n sql.Node) bool {
			switch n.(type) {
			case *plan.Having:
				having = true
			case *plan.Sort:
				sorted = true
			}
			return true
		})
		if having && sorted {
			return n, transform.SameTree, nil
		}
		return out, same, err
	}
}
