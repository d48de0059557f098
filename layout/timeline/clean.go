package timeline

import "cmp"

// Cleaning policies.
const (
	KeepLatestCommits      = "KEEP_LATEST_COMMITS"
	KeepLatestFileVersions = "KEEP_LATEST_FILE_VERSIONS"
	KeepLatestByHours      = "KEEP_LATEST_BY_HOURS"
)

// CleanVersion is the version of plans and results of cleaning that are written: plans hold full
// paths, results file names.
const CleanVersion = 2

// CleanerPlan is the content of a requested clean (docs/format.md: clean).
type CleanerPlan struct {
	EarliestInstantToRetain      *ActionInstant `avro:"earliestInstantToRetain"`
	LastCompletedCommitTimestamp string         `avro:"lastCompletedCommitTimestamp"`
	Policy                       string         `avro:"policy"`
	// FilesToBeDeletedPerPartition holds file names, in plans of version 1.
	FilesToBeDeletedPerPartition map[string][]string `avro:"filesToBeDeletedPerPartition"`
	Version                      int32               `avro:"version"` // 0 is written as CleanVersion
	// FilePathsToBeDeletedPerPartition holds full paths, in plans of version 2.
	FilePathsToBeDeletedPerPartition map[string][]CleanFileInfo `avro:"filePathsToBeDeletedPerPartition"`
	PartitionsToBeDeleted            []string                   `avro:"partitionsToBeDeleted"`
	ExtraMetadata                    map[string]string          `avro:"extraMetadata"`
}

// ActionInstant names an instant in a clean plan.
type ActionInstant struct {
	Timestamp string `avro:"timestamp"`
	Action    string `avro:"action"`
	State     string `avro:"state"` // as State.String
}

// CleanFileInfo names a file to be deleted.
type CleanFileInfo struct {
	FilePath            string `avro:"filePath"`
	IsBootstrapBaseFile *bool  `avro:"isBootstrapBaseFile"`
}

// CleanMetadata is the content of a completed clean.
type CleanMetadata struct {
	StartCleanTime               string                            `avro:"startCleanTime"` // the instant
	TimeTakenInMillis            int64                             `avro:"timeTakenInMillis"`
	TotalFilesDeleted            int32                             `avro:"totalFilesDeleted"`
	EarliestCommitToRetain       string                            `avro:"earliestCommitToRetain"`
	LastCompletedCommitTimestamp string                            `avro:"lastCompletedCommitTimestamp"`
	PartitionMetadata            map[string]CleanPartitionMetadata `avro:"partitionMetadata"`
	Version                      int32                             `avro:"version"` // 0 is written as CleanVersion
	BootstrapPartitionMetadata   map[string]CleanPartitionMetadata `avro:"bootstrapPartitionMetadata"`
	ExtraMetadata                map[string]string                 `avro:"extraMetadata"`
}

// CleanPartitionMetadata is what was deleted from one partition, by file name.
type CleanPartitionMetadata struct {
	PartitionPath      string   `avro:"partitionPath"`
	Policy             string   `avro:"policy"`
	DeletePathPatterns []string `avro:"deletePathPatterns"`
	SuccessDeleteFiles []string `avro:"successDeleteFiles"`
	FailedDeleteFiles  []string `avro:"failedDeleteFiles"`
	IsPartitionDeleted *bool    `avro:"isPartitionDeleted"`
}

var cleanerPlanSchema = avroSchema("HoodieCleanerPlan",
	avroOptional("earliestInstantToRetain", avroRecord("HoodieActionInstant",
		avroField("timestamp", avroString),
		avroField("action", avroString),
		avroField("state", avroString))),
	avroFieldDefault("lastCompletedCommitTimestamp", avroString, `""`),
	avroField("policy", avroString),
	avroOptional("filesToBeDeletedPerPartition", avroMap(avroArray(avroString))),
	avroVersion("1"),
	avroOptional("filePathsToBeDeletedPerPartition", avroMap(avroArray(avroRecord("HoodieCleanFileInfo",
		avroOptional("filePath", avroString),
		avroOptional("isBootstrapBaseFile", `"boolean"`))))),
	avroOptional("partitionsToBeDeleted", avroArray(avroString)),
	avroOptional("extraMetadata", avroMap(avroString)))

var cleanMetadataSchema = avroSchema("HoodieCleanMetadata",
	avroField("startCleanTime", avroString),
	avroField("timeTakenInMillis", `"long"`),
	avroField("totalFilesDeleted", `"int"`),
	avroField("earliestCommitToRetain", avroString),
	avroFieldDefault("lastCompletedCommitTimestamp", avroString, `""`),
	avroField("partitionMetadata", avroMap(avroRecord("HoodieCleanPartitionMetadata",
		avroField("partitionPath", avroString),
		avroField("policy", avroString),
		avroField("deletePathPatterns", avroArray(avroString)),
		avroField("successDeleteFiles", avroArray(avroString)),
		avroField("failedDeleteFiles", avroArray(avroString)),
		avroOptional("isPartitionDeleted", `"boolean"`)))),
	avroVersion("1"),
	avroOptional("bootstrapPartitionMetadata", avroMap(`"HoodieCleanPartitionMetadata"`)),
	avroOptional("extraMetadata", avroMap(avroString)))

// DecodeCleanerPlan reads the file of a requested clean; nil for an empty one.
func DecodeCleanerPlan(data []byte) (*CleanerPlan, error) {
	return decodeRecord[CleanerPlan]("clean plan", data)
}

// Encode makes the file of a requested clean.
func (p *CleanerPlan) Encode() ([]byte, error) {
	c := *p
	c.Version = cmp.Or(c.Version, CleanVersion)
	return encodeRecord("clean plan", cleanerPlanSchema, &c)
}

// DecodeCleanMetadata reads the file of a completed clean; nil for an empty one.
func DecodeCleanMetadata(data []byte) (*CleanMetadata, error) {
	return decodeRecord[CleanMetadata]("clean metadata", data)
}

// Encode makes the file of a completed clean.
func (m *CleanMetadata) Encode() ([]byte, error) {
	c := *m
	c.Version = cmp.Or(c.Version, CleanVersion)
	return encodeRecord("clean metadata", cleanMetadataSchema, &c)
}
