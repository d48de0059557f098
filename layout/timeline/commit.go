package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The operations a commit can record. Readers of Hudi fail on any other text.
const (
	OpInsert               = "INSERT"
	OpInsertPrepped        = "INSERT_PREPPED"
	OpUpsert               = "UPSERT"
	OpUpsertPrepped        = "UPSERT_PREPPED"
	OpBulkInsert           = "BULK_INSERT"
	OpBulkInsertPrepped    = "BULK_INSERT_PREPPED"
	OpDelete               = "DELETE"
	OpDeletePrepped        = "DELETE_PREPPED"
	OpBootstrap            = "BOOTSTRAP"
	OpInsertOverwrite      = "INSERT_OVERWRITE"
	OpInsertOverwriteTable = "INSERT_OVERWRITE_TABLE"
	OpDeletePartition      = "DELETE_PARTITION"
	OpCluster              = "CLUSTER"
	OpCompact              = "COMPACT"
	OpLogCompact           = "LOG_COMPACT"
	OpIndex                = "INDEX"
	OpAlterSchema          = "ALTER_SCHEMA"
	OpUnknown              = "UNKNOWN"
)

var operations = []string{OpInsert, OpInsertPrepped, OpUpsert, OpUpsertPrepped, OpBulkInsert,
	OpBulkInsertPrepped, OpDelete, OpDeletePrepped, OpBootstrap, OpInsertOverwrite,
	OpInsertOverwriteTable, OpDeletePartition, OpCluster, OpCompact, OpLogCompact, OpIndex,
	OpAlterSchema, OpUnknown}

// NoPrevCommit is the PrevCommit of a file that begins a file group.
const NoPrevCommit = "null"

// ExtraSchema is the key of ExtraMetadata that holds the table's Avro schema as of the commit,
// without meta columns.
const ExtraSchema = "schema"

// CommitMetadata is the content of a completed commit, deltacommit or replacecommit, and as a
// workload profile, of an inflight one (docs/format.md: commit metadata).
type CommitMetadata struct {
	// PartitionToWriteStats has the files written, by partition path; "" is the one partition of
	// a table that is not partitioned.
	PartitionToWriteStats map[string][]WriteStat
	Compacted             bool              // of a compaction
	ExtraMetadata         map[string]string // ExtraSchema, and what users added
	OperationType         string            // OpInsert …; "" in old tables
	// PartitionToReplaceFileIDs has the file groups that a replacecommit takes out of the table,
	// by partition path. It is nil in other commits: Encode leaves out a nil map only.
	PartitionToReplaceFileIDs map[string][]string
}

// WriteStat describes one file of a commit. Counts are of rows unless they say otherwise.
type WriteStat struct {
	FileID     string
	Path       string           // relative to the base path, with the partition's directory; "" in workload profiles
	CDCStats   map[string]int64 // change data files, relative path → bytes
	PrevCommit string           // instant of the slice this file follows, else NoPrevCommit

	NumWrites       int64 // in the new file
	NumDeletes      int64
	NumUpdateWrites int64
	NumInserts      int64

	TotalWriteBytes  int64 // bytes; equal to FileSizeInBytes for base files
	TotalWriteErrors int64
	TempPath         string
	PartitionPath    string

	TotalLogRecords              int64
	TotalLogFilesCompacted       int64
	TotalLogSizeCompacted        int64 // bytes
	TotalUpdatedRecordsCompacted int64
	TotalLogBlocks               int64
	TotalCorruptLogBlock         int64
	TotalRollbackBlocks          int64

	FileSizeInBytes int64 // exact: readers open files by it without asking the file system
	MinEventTime    *int64
	MaxEventTime    *int64        // milliseconds since 1970
	RuntimeStats    *RuntimeStats // nil: unknown
	Log             *LogStat      // of a log file; nil for base files
}

// RuntimeStats says how long the phases of writing a file took, in milliseconds.
type RuntimeStats struct {
	TotalScanTime   int64
	TotalUpsertTime int64
	TotalCreateTime int64
}

// LogStat is what a delta commit says of a log file beyond a WriteStat.
type LogStat struct {
	LogVersion int64
	LogOffset  int64    // bytes
	BaseFile   string   // name; "" when the slice has none
	LogFiles   []string // names
}

// DecodeCommit reads commit metadata in its JSON form. An empty file, which some writers leave,
// is an empty commit. Maps of the result are not nil, except PartitionToReplaceFileIDs.
func DecodeCommit(data []byte) (*CommitMetadata, error) {
	m := &CommitMetadata{PartitionToWriteStats: map[string][]WriteStat{}, ExtraMetadata: map[string]string{}}
	if len(bytes.TrimSpace(data)) == 0 {
		return m, nil
	}
	if bytes.HasPrefix(data, avroMagic) {
		return nil, errors.New("commit metadata: it is an Avro file, as timeline layout 2 has them, and not JSON")
	}
	var j commitJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("commit metadata: %w", err)
	}
	m.Compacted = j.Compacted
	m.OperationType = j.OperationType
	for k, v := range j.ExtraMetadata {
		m.ExtraMetadata[k] = string(v)
	}
	for p, stats := range j.PartitionToWriteStats {
		out := make([]WriteStat, len(stats))
		for i, s := range stats {
			out[i] = s.stat()
		}
		m.PartitionToWriteStats[p] = out
	}
	m.PartitionToReplaceFileIDs = j.PartitionToReplaceFileIDs
	return m, nil
}

// commitJSON is the JSON form as encoding/json reads it.
type commitJSON struct {
	PartitionToWriteStats     map[string][]statJSON
	Compacted                 bool
	ExtraMetadata             map[string]scalar
	OperationType             string
	PartitionToReplaceFileIDs map[string][]string
}

