package timeline

// PartitionProfile is what a write is about to do to one partition.
type PartitionProfile struct {
	Inserts int64 // rows
	Updates []UpdateProfile
}

// UpdateProfile is what a write is about to do to one file group.
type UpdateProfile struct {
	FileID      string
	BaseInstant string // instant of the file slice to be replaced
	Rows        int64
}

// WorkloadProfile makes the content of an inflight commit. Other writers read from it which file
// groups the write is going to touch (docs/format.md: workload profile).
func WorkloadProfile(operation string, partitions map[string]PartitionProfile) *CommitMetadata {
	m := &CommitMetadata{
		PartitionToWriteStats: make(map[string][]WriteStat, len(partitions)),
		ExtraMetadata:         map[string]string{},
		OperationType:         operation,
	}
	for path, p := range partitions {
		// The first one counts the inserts, of which nobody knows the file group yet.
		stats := append(make([]WriteStat, 0, 1+len(p.Updates)), WriteStat{PrevCommit: NoPrevCommit, NumInserts: p.Inserts})
		for _, u := range p.Updates {
			stats = append(stats, WriteStat{FileID: u.FileID, PrevCommit: u.BaseInstant, NumUpdateWrites: u.Rows})
		}
		m.PartitionToWriteStats[path] = stats
	}
	return m
}
