package engine

import (
	"context"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/keygen"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/timeline"
)

// Snapshot is an immutable view of a table at one set of completed instants. Readers hold one for
// a whole statement; it never blocks writers.
type Snapshot struct {
	table  *Table
	config *timeline.TableConfig
	state  *tableState
	asOf   string // "" for the newest
	full   *column.Schema
}

func newSnapshot(t *Table, cfg *timeline.TableConfig, s *tableState, asOf string) *Snapshot {
	return &Snapshot{table: t, config: cfg, state: s, asOf: asOf, full: s.schema.WithMeta()}
}

// Table is the table the snapshot is of.
func (s *Snapshot) Table() *Table { return s.table }

// Config is the table configuration as of the snapshot.
func (s *Snapshot) Config() *timeline.TableConfig { return s.config }

// Instant is the newest completed commit the snapshot sees; "" for an empty table.
func (s *Snapshot) Instant() string {
	commits := s.state.tl.CompletedCommits()
	if len(commits) == 0 {
		return ""
	}
	return commits[len(commits)-1].Time
}

// Timeline is the set of instants the snapshot is made of.
func (s *Snapshot) Timeline() *timeline.Timeline { return s.state.tl }

// Schema is the table schema without meta columns.
func (s *Snapshot) Schema() *column.Schema { return s.state.schema }

// FullSchema is the table schema with the five meta columns first.
func (s *Snapshot) FullSchema() *column.Schema { return s.full }

// Partitions lists the partition paths that hold live file groups, sorted; "" for a
// non-partitioned table.
func (s *Snapshot) Partitions() []string { return s.state.order }

// Groups lists the live file groups of a partition, oldest first.
func (s *Snapshot) Groups(partition string) []*FileGroup {
	if p := s.state.partitions[partition]; p != nil {
		return p.live
	}
	return nil
}

// Group finds a live file group; nil if there is none.
func (s *Snapshot) Group(partition, fileID string) *FileGroup {
	if p := s.state.partitions[partition]; p != nil {
		return p.byID[fileID]
	}
	return nil
}

// Rows is the number of rows; exact is false when a file's count is unknown.
func (s *Snapshot) Rows() (n int64, exact bool) {
	if s.state.rows < 0 {
		return 0, false
	}
	return s.state.rows, true
}

// Files is the number of live base files, Bytes their size.
func (s *Snapshot) Files() int { return s.state.files }

// Bytes is the size of the live base files.
func (s *Snapshot) Bytes() int64 { return s.state.bytes }

// Pending lists the clustering plans that are requested or inflight, oldest first.
func (s *Snapshot) Pending() []PendingPlan { return s.state.pending }

// PartitionValues is what a partition's path says of the partition columns of its rows; false
// when that cannot be told from the path.
func (s *Snapshot) PartitionValues(partition string) (map[string]predicate.Value, bool) {
	return keygen.PartitionValues(keyConfig(s.config), s.state.schema, partition)
}

// PrunePartition says what a partition's path tells of a predicate: No if no row of it satisfies
// it, Yes if all do, Unknown also where the path does not tell.
func (s *Snapshot) PrunePartition(partition string, p *predicate.Predicate) predicate.Answer {
	values, ok := s.PartitionValues(partition)
	if !ok {
		return predicate.Unknown
	}
	return p.Prune(partitionStats(values))
}

// partitionStats presents a partition's path to Prune: each partition column has one value.
type partitionStats map[string]predicate.Value

func (p partitionStats) Rows() int64 { return 1 }

func (p partitionStats) Column(name string) (predicate.ColumnStats, bool) {
	v, ok := p[name]
	if !ok {
		return predicate.ColumnStats{}, false
	}
	if v.Null {
		return predicate.ColumnStats{Rows: 1, Nulls: 1}, true
	}
	return predicate.ColumnStats{Rows: 1, Min: v, Max: v, HasRange: true}, true
}

// Scan hands out the rows of the snapshot that options ask for.
func (s *Snapshot) Scan(ctx context.Context, o ScanOptions) (*Scan, error) {
	stats := ScanStats{PartitionsTotal: int64(len(s.state.order)), FilesTotal: int64(s.state.files),
		RowsTotal: s.state.rows, BytesTotal: s.state.bytes}
	var groups []*FileGroup
	for _, path := range s.state.order {
		live := s.state.partitions[path].live
		if o.Predicate != nil && s.PrunePartition(path, o.Predicate) == predicate.No {
			stats.PartitionsPruned++
			stats.FilesPruned += int64(len(live))
			continue
		}
		groups = append(groups, live...)
	}
	return s.scan(ctx, groups, o, stats)
}

// ScanGroups is Scan over some file groups of the snapshot.
func (s *Snapshot) ScanGroups(ctx context.Context, groups []*FileGroup, o ScanOptions) (*Scan, error) {
	stats := ScanStats{FilesTotal: int64(len(groups))}
	parts := map[string]bool{}
	for _, g := range groups {
		l := g.Latest()
		stats.BytesTotal += l.Size
		if l.Rows < 0 || stats.RowsTotal < 0 {
			stats.RowsTotal = -1
		} else {
			stats.RowsTotal += l.Rows
		}
		parts[g.Partition] = true
	}
	stats.PartitionsTotal = int64(len(parts))
	return s.scan(ctx, groups, o, stats)
}
