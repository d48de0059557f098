package timeline

import "slices"

// InstantInfo names an instant in a rollback's records.
type InstantInfo struct {
	CommitTime string `avro:"commitTime"`
	Action     string `avro:"action"`
}

// RollbackPlan is the content of a requested rollback (docs/format.md: rollback).
type RollbackPlan struct {
	InstantToRollback *InstantInfo      `avro:"instantToRollback"`
	Requests          []RollbackRequest `avro:"RollbackRequests"`
	Version           int32             `avro:"version,omitzero"` // 0 is written as 1
}

// RollbackRequest is the files to be deleted of one file group or partition.
type RollbackRequest struct {
	PartitionPath        string           `avro:"partitionPath"`
	FileID               string           `avro:"fileId"`
	LatestBaseInstant    string           `avro:"latestBaseInstant"`
	FilesToBeDeleted     []string         `avro:"filesToBeDeleted"` // full paths
	LogBlocksToBeDeleted map[string]int64 `avro:"logBlocksToBeDeleted"`
}

// RollbackMetadata is the content of a completed rollback.
type RollbackMetadata struct {
	StartRollbackTime string                               `avro:"startRollbackTime"`
	TimeTakenInMillis int64                                `avro:"timeTakenInMillis"`
	TotalFilesDeleted int32                                `avro:"totalFilesDeleted"`
	CommitsRollback   []string                             `avro:"commitsRollback"`
	PartitionMetadata map[string]RollbackPartitionMetadata `avro:"partitionMetadata"`
	Version           int32                                `avro:"version,omitzero"` // 0 is written as 1
	InstantsRollback  []InstantInfo                        `avro:"instantsRollback"`
}

// RollbackPartitionMetadata is what was deleted from one partition.
type RollbackPartitionMetadata struct {
	PartitionPath            string           `avro:"partitionPath"`
	SuccessDeleteFiles       []string         `avro:"successDeleteFiles"` // full paths
	FailedDeleteFiles        []string         `avro:"failedDeleteFiles"`
	RollbackLogFiles         map[string]int64 `avro:"rollbackLogFiles"`         // bytes, by path
	LogFilesFromFailedCommit map[string]int64 `avro:"logFilesFromFailedCommit"` // bytes, by path
}

var instantInfoSchema = avroRecord("HoodieInstantInfo",
	avroField("commitTime", avroString),
	avroField("action", avroString))

var rollbackPlanSchema = avroSchema("HoodieRollbackPlan",
	avroOptional("instantToRollback", instantInfoSchema),
	avroOptional("RollbackRequests", avroArray(avroRecord("HoodieRollbackRequest",
		avroField("partitionPath", avroString),
		avroOptional("fileId", avroString),
		avroOptional("latestBaseInstant", avroString),
		avroFieldDefault("filesToBeDeleted", avroArray(avroString), "[]"),
		avroOptional("logBlocksToBeDeleted", avroMap(`"long"`))))),
	avroVersion("1"))

var rollbackMetadataSchema = avroSchema("HoodieRollbackMetadata",
	avroField("startRollbackTime", avroString),
	avroField("timeTakenInMillis", `"long"`),
	avroField("totalFilesDeleted", `"int"`),
	avroField("commitsRollback", avroArray(avroString)),
	avroField("partitionMetadata", avroMap(avroRecord("HoodieRollbackPartitionMetadata",
		avroField("partitionPath", avroString),
		avroField("successDeleteFiles", avroArray(avroString)),
		avroField("failedDeleteFiles", avroArray(avroString)),
		avroOptional("rollbackLogFiles", avroMap(`"long"`)),
		avroOptional("logFilesFromFailedCommit", avroMap(`"long"`))))),
	avroVersion("1"),
	avroFieldDefault("instantsRollback", avroArray(instantInfoSchema), "[]"))

// DecodeRollbackPlan reads the file of a requested rollback; nil for an empty one.
func DecodeRollbackPlan(data []byte) (*RollbackPlan, error) {
	return decodeRecord[RollbackPlan]("rollback plan", data)
}

// Encode makes the file of a requested rollback.
func (p *RollbackPlan) Encode() ([]byte, error) {
	c := *p
	c.Requests = slices.Clone(p.Requests)
	for i := range c.Requests {
		// Executing engines ask this map for its size without asking whether it is there.
		if c.Requests[i].LogBlocksToBeDeleted == nil {
			c.Requests[i].LogBlocksToBeDeleted = map[string]int64{}
		}
	}
	return encodeRecord("rollback plan", rollbackPlanSchema, &c)
}

// DecodeRollbackMetadata reads the file of a completed rollback; nil for an empty one.
func DecodeRollbackMetadata(data []byte) (*RollbackMetadata, error) {
	return decodeRecord[RollbackMetadata]("rollback metadata", data)
}

// Encode makes the file of a completed rollback.
func (m *RollbackMetadata) Encode() ([]byte, error) {
	return encodeRecord("rollback metadata", rollbackMetadataSchema, m)
}
