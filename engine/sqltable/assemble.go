package sqltable

import (
	"sync"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"

	"github.com/shoaldb/shoal/engine"
)

var installRules sync.Once

// Assemble builds the SQL engine over a warehouse. parser is the server's (nil means
// go-mysql-server's own). Sessions must be made with NewSession.
func Assemble(w *engine.Warehouse, parser sql.Parser) (*sqle.Engine, *Provider) {
	RegisterSystemVariables()
	installRules.Do(addRules)
	p := NewProvider(w)
	if parser == nil {
		parser = sql.NewMysqlParser()
	}
	b := analyzer.NewBuilder(p).AddOverrides(sql.EngineOverrides{
		Builder: sql.BuilderOverrides{Parser: &metaParser{Parser: parser, p: p}},
	})
	// Before the rule that rebuilds CREATE TABLE … SELECT.
	b.AddPreAnalyzeRule(ruleKeepOptions, keepOptions)
	for _, r := range analyzer.DefaultRules {
		if r.Id.String() == "validateNoHiddenSystemColumns" {
			b.RemoveDefaultRule(r.Id) // statements name hidden columns here (meta.go)
		}
	}
	a := b.Build()
	for _, batch := range a.Batches {
		for i, r := range batch.Rules {
			if r.Id.String() == "validateGroupBy" {
				rules := append([]analyzer.Rule(nil), batch.Rules...)
				rules[i].Apply = groupByRule(r.Apply)
				batch.Rules = rules
			}
		}
	}
	a.Catalog.AuthHandler = markedAccess{a.Catalog.AuthHandler}
	e := sqle.New(a, &sqle.Config{})
	a.ExecBuilder.PriorityBuilder = &builder{base: a.ExecBuilder, w: w}
	return e, p
}

// addRules puts the rules where the analyzer's short cuts for simple statements, which pass by
// the batches of an Analyzer, run them too: these lists are the package's own. The rules look at
// nothing but tables of this package.
func addRules() {
	analyzer.AlwaysBeforeDefault = append(analyzer.AlwaysBeforeDefault,
		analyzer.Rule{Id: ruleRefuse, Apply: refuse},
		analyzer.Rule{Id: ruleCountRows, Apply: countRows})
	rules := make([]analyzer.Rule, 0, len(analyzer.OnceAfterAll)+1)
	for _, r := range analyzer.OnceAfterAll {
		if r.Id == analyzer.TrackProcessId {
			rules = append(rules, analyzer.Rule{Id: rulePushFilters, Apply: pushFilters})
		}
		rules = append(rules, r)
	}
	analyzer.OnceAfterAll = rules
}
