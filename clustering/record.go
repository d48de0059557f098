package clustering

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/timeline"
)

// The class written into plans is the one every engine of Hudi's knows, whichever alias was
// configured: executors load it by reflection.
const writtenExecutionClass = "org.apache.hudi.client.clustering.run.strategy." + sortAndSizeClass

// request turns a plan into what the timeline stores (docs/format.md: clustering plan). The
// layout is not part of Hudi's plan, so it travels in the extra metadata.
func (p *Plan) request(t *engine.Table) *timeline.RequestedReplace {
	preserve := true
	cp := &timeline.ClusteringPlan{
		Strategy:               &timeline.ClusteringStrategy{StrategyClassName: writtenExecutionClass, StrategyParams: map[string]string{}},
		ExtraMetadata:          map[string]string{layoutKey: p.Layout.encode()},
		PreserveHoodieMetadata: &preserve,
	}
	if len(p.Layout.Columns) > 0 {
		cp.Strategy.StrategyParams[keySortColumns] = strings.Join(p.Layout.Columns, ",")
	}
	for _, g := range p.Groups {
		mb := float64(g.Bytes) / (1 << 20)
		out := timeline.ClusteringGroup{
			NumOutputFileGroups: int32(g.OutputFiles),
			Metrics: map[string]float64{timeline.MetricLogFiles: 0, timeline.MetricLogFilesSize: 0,
				timeline.MetricIOReadMB: mb, timeline.MetricIOWriteMB: mb, timeline.MetricIOMB: 2 * mb},
		}
		for _, s := range g.Slices {
			path := s.FileName
			if g.Partition != "" {
				path = g.Partition + "/" + path
			}
			out.Slices = append(out.Slices, timeline.SliceInfo{DataFilePath: t.PlanPath(path), FileID: s.FileID, PartitionPath: g.Partition})
		}
		cp.InputGroups = append(cp.InputGroups, out)
	}
	return &timeline.RequestedReplace{OperationType: timeline.OpCluster, ClusteringPlan: cp}
}

// groupKey names a file group of a table.
type groupKey struct{ partition, fileID string }

// groupIndex finds the live file groups of the given partitions.
func groupIndex(s *engine.Snapshot, partitions iter.Seq[string]) map[groupKey]*engine.FileGroup {
	index := map[groupKey]*engine.FileGroup{}
	seen := map[string]bool{}
	for p := range partitions {
		if seen[p] {
			continue
		}
		seen[p] = true
		for _, g := range s.Groups(p) {
			index[groupKey{p, g.FileID}] = g
		}
	}
	return index
}

// partitionsOf are the partitions of a stored plan's slices, with repetitions.
func partitionsOf(cp *timeline.ClusteringPlan) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, g := range cp.InputGroups {
			for _, sl := range g.Slices {
				if !yield(sl.PartitionPath) {
					return
				}
			}
		}
	}
}

// planOf reads a stored plan back, ours or another engine's, against the snapshot that is to be
// rewritten. A slice that is not the latest of its group any more makes the plan unexecutable.
func planOf(instant string, req *timeline.RequestedReplace, s *engine.Snapshot) (*Plan, error) {
	cp := req.ClusteringPlan
	p := &Plan{Layout: Layout{Order: orderLinear}}
	if text := cp.ExtraMetadata[layoutKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &p.Layout); err != nil {
			return nil, fmt.Errorf("plan %s: layout %q: %w", instant, text, err)
		}
	} else if cp.Strategy != nil {
		p.Layout.Columns = engine.NewConfig(cp.Strategy.StrategyParams).List(keySortColumns)
	}
	err := checkOrder(p.Layout.Order)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", instant, err)
	}
	if p.Layout.Columns, err = sortColumns(p.Layout.Columns, s.FullSchema()); err != nil {
		return nil, err
	}
	live := groupIndex(s, partitionsOf(cp))
	planned := map[groupKey]bool{}
	for i, g := range cp.InputGroups {
		out := Group{OutputFiles: max(int(g.NumOutputFileGroups), 1)}
		for k, sl := range g.Slices {
			if k == 0 {
				out.Partition = sl.PartitionPath
			} else if sl.PartitionPath != out.Partition {
				return nil, &engine.UnsupportedError{What: fmt.Sprintf("plan %s", instant), Why: fmt.Sprintf("group %d spans partitions", i+1)}
			}
			if len(sl.DeltaFilePaths) > 0 {
				return nil, &engine.UnsupportedError{What: fmt.Sprintf("plan %s", instant), Why: fmt.Sprintf("group %d has log files", i+1)}
			}
			key := groupKey{sl.PartitionPath, sl.FileID}
			if planned[key] {
				return nil, fmt.Errorf("%w: plan %s has file group %s of partition %q twice", engine.ErrMalformed, instant, sl.FileID, sl.PartitionPath)
			}
			planned[key] = true
			fg := live[key]
			if fg == nil || sl.DataFilePath != "" && fg.Path() != sl.BaseFile() {
				return nil, &engine.ConflictError{Instant: instant, Partition: sl.PartitionPath, FileID: sl.FileID,
					Reason: "it was replaced or rewritten since the plan was made"}
			}
			l := fg.Latest()
			out.Slices = append(out.Slices, SliceInput{FileID: sl.FileID, FileName: l.FileName, Instant: l.Instant, Bytes: l.Size, Rows: l.Rows})
			out.Bytes += l.Size
			if l.Rows < 0 || out.Rows < 0 {
				out.Rows = -1
			} else {
				out.Rows += l.Rows
			}
		}
		if len(out.Slices) > 0 {
			p.Groups = append(p.Groups, out)
		}
	}
	return p, nil
}
