package sqltable

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"
)

// System variables of ShoalDB.
const (
	// VarVectorize (default ON) is accepted for the vectorised executor's sake.
	VarVectorize = "shoal_vectorize"
	// VarPushdown (default ON) hands filters to scans; OFF leaves all filtering to the SQL
	// executor. Answers are the same.
	VarPushdown = "shoal_pushdown"
)

// optionKeys are the configuration keys that sessions may set and SHOW VARIABLES lists. A
// session may set any other hoodie.* key too; it is registered when first named.
var optionKeys = []string{
	"hoodie.bulkinsert.shuffle.parallelism",
	"hoodie.clean.automatic",
	"hoodie.cleaner.commits.retained",
	"hoodie.cleaner.policy",
	"hoodie.clustering.async.enabled",
	"hoodie.clustering.async.max.commits",
	"hoodie.clustering.execution.strategy.class",
	"hoodie.clustering.inline",
	"hoodie.clustering.inline.max.commits",
	"hoodie.clustering.max.parallelism",
	"hoodie.clustering.plan.partition.filter.mode",
	"hoodie.clustering.plan.strategy.class",
	"hoodie.clustering.plan.strategy.cluster.begin.partition",
	"hoodie.clustering.plan.strategy.cluster.end.partition",
	"hoodie.clustering.plan.strategy.daybased.lookback.partitions",
	"hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions",
	"hoodie.clustering.plan.strategy.max.bytes.per.group",
	"hoodie.clustering.plan.strategy.max.num.groups",
	"hoodie.clustering.plan.strategy.partition.regex.pattern",
	"hoodie.clustering.plan.strategy.partition.selected",
	"hoodie.clustering.plan.strategy.single.group.clustering.enabled",
	"hoodie.clustering.plan.strategy.small.file.limit",
	"hoodie.clustering.plan.strategy.sort.columns",
	"hoodie.clustering.plan.strategy.target.file.max.bytes",
	"hoodie.clustering.preserve.commit.metadata",
	"hoodie.clustering.rollback.pending.replacecommit.on.conflict",
	"hoodie.clustering.updates.strategy",
	"hoodie.copyonwrite.record.size.estimate",
	"hoodie.datasource.insert.dup.policy",
	"hoodie.datasource.write.operation",
	"hoodie.index.bloom.fpp",
	"hoodie.index.bloom.num_entries",
	"hoodie.keep.max.commits",
	"hoodie.keep.min.commits",
	"hoodie.layout.optimize.curve.build.method",
	"hoodie.layout.optimize.data.skipping.enable",
	"hoodie.layout.optimize.enable",
	"hoodie.layout.optimize.strategy",
	"hoodie.parquet.block.size",
	"hoodie.parquet.compression.codec",
	"hoodie.parquet.max.file.size",
	"hoodie.parquet.page.size",
	"hoodie.parquet.small.file.limit",
	"hoodie.sql.insert.mode",
	"hoodie.write.concurrency.mode",
}

var (
	optionsMu sync.Mutex
	options   = map[string]string{} // registered keys by their lower-case variable name
)

// RegisterSystemVariables makes the session variables of ShoalDB known to the SQL engine. Doing it
// again changes nothing.
func RegisterSystemVariables() {
	for _, k := range optionKeys {
		RegisterOption(k)
	}
	var vars []sql.SystemVariable
	for _, name := range []string{VarVectorize, VarPushdown} {
		if _, _, ok := sql.SystemVariables.GetGlobal(name); !ok {
			vars = append(vars, &sql.MysqlSystemVariable{Name: name, Scope: sql.GetMysqlScope(sql.SystemVariableScope_Both),
				Dynamic: true, Type: types.NewSystemBoolType(name), Default: int8(1)})
		}
	}
	sql.SystemVariables.AddSystemVariables(vars)
}

// RegisterOption makes one hoodie.* or shoal.* key settable as a session variable. Names that
// begin otherwise are left alone.
func RegisterOption(key string) {
	if !isOption(strings.ToLower(key)) {
		return
	}
	name := strings.ToLower(key)
	optionsMu.Lock()
	defer optionsMu.Unlock()
	if _, ok := options[name]; ok {
		return
	}
	options[name] = key
	sql.SystemVariables.AddSystemVariables([]sql.SystemVariable{&sql.MysqlSystemVariable{
		Name: name, Scope: sql.GetMysqlScope(sql.SystemVariableScope_Both), Dynamic: true,
		Type: optionType{types.NewSystemStringType(name)}, Default: ""}})
}

// optionType is the text of an option. Numbers and truth values are taken as their text, since
// configuration files write them without quotes; NULL unsets the option.
type optionType struct{ sql.SystemVariableType }

// Convert implements sql.Type.
func (t optionType) Convert(ctx context.Context, v any) (any, sql.ConvertInRange, error) {
	switch n := v.(type) {
	case nil, string:
		return t.SystemVariableType.Convert(ctx, v)
	case decimal.Decimal:
		return n.String(), sql.InRange, nil
	}
	return fmt.Sprint(v), sql.InRange, nil
}

func isOption(name string) bool {
	return strings.HasPrefix(name, "hoodie.") || strings.HasPrefix(name, "shoal.")
}

// optionKey is the configuration key of a variable name, which may have lost its case.
func optionKey(name string) string {
	optionsMu.Lock()
	defer optionsMu.Unlock()
	if k, ok := options[strings.ToLower(name)]; ok {
		return k
	}
	return name
}

// switchedOff reports whether a boolean session variable is set to OFF.
func switchedOff(ctx *sql.Context, name string) bool {
	v, err := ctx.GetSessionVariable(ctx, name)
	if err != nil {
		return false
	}
	on, err := sql.ConvertToBool(ctx, v)
	return err == nil && !on
}
