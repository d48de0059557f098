package clustering_test

import (
	"context"
	"fmt"

	"github.com/shoaldb/shoal/clustering"
	"github.com/shoaldb/shoal/layout/column"
)

// compact joins files and leaves the rows in the order they came, whatever the sort columns.
type compact struct{}

func (compact) Execute(ctx context.Context, job *clustering.Job) error {
	out := job.Output()
	if err := job.Read(ctx, func(b *column.Batch) error { return out.Write(ctx, b) }); err != nil {
		return err
	}
	return out.Close(ctx)
}

// A strategy is available once it is registered:
// hoodie.clustering.execution.strategy.class = com.example.Compact selects this one.
func ExampleRegisterExecutionStrategy() {
	clustering.RegisterExecutionStrategy("Compact", compact{})
}

// A plan strategy may build on the size-based one. This one takes a single group at a time.
func ExampleRegisterPlanStrategy() {
	oneGroup := clustering.PlanFunc(func(in clustering.PlanInput, o clustering.PlanOptions) *clustering.Plan {
		o.MaxGroups = 1
		return clustering.MakePlan(in, o)
	})
	clustering.RegisterPlanStrategy("OneGroup", oneGroup)
}

func ExampleMakePlan() {
	in := clustering.PlanInput{Partitions: []clustering.PartitionInput{{Path: "day=1", Slices: []clustering.SliceInput{
		{FileID: "a", Bytes: 10 << 20}, {FileID: "b", Bytes: 90 << 20}, {FileID: "c", Bytes: 200 << 20},
	}}}}
	fmt.Print(clustering.MakePlan(in, clustering.PlanOptions{
		TargetBytes: 64 << 20, SmallFileLimit: 100 << 20, MaxGroupBytes: 1 << 30, MaxGroups: 30, Order: "linear",
	}))
	// Output:
	// group 1: partition "day=1": 2 files, 104857600 bytes -> 2 files
	//   b 94371840
	//   a 10485760
	// left out: 1 file is not below 104857600 bytes (hoodie.clustering.plan.strategy.small.file.limit)
}
