package timeline

// SavepointMetadata is the content of a completed savepoint (docs/format.md: savepoint): the data
// files that cleaning must leave alone.
type SavepointMetadata struct {
	SavepointedBy     string                                `avro:"savepointedBy"`
	SavepointedAt     int64                                 `avro:"savepointedAt"` // milliseconds since 1970
	Comments          string                                `avro:"comments"`
	PartitionMetadata map[string]SavepointPartitionMetadata `avro:"partitionMetadata"`
	Version           int32                                 `avro:"version,omitzero"` // 0 is written as 1
}

// SavepointPartitionMetadata is one partition's data files, by name.
type SavepointPartitionMetadata struct {
	PartitionPath     string   `avro:"partitionPath"`
	SavepointDataFile []string `avro:"savepointDataFile"`
}

var savepointMetadataSchema = avroSchema("HoodieSavepointMetadata",
	avroField("savepointedBy", avroString),
	avroField("savepointedAt", `"long"`),
	avroField("comments", avroString),
	avroField("partitionMetadata", avroMap(avroRecord("HoodieSavepointPartitionMetadata",
		avroField("partitionPath", avroString),
		avroField("savepointDataFile", avroArray(avroString))))),
	avroVersion("1"))

// DecodeSavepointMetadata reads the file of a completed savepoint; nil for an empty one.
func DecodeSavepointMetadata(data []byte) (*SavepointMetadata, error) {
	return decodeRecord[SavepointMetadata]("savepoint metadata", data)
}

// Encode makes the file of a completed savepoint.
func (m *SavepointMetadata) Encode() ([]byte, error) {
	return encodeRecord("savepoint metadata", savepointMetadataSchema, m)
}
