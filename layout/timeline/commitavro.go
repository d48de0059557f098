package timeline

import (
	"bytes"
	"fmt"
)

// commitRecord is the Avro form of commit metadata, for commits and replacecommits alike. It is
// matched by name to whatever schema the file has; what it does not list is left out.
type commitRecord struct {
	PartitionToWriteStats     map[string][]statRecord `avro:"partitionToWriteStats"`
	Compacted                 bool                    `avro:"compacted"`
	ExtraMetadata             map[string]string       `avro:"extraMetadata"`
	OperationType             string                  `avro:"operationType"`
	PartitionToReplaceFileIDs map[string][]string     `avro:"partitionToReplaceFileIds"`
}

// statRecord is a write stat. Every field may be null, which is the zero value except where the
// type is a pointer.
type statRecord struct {
	FileID                       string           `avro:"fileId"`
	Path                         string           `avro:"path"`
	PrevCommit                   string           `avro:"prevCommit"`
	NumWrites                    int64            `avro:"numWrites"`
	NumDeletes                   int64            `avro:"numDeletes"`
	NumUpdateWrites              int64            `avro:"numUpdateWrites"`
	NumInserts                   int64            `avro:"numInserts"`
	TotalWriteBytes              int64            `avro:"totalWriteBytes"`
	TotalWriteErrors             int64            `avro:"totalWriteErrors"`
	TempPath                     string           `avro:"tempPath"`
	PartitionPath                string           `avro:"partitionPath"`
	TotalLogRecords              int64            `avro:"totalLogRecords"`
	TotalLogFilesCompacted       int64            `avro:"totalLogFilesCompacted"`
	TotalLogSizeCompacted        int64            `avro:"totalLogSizeCompacted"`
	TotalUpdatedRecordsCompacted int64            `avro:"totalUpdatedRecordsCompacted"`
	TotalLogBlocks               int64            `avro:"totalLogBlocks"`
	TotalCorruptLogBlock         int64            `avro:"totalCorruptLogBlock"`
	TotalRollbackBlocks          int64            `avro:"totalRollbackBlocks"`
	FileSizeInBytes              int64            `avro:"fileSizeInBytes"`
	LogVersion                   *int32           `avro:"logVersion"`
	LogOffset                    int64            `avro:"logOffset"`
	BaseFile                     string           `avro:"baseFile"`
	LogFiles                     []string         `avro:"logFiles"`
	CDCStats                     map[string]int64 `avro:"cdcStats"`
	MinEventTime                 *int64           `avro:"minEventTime"`
	MaxEventTime                 *int64           `avro:"maxEventTime"`
	RuntimeStats                 *runtimeRecord   `avro:"runtimeStats"`
}

type runtimeRecord struct {
	TotalScanTime   int64 `avro:"totalScanTime"`
	TotalUpsertTime int64 `avro:"totalUpsertTime"`
	TotalCreateTime int64 `avro:"totalCreateTime"`
}

func (s *statRecord) stat() WriteStat {
	out := WriteStat{
		FileID: s.FileID, Path: s.Path, CDCStats: s.CDCStats, PrevCommit: s.PrevCommit,
		NumWrites: s.NumWrites, NumDeletes: s.NumDeletes, NumUpdateWrites: s.NumUpdateWrites, NumInserts: s.NumInserts,
		TotalWriteBytes: s.TotalWriteBytes, TotalWriteErrors: s.TotalWriteErrors,
		TempPath: s.TempPath, PartitionPath: s.PartitionPath,
		TotalLogRecords: s.TotalLogRecords, TotalLogFilesCompacted: s.TotalLogFilesCompacted,
		TotalLogSizeCompacted: s.TotalLogSizeCompacted, TotalUpdatedRecordsCompacted: s.TotalUpdatedRecordsCompacted,
		TotalLogBlocks: s.TotalLogBlocks, TotalCorruptLogBlock: s.TotalCorruptLogBlock, TotalRollbackBlocks: s.TotalRollbackBlocks,
		FileSizeInBytes: s.FileSizeInBytes, MinEventTime: s.MinEventTime, MaxEventTime: s.MaxEventTime,
	}
	if out.PrevCommit == "" {
		out.PrevCommit = NoPrevCommit
	}
	if r := s.RuntimeStats; r != nil {
		out.RuntimeStats = &RuntimeStats{TotalScanTime: r.TotalScanTime, TotalUpsertTime: r.TotalUpsertTime, TotalCreateTime: r.TotalCreateTime}
	}
	if s.LogVersion != nil || s.LogFiles != nil {
		out.Log = &LogStat{LogOffset: s.LogOffset, BaseFile: s.BaseFile, LogFiles: s.LogFiles}
		if s.LogVersion != nil {
			out.Log.LogVersion = int64(*s.LogVersion)
		}
	}
	return out
}

// DecodeAvroCommit reads commit metadata in its Avro form, which timeline layout 2 has. An empty
// file is an empty commit. Maps of the result are not nil, except PartitionToReplaceFileIDs.
func DecodeAvroCommit(data []byte) (*CommitMetadata, error) {
	m := &CommitMetadata{PartitionToWriteStats: map[string][]WriteStat{}, ExtraMetadata: map[string]string{}}
	r, err := decodeRecord[commitRecord]("commit metadata", data)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return m, nil
	}
	m.Compacted, m.OperationType, m.PartitionToReplaceFileIDs = r.Compacted, r.OperationType, r.PartitionToReplaceFileIDs
	if r.ExtraMetadata != nil {
		m.ExtraMetadata = r.ExtraMetadata
	}
	for p, stats := range r.PartitionToWriteStats {
		out := make([]WriteStat, len(stats))
		for i := range stats {
			out[i] = stats[i].stat()
		}
		m.PartitionToWriteStats[p] = out
	}
	return m, nil
}

// DecodeAnyCommit reads commit metadata in either form, which its first bytes tell. A timeline of
// layout 2 may hold files of the older form in it.
func DecodeAnyCommit(data []byte) (*CommitMetadata, error) {
	if bytes.HasPrefix(data, avroMagic) {
		return DecodeAvroCommit(data)
	}
	m, err := DecodeCommit(data)
	if err != nil {
		return nil, fmt.Errorf("neither Avro nor JSON: %w", err)
	}
	return m, nil
}