type statJSON struct {
	WriteStat
	LogVersion *int64
	LogOffset  int64
	BaseFile   string
	LogFiles   []string
}

func (s *statJSON) stat() WriteStat {
	st := s.WriteStat
	if s.LogVersion != nil || s.LogFiles != nil {
		st.Log = &LogStat{LogOffset: s.LogOffset, BaseFile: s.BaseFile, LogFiles: s.LogFiles}
		if s.LogVersion != nil {
			st.Log.LogVersion = *s.LogVersion
		}
	}
	if st.PrevCommit == "" {
		st.PrevCommit = NoPrevCommit
	}
	return st
}

// scalar takes any JSON scalar as text: the values are text by contract, and numbers in the
// files of some writers.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(s))
	case '{', '[':
		return fmt.Errorf("extraMetadata holds %.20q, want text", b)
	case 'n':
		return nil
	}
	*s = scalar(b)
	return nil
}

// Encode writes the JSON form, laid out and ordered as Hudi's own files are; maps are sorted. It
// refuses what Hudi could not read: an unknown operation, absolute paths.
func (m *CommitMetadata) Encode() ([]byte, error) {
	if m.OperationType != "" && !slices.Contains(operations, m.OperationType) {
		return nil, fmt.Errorf("commit metadata: unknown operation %q", m.OperationType)
	}
	for _, stats := range m.PartitionToWriteStats {
		for _, s := range stats {
			if s.Path != "" && s.Path[0] == '/' {
				return nil, fmt.Errorf("commit metadata: path %s is not relative to the base path", s.Path)
			}
		}
	}
	w := &jsonWriter{}
	w.open()
	w.key("partitionToWriteStats")
	w.open()
	for _, p := range sortedKeys(m.PartitionToWriteStats) {
		w.key(p)
		w.openList()
		for _, s := range m.PartitionToWriteStats[p] {
			w.item()
			s.encode(w)
		}
		w.closeList()
	}
	w.close()
	w.key("compacted")
	w.bool(m.Compacted)
	w.key("extraMetadata")
	w.open()
	for _, k := range sortedKeys(m.ExtraMetadata) {
		w.key(k)
		w.text(m.ExtraMetadata[k])
	}
	w.close()
	w.key("operationType")
	w.textOrNull(m.OperationType)
	if m.PartitionToReplaceFileIDs != nil {
		w.key("partitionToReplaceFileIds")
		w.open()
		for _, p := range sortedKeys(m.PartitionToReplaceFileIDs) {
			w.key(p)
			w.openList()
			for _, id := range m.PartitionToReplaceFileIDs[p] {
				w.item()
				w.text(id)
			}
			w.closeList()
		}
		w.close()
	}
	w.close()
	return w.buf, nil
}

func (s *WriteStat) encode(w *jsonWriter) {
	number := func(key string, n int64) {
		w.key(key)
		w.number(n)
	}
	w.open()
	w.key("fileId")
	w.text(s.FileID)
	w.key("path")
	w.textOrNull(s.Path)
	w.key("cdcStats")
	if s.CDCStats == nil {
		w.null()
	} else {
		w.open()
		for _, k := range sortedKeys(s.CDCStats) {
			number(k, s.CDCStats[k])
		}
		w.close()
	}
	w.key("prevCommit")
	if s.PrevCommit == "" {
		w.text(NoPrevCommit)
	} else {
		w.text(s.PrevCommit)
	}
	number("numWrites", s.NumWrites)
	number("numDeletes", s.NumDeletes)
	number("numUpdateWrites", s.NumUpdateWrites)
	number("numInserts", s.NumInserts)
	number("totalWriteBytes", s.TotalWriteBytes)
	number("totalWriteErrors", s.TotalWriteErrors)
	w.key("tempPath")
	w.textOrNull(s.TempPath)
	w.key("partitionPath")
	if s.Path == "" {
		// A workload profile counts by partition and has not placed anything yet.
		w.textOrNull(s.PartitionPath)
	} else {
		w.text(s.PartitionPath)
	}
	number("totalLogRecords", s.TotalLogRecords)
	number("totalLogFilesCompacted", s.TotalLogFilesCompacted)
	number("totalLogSizeCompacted", s.TotalLogSizeCompacted)
	number("totalUpdatedRecordsCompacted", s.TotalUpdatedRecordsCompacted)
	number("totalLogBlocks", s.TotalLogBlocks)
	number("totalCorruptLogBlock", s.TotalCorruptLogBlock)
	number("totalRollbackBlocks", s.TotalRollbackBlocks)
	number("fileSizeInBytes", s.FileSizeInBytes)
	w.key("minEventTime")
	w.numberOrNull(s.MinEventTime)
	w.key("maxEventTime")
	w.numberOrNull(s.MaxEventTime)
	w.key("runtimeStats")
	if r := s.RuntimeStats; r == nil {
		w.null()
	} else {
		w.open()
		number("totalScanTime", r.TotalScanTime)
		number("totalUpsertTime", r.TotalUpsertTime)
		number("totalCreateTime", r.TotalCreateTime)
		w.close()
	}
	if l := s.Log; l != nil {
		number("logVersion", l.LogVersion)
		number("logOffset", l.LogOffset)
		w.key("baseFile")
		w.text(l.BaseFile)
		w.key("logFiles")
		w.openList()
		for _, f := range l.LogFiles {
			w.item()
			w.text(f)
		}
		w.closeList()
		w.key("recordsStats")
		w.open()
		w.key("val")
		w.null()
		w.close()
	}
	w.close()
}
