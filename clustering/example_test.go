package clustering_test

import (
	"fmt"
	"strings"

	"github.com/shoaldb/shoal/clustering"
)

// everythingInOne is a plan strategy of one's own: one group a partition, whatever the sizes.
type everythingInOne struct{}

func (everythingInOne) Plan(in clustering.PlanInput, o clustering.PlanOptions) *clustering.Plan {
	p := &clustering.Plan{Layout: o.Layout()}
	for _, part := range in.Partitions {
		g := clustering.Group{Partition: part.Path, OutputFiles: 1}
		for _, s := range part.Slices {
			if s.Pending == "" {
				g.Slices = append(g.Slices, s)
				g.Bytes += s.Bytes
				g.Rows += s.Rows
			}
		}
		if len(g.Slices) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
	return p
}

// A strategy is registered in one call; hoodie.clustering.plan.strategy.class then selects it.
func ExampleRegisterPlanStrategy() {
	clustering.RegisterPlanStrategy("EverythingInOne", everythingInOne{})

	plan := everythingInOne{}.Plan(clustering.PlanInput{Partitions: []clustering.PartitionInput{
		{Path: "day=1", Slices: []clustering.SliceInput{{FileID: "a", Bytes: 10}, {FileID: "b", Bytes: 20}}},
	}}, clustering.PlanOptions{})
	fmt.Println(strings.TrimSpace(plan.String()))
	// Output:
	// group 1: partition "day=1": 2 files, 30 bytes -> 1 file
	//   a 10
	//   b 20
}
