package clustering

import (
	"encoding/json"
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
// releases. Every error names key, value and what is allowed.
func ResolvePlanOptions(c engine.Config, s *column.Schema) (PlanOptions, error) {
	var o PlanOptions
	var err error
	get := func(key string, def, lo int64) int64 {
		if err != nil {
			return 0
		}
		var n int64
		n, err = c.Int64(key, def, lo, 1<<60)
		return n
	}
	o.TargetBytes = get(keyTargetBytes, 1<<30, 1)
	o.SmallFileLimit = get(keySmallFileLimit, 300<<20, 0)
	o.MaxGroupBytes = get(keyMaxGroupBytes, 2<<30, 1)
	o.MaxGroups = int(min(get(keyMaxGroups, 30, 1), 1<<30))
	o.Lookback = int(min(get(keyLookback, 2, -1), 1<<30))
	o.Skip = int(min(get(keySkipLatest, 0, 0), 1<<30))
	o.MaxParallelism = int(min(get(keyMaxParallelism, 15, 1), 1<<20))
	if err != nil {
		return o, err
	}
	if o.SingleGroup, err = c.Bool(keySingleGroup, true); err != nil {
		return o, err
	}
	preserve, err := c.Bool(keyPreserveHistory, true)
	if err != nil {
		return o, err
	}
	if !preserve {
		return o, &engine.UnsupportedError{What: keyPreserveHistory + "=false",
			Why: "rows would count as changed by the clustering, and incremental readers would get them again"}
	}
	mode, err := c.Enum(keyFilterMode, string(FilterNone), string(FilterNone), string(FilterRecentDays), string(FilterSelected), string(FilterDayRolling))
	if err != nil {
		return o, err
	}
	o.Filter = FilterMode(mode)
	o.Begin, o.End = c.String(keyBeginPartition, ""), c.String(keyEndPartition, "")
	if p := c.String(keyPartitionRegex, ""); p != "" {
		if o.Regex, err = regexp.Compile("^(?:" + p + ")$"); err != nil {
			return o, &engine.OptionError{Key: keyPartitionRegex, Value: p, Allowed: "a regular expression"}
		}
	}
	if list := c.List(keyPartitions); len(list) > 0 {
		o.Partitions = list
	}
	for _, name := range c.List(keySortColumns) {
		i := s.IndexFold(name)
		if i < 0 {
			return o, &OrderColumnError{Column: name}
		}
		if s.Fields[i].Type.Kind.Nested() {
			return o, &engine.UnsupportedError{What: "sorting by column " + name, Why: "it is a " + s.Fields[i].Type.Kind.String()}
		}
		if !slices.Contains(o.SortColumns, s.Fields[i].Name) {
			o.SortColumns = append(o.SortColumns, s.Fields[i].Name)
		}
	}
	order, err := c.Enum(keyLayoutStrategy, "linear", "linear", "z-order", "zorder", "hilbert")
	if err != nil {
		return o, err
	}
	if order != "linear" {
		return o, &engine.UnsupportedError{What: "order strategy " + order, Why: "files are laid out in linear order", Hint: "leave it out, or use linear"}
	}
	o.Order = order
	o.PlanStrategy = simpleName(c.String(keyPlanClass, "SparkSizeBasedClusteringPlanStrategy"))
	o.ExecutionStrategy = simpleName(c.String(keyExecutionClass, sortAndSizeClass))
	if _, err := planStrategy(o.PlanStrategy); err != nil {
		return o, err
	}
	if _, err := executionStrategy(o.ExecutionStrategy); err != nil {
		return o, err
	}
	return o, nil
}

// simpleName is a Java class name without its package.
func simpleName(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

func plural(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}
