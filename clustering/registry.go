package clustering

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/shoaldb/shoal/engine"
)

// PlanStrategy makes plans. Implementations must be pure (I1).
type PlanStrategy interface {
	Plan(in PlanInput, o PlanOptions) *Plan
}

// PlanFunc is a function as a PlanStrategy.
type PlanFunc func(in PlanInput, o PlanOptions) *Plan

// Plan implements PlanStrategy.
func (f PlanFunc) Plan(in PlanInput, o PlanOptions) *Plan { return f(in, o) }

const sortAndSizeClass = "SparkSortAndSizeExecutionStrategy"

var registry = struct {
	mu        sync.Mutex // guards the maps
	plan      map[string]PlanStrategy
	execution map[string]ExecutionStrategy
}{plan: map[string]PlanStrategy{}, execution: map[string]ExecutionStrategy{}}

// RegisterPlanStrategy makes a strategy available under a name, which
// hoodie.clustering.plan.strategy.class then selects, with or without a package before it.
// A name that is taken is a programming error.
func RegisterPlanStrategy(name string, s PlanStrategy) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.plan[name] != nil {
		panic("clustering: plan strategy " + name + " is registered twice")
	}
	registry.plan[name] = s
}

// RegisterExecutionStrategy is RegisterPlanStrategy for
// hoodie.clustering.execution.strategy.class.
func RegisterExecutionStrategy(name string, s ExecutionStrategy) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.execution[name] != nil {
		panic("clustering: execution strategy " + name + " is registered twice")
	}
	registry.execution[name] = s
}

func planStrategy(name string) (PlanStrategy, error) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if s := registry.plan[name]; s != nil {
		return s, nil
	}
	return nil, unknownClass(keyPlanClass, name, registry.plan)
}

func executionStrategy(name string) (ExecutionStrategy, error) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if s := registry.execution[name]; s != nil {
		return s, nil
	}
	return nil, unknownClass(keyExecutionClass, name, registry.execution)
}

func unknownClass[S any](key, name string, known map[string]S) error {
	var names []string
	for n := range known {
		names = append(names, n)
	}
	sort.Strings(names)
	return &engine.OptionError{Key: key, Value: name, Allowed: "one of " + strings.Join(slices.Compact(names), ", ")}
}

// Hudi's class names, for each of its engines. Strategies that only preset a partition filter
// set it here.
func init() {
	size := PlanFunc(MakePlan)
	withFilter := func(m FilterMode) PlanStrategy {
		return PlanFunc(func(in PlanInput, o PlanOptions) *Plan {
			o.Filter = m
			return MakePlan(in, o)
		})
	}
	for _, platform := range []string{"Spark", "Java", "Flink"} {
		RegisterPlanStrategy(platform+"SizeBasedClusteringPlanStrategy", size)
		RegisterPlanStrategy(platform+"RecentDaysClusteringPlanStrategy", withFilter(FilterRecentDays))
		RegisterPlanStrategy(platform+"SelectedPartitionsClusteringPlanStrategy", withFilter(FilterSelected))
	}
	RegisterExecutionStrategy(sortAndSizeClass, SortAndSize{})
	RegisterExecutionStrategy("JavaSortAndSizeExecutionStrategy", SortAndSize{})
	RegisterExecutionStrategy("SingleSparkJobExecutionStrategy", SortAndSize{})
}
