package clustering

import (
	"slices"
	"strings"
	"sync"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/timeline"
)

// PlanStrategy makes plans. Implementations must be pure (I1).
type PlanStrategy interface {
	Plan(in PlanInput, o PlanOptions) *Plan
}

// PlanFunc is a function as a PlanStrategy.
type PlanFunc func(in PlanInput, o PlanOptions) *Plan

// Plan implements PlanStrategy.
func (f PlanFunc) Plan(in PlanInput, o PlanOptions) *Plan { return f(in, o) }

// The simple names of Hudi's default classes.
const (
	sizeBasedClass   = "SparkSizeBasedClusteringPlanStrategy"
	sortAndSizeClass = "SparkSortAndSizeExecutionStrategy"
)

// registry maps names to the strategies of one kind.
type registry[S any] struct {
	key  string // that selects one of them
	what string
	// later are classes of Hudi that are understood, so that refusing one can say more than that it is
	// not known.
	later []string

	mu     sync.RWMutex // guards byName
	byName map[string]S
}

var planStrategies = &registry[PlanStrategy]{
	key: keyPlanClass, what: "clustering plan strategy", byName: map[string]PlanStrategy{},
	later: []string{"SparkSingleFileSortPlanStrategy", "SparkConsistentBucketClusteringPlanStrategy",
		"FlinkConsistentBucketClusteringPlanStrategy", "SparkStreamCopyClusteringPlanStrategy"},
}

var executionStrategies = &registry[ExecutionStrategy]{
	key: keyExecutionClass, what: "clustering execution strategy", byName: map[string]ExecutionStrategy{},
	later: []string{"SparkSingleFileSortExecutionStrategy", "SparkConsistentBucketClusteringExecutionStrategy",
		"SingleSparkJobConsistentHashingExecutionStrategy", "SparkBinaryCopyClusteringExecutionStrategy",
		"SparkStreamCopyClusteringExecutionStrategy"},
}

// RegisterPlanStrategy makes a strategy available under a name, which
// hoodie.clustering.plan.strategy.class then selects, with or without a package before it.
// A name that is taken is a programming error.
func RegisterPlanStrategy(name string, s PlanStrategy) { planStrategies.register(name, s) }

// RegisterExecutionStrategy is RegisterPlanStrategy for
// hoodie.clustering.execution.strategy.class.
func RegisterExecutionStrategy(name string, s ExecutionStrategy) {
	executionStrategies.register(name, s)
}

func (r *registry[S]) register(name string, s S) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.byName[name]; taken {
		panic("clustering: " + r.what + " " + name + " is registered twice")
	}
	r.byName[name] = s
}

// find looks a class up by its simple name.
func (r *registry[S]) find(class string) (S, error) {
	name := simpleName(class)
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s, ok := r.byName[name]; ok {
		return s, nil
	}
	names := make([]string, 0, len(r.byName))
	for n := range r.byName {
		names = append(names, n)
	}
	slices.Sort(names)
	var none S
	available := strings.Join(names, ", ")
	if slices.Contains(r.later, name) {
		return none, &engine.UnsupportedError{What: r.what + " " + name, Why: "available are " + available, Hint: "set " + r.key + " to one of them"}
	}
	return none, &engine.OptionError{Key: r.key, Value: class, Allowed: "one of " + available}
}

// simpleName is a Java class name without its package.
func simpleName(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// Hudi's class names, for each of its engines. Classes that differ from the size-based one by their
// choice of partitions only, set that here.
func init() {
	choosing := func(m FilterMode) PlanStrategy {
		return PlanFunc(func(in PlanInput, o PlanOptions) *Plan {
			o.Filter = m
			return MakePlan(in, o)
		})
	}
	for _, platform := range []string{"Spark", "Java", "Flink"} {
		RegisterPlanStrategy(platform+"SizeBasedClusteringPlanStrategy", PlanFunc(MakePlan))
		RegisterPlanStrategy(platform+"RecentDaysClusteringPlanStrategy", choosing(FilterRecentDays))
		RegisterPlanStrategy(platform+"SelectedPartitionsClusteringPlanStrategy", choosing(FilterSelected))
	}
	RegisterExecutionStrategy(sortAndSizeClass, SortAndSize{})
	RegisterExecutionStrategy("JavaSortAndSizeExecutionStrategy", SortAndSize{})
	// The same in one job instead of one a group: what differs is how Spark runs it.
	RegisterExecutionStrategy("SingleSparkJobExecutionStrategy", SortAndSize{})
}

// executionOf is the strategy that executes a stored plan: the one the plan names, or, where that is
// the default which every plan of ours names, the configured one.
func executionOf(stored *timeline.ClusteringStrategy, o PlanOptions) (ExecutionStrategy, error) {
	if stored != nil {
		if class := simpleName(stored.StrategyClassName); class != "" && class != sortAndSizeClass {
			return executionStrategies.find(class)
		}
	}
	return executionStrategies.find(o.ExecutionStrategy)
}
