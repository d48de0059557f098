package engine

import (
	"time"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
	"github.com/shoaldb/shoal/layout/timeline"
)

// TableSpec describes a table to create.
type TableSpec struct {
	// Schema has the data columns only, in order; partition columns are among them.
	Schema *column.Schema
	// RecordKey are the record key columns; none makes a keyless table (keys are generated).
	RecordKey []string
	// Partition are the partition columns; none makes a non-partitioned table.
	Partition []string
	// Precombine is the ordering column of upserts; may be empty.
	Precombine string
	// Properties are further table properties: hoodie.* as Hudi names them, shoal.* ours.
	Properties map[string]string
}

// FileSlice is one version of a file group in a copy-on-write table: its base file.
type FileSlice struct {
	Instant  string // that wrote it
	FileName string
	Size     int64 // bytes
	Rows     int64 // -1 when not known before the footer is read
}

// FileGroup is the history of one file id in one partition.
type FileGroup struct {
	Partition string
	FileID    string
	// Slices are the committed slices, newest first; never empty.
	Slices []FileSlice
}

// Latest is the slice that the snapshot reads.
func (g *FileGroup) Latest() *FileSlice { return &g.Slices[0] }

// Path is the base file's path relative to the table's base path.
func (g *FileGroup) Path() string { return joinPath(g.Partition, g.Slices[0].FileName) }

func joinPath(partition, name string) string {
	if partition == "" {
		return name
	}
	return partition + "/" + name
}

// PendingPlan is a clustering plan that is requested or inflight.
type PendingPlan struct {
	Instant string
	State   timeline.State
	Request *timeline.RequestedReplace
}

// ScanOptions say what a Scan hands out.
type ScanOptions struct {
	// Columns to read, by exact name, meta columns allowed, in the order wanted. An empty,
	// non-nil slice gives batches without columns, whose Len counts rows. Nil means all data
	// columns.
	Columns []string
	// Predicate prunes partitions, files and row groups and filters rows: a batch holds only
	// rows for which it is true. Nil keeps everything.
	Predicate *predicate.Predicate
	// BatchRows bounds a batch; 0 means 8192.
	BatchRows int
	// Parallelism is the number of row groups read at once; 0 means the number of CPUs.
	Parallelism int
	// Ordered hands out batches in the order of groups, row groups and rows; otherwise as they
	// become ready.
	Ordered bool
}

// ScanStats count what a scan considered and what it read.
type ScanStats struct {
	PartitionsTotal, PartitionsPruned int64
	FilesTotal, FilesPruned           int64 // files of the snapshot; skipped by partition or statistics
	FilesRead                         int64
	RowGroupsTotal, RowGroupsPruned   int64 // of the files opened
	RowGroupsRead                     int64
	RowsTotal                         int64 // rows of the snapshot; -1 unknown
	RowsRead, RowsMatched             int64 // decoded; and true under the predicate
	BytesTotal, BytesRead             int64 // base file bytes of the snapshot; bytes fetched from storage
	Duration                          time.Duration
}

// Add accumulates another scan's counts.
func (s *ScanStats) Add(o ScanStats) {
	s.PartitionsTotal += o.PartitionsTotal
	s.PartitionsPruned += o.PartitionsPruned
	s.FilesTotal += o.FilesTotal
	s.FilesPruned += o.FilesPruned
	s.FilesRead += o.FilesRead
	s.RowGroupsTotal += o.RowGroupsTotal
	s.RowGroupsPruned += o.RowGroupsPruned
	s.RowGroupsRead += o.RowGroupsRead
	s.RowsTotal += o.RowsTotal
	s.RowsRead += o.RowsRead
	s.RowsMatched += o.RowsMatched
	s.BytesTotal += o.BytesTotal
	s.BytesRead += o.BytesRead
	s.Duration += o.Duration
}

// Duplicates says what an insert into a keyed table does with a record key that exists
// (hoodie.datasource.insert.dup.policy).
type Duplicates uint8

const (
	DuplicatesFail Duplicates = iota // DuplicateKeyError; nothing is written
	DuplicatesDrop                   // the row that came later is left out
	DuplicatesKeep                   // both rows are kept
)

// InsertOptions shape one insert commit.
type InsertOptions struct {
	// Config is the resolved configuration; the zero Config means the table's own.
	Config Config
	// Duplicates overrides the configured policy when SetDuplicates is true.
	Duplicates    Duplicates
	SetDuplicates bool
	// Operation is recorded in the commit: "INSERT" (default) or "BULK_INSERT".
	Operation string
	// ExtraMetadata is added to the commit's extraMetadata.
	ExtraMetadata map[string]string
}

// CommitResult says what a commit wrote.
type CommitResult struct {
	Instant      string // "" when there was nothing to commit
	RowsWritten  int64
	RowsDropped  int64 // by DuplicatesDrop
	FilesWritten int
	BytesWritten int64
}

// CommitEvent is handed to hooks after a commit completed.
type CommitEvent struct {
	Table     *Table
	Instant   string
	Action    timeline.Action
	Operation string
	Result    CommitResult
}
