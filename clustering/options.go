package clustering

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// Hudi's configuration keys that this package reads (docs/configuration.md: clustering).
const (
	keyPlanClass       = "hoodie.clustering.plan.strategy.class"
	keyExecutionClass  = "hoodie.clustering.execution.strategy.class"
	keyFilterMode      = "hoodie.clustering.plan.partition.filter.mode"
	keyTargetBytes     = "hoodie.clustering.plan.strategy.target.file.max.bytes"
	keySmallFileLimit  = "hoodie.clustering.plan.strategy.small.file.limit"
	keyMaxGroupBytes   = "hoodie.clustering.plan.strategy.max.bytes.per.group"
	keyMaxGroups       = "hoodie.clustering.plan.strategy.max.num.groups"
	keySortColumns     = "hoodie.clustering.plan.strategy.sort.columns"
	keySingleGroup     = "hoodie.clustering.plan.strategy.single.group.clustering.enabled"
	keyLookback        = "hoodie.clustering.plan.strategy.daybased.lookback.partitions"
	keySkipLatest      = "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions"
	keyBeginPartition  = "hoodie.clustering.plan.strategy.cluster.begin.partition"
	keyEndPartition    = "hoodie.clustering.plan.strategy.cluster.end.partition"
	keyPartitionRegex  = "hoodie.clustering.plan.strategy.partition.regex.pattern"
	keyPartitions      = "hoodie.clustering.plan.strategy.partition.selected"
	keyMaxParallelism  = "hoodie.clustering.max.parallelism"
	keyLayoutStrategy  = "hoodie.layout.optimize.strategy"
	keyPreserveHistory = "hoodie.clustering.preserve.commit.metadata"
)

// FilterMode says how the partitions of a plan are chosen.
type FilterMode string

// The filter modes, by Hudi's names.
const (
	FilterNone       FilterMode = "NONE"
	FilterRecentDays FilterMode = "RECENT_DAYS"
	FilterSelected   FilterMode = "SELECTED_PARTITIONS"
	FilterDayRolling FilterMode = "DAY_ROLLING"
)

// Layout is how rows lie in the files of a clustering. It is recorded in the replacecommit, so
// that what lies as asked is left alone.
type Layout struct {
	Order   string   `json:"order"` // "linear"
	Columns []string `json:"columns"`
}

// layoutKey is the extraMetadata key of the recorded layout.
const layoutKey = "shoal.clustering.layout"

func (l Layout) encode() string {
	b, _ := json.Marshal(l) // strings only
	return string(b)
}

// PlanOptions are the checked options of a plan. The zero value is not useful; see
// ResolvePlanOptions for defaults.
type PlanOptions struct {
	Filter            FilterMode
	TargetBytes       int64 // of an output file
	SmallFileLimit    int64 // bytes; files below it are eligible
	MaxGroupBytes     int64 // input bytes of a group
	MaxGroups         int   // of the whole plan
	SingleGroup       bool  // a group of one file is worth rewriting without sort columns
	Lookback, Skip    int   // partitions, for FilterRecentDays
	Begin, End        string
	Regex             *regexp.Regexp // nil: every partition
	Partitions        []string       // exactly these; nil: all
	SortColumns       []string       // by the schema's spelling
	Order             string         // "linear"
	PlanStrategy      string         // simple class name
	ExecutionStrategy string         // simple class name
	MaxParallelism    int
}

// Layout is the layout that the options ask for.
func (o PlanOptions) Layout() Layout { return Layout{Order: o.Order, Columns: o.SortColumns} }

// OrderColumnError refuses a sort column, in Hudi's words.
type OrderColumnError struct{ Column string }

func (e *OrderColumnError) Error() string { return "Order column not exist:" + e.Column }

// Unwrap lets errors.Is find engine.ErrNoSuchColumn.
func (e *OrderColumnError) Unwrap() error { return engine.ErrNoSuchColumn }

// ResolvePlanOptions reads and checks the keys that plans obey, with the defaults of Hudi's newest
// releases, for a table of the given data columns. The error tells of every key that is wrong: its
// name, its value and what is allowed.
func ResolvePlanOptions(c engine.Config, s *column.Schema) (PlanOptions, error) {
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	number := func(key string, def, lo, hi int64) int64 {
		n, err := c.Int64(key, def, lo, hi)
		note(err)
		return n
	}
	enum := func(key, def string, allowed ...string) string {
		v, err := c.Enum(key, def, allowed...)
		note(err)
		return v
	}
	var o PlanOptions
	o.TargetBytes = number(keyTargetBytes, 1<<30, 1, 1<<60)
	o.SmallFileLimit = number(keySmallFileLimit, 300<<20, 0, 1<<60)
	o.MaxGroupBytes = number(keyMaxGroupBytes, 2<<30, 1, 1<<60)
	o.MaxGroups = int(number(keyMaxGroups, 30, 1, 1<<30))
	o.Lookback = int(number(keyLookback, 2, -1<<30, 1<<30))
	o.Skip = int(number(keySkipLatest, 0, 0, 1<<30))
	o.MaxParallelism = int(number(keyMaxParallelism, 15, 1, 1<<20))
	var err error
	o.SingleGroup, err = c.Bool(keySingleGroup, true)
	note(err)
	preserve, err := c.Bool(keyPreserveHistory, true)
	note(err)
	if err == nil && !preserve {
		note(&engine.UnsupportedError{What: keyPreserveHistory + "=false",
			Why: "rows would count as changed by the clustering, and incremental readers would get them again"})
	}
	o.Filter = FilterMode(enum(keyFilterMode, string(FilterNone), string(FilterNone), string(FilterRecentDays),
		string(FilterSelected), string(FilterDayRolling)))
	o.Begin, o.End = c.String(keyBeginPartition, ""), c.String(keyEndPartition, "")
	if p := c.String(keyPartitionRegex, ""); p != "" {
		if o.Regex, err = regexp.Compile("^(?:" + p + ")$"); err != nil {
			note(&engine.OptionError{Key: keyPartitionRegex, Value: p, Allowed: "a regular expression that matches whole partition paths"})
		}
	}
	o.Partitions = c.List(keyPartitions)
	o.SortColumns, err = sortColumns(c.List(keySortColumns), s)
	note(err)
	o.Order = orderLinear
	note(checkOrder(c.String(keyLayoutStrategy, orderLinear)))
	class := cmp.Or(c.String(keyPlanClass, ""), sizeBasedClass)
	o.PlanStrategy = simpleName(class)
	_, err = planStrategies.find(class)
	note(err)
	class = cmp.Or(c.String(keyExecutionClass, ""), sortAndSizeClass)
	o.ExecutionStrategy = simpleName(class)
	_, err = executionStrategies.find(class)
	note(err)
	return o, errors.Join(errs...)
}

// orderLinear sorts by the sort columns one after the other.
const orderLinear = "linear"

// checkOrder refuses order strategies that are not available, those of Hudi by name.
func checkOrder(order string) error {
	switch strings.ToLower(order) {
	case orderLinear, "":
		return nil
	case "z-order", "zorder", "hilbert":
		return &engine.UnsupportedError{What: "order strategy " + strings.ToLower(order), Why: "available is " + orderLinear,
			Hint: "set " + keyLayoutStrategy + " to it, or leave that out"}
	}
	return &engine.OptionError{Key: keyLayoutStrategy, Value: order, Allowed: orderLinear}
}

// sortColumns finds the columns to sort by, without regard to case, each once.
func sortColumns(names []string, s *column.Schema) ([]string, error) {
	var out []string
	for _, name := range names {
		i := s.IndexFold(name)
		if i < 0 {
			if outer, _, dotted := strings.Cut(name, "."); dotted && s.IndexFold(outer) >= 0 {
				return nil, &engine.UnsupportedError{What: "sorting by " + name, Why: "it is inside the column " + outer, Hint: "sort by whole columns"}
			}
			return nil, &OrderColumnError{Column: name}
		}
		f := s.Fields[i]
		if f.Type.Kind.Nested() {
			return nil, &engine.UnsupportedError{What: "sorting by column " + f.Name, Why: "it is a " + f.Type.Kind.String()}
		}
		if !slices.Contains(out, f.Name) {
			out = append(out, f.Name)
		}
	}
	return out, nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}
