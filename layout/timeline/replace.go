package timeline

import (
	"net/url"
	"path"
	"strings"

	"github.com/shoaldb/shoal/layout/storage"
)

// RequestedReplace is the content of a requested replacecommit. For a clustering it carries the
// plan; insert_overwrite and its like leave all but the version empty.
type RequestedReplace struct {
	OperationType  string            `avro:"operationType,omitzero"` // OpCluster, or ""
	ClusteringPlan *ClusteringPlan   `avro:"clusteringPlan"`
	ExtraMetadata  map[string]string `avro:"extraMetadata,omitzero"`
	Version        int32             `avro:"version,omitzero"` // 0 is written as 1
}

// ClusteringPlan says which file groups a clustering rewrites, and how (docs/format.md:
// clustering plan).
type ClusteringPlan struct {
	InputGroups            []ClusteringGroup   `avro:"inputGroups"`
	Strategy               *ClusteringStrategy `avro:"strategy"`
	ExtraMetadata          map[string]string   `avro:"extraMetadata,omitzero"`
	Version                int32               `avro:"version,omitzero"` // 0 is written as 1
	PreserveHoodieMetadata *bool               `avro:"preserveHoodieMetadata"`
}

// ClusteringGroup is a set of file slices that are rewritten together.
type ClusteringGroup struct {
	Slices              []SliceInfo        `avro:"slices"`
	Metrics             map[string]float64 `avro:"metrics,omitzero"`             // Metric…, for people to read
	NumOutputFileGroups int32              `avro:"numOutputFileGroups,omitzero"` // an estimate; 0 is written as 1
	ExtraMetadata       map[string]string  `avro:"extraMetadata,omitzero"`
	Version             int32              `avro:"version,omitzero"` // 0 is written as 1
}

// SliceInfo names a file slice. Its paths are absolute where Hudi or this package wrote them
// (PlanPath), but should be used by PlanFile only: the table may have moved since.
type SliceInfo struct {
	DataFilePath      string   `avro:"dataFilePath"` // "" when the slice has no base file
	DeltaFilePaths    []string `avro:"deltaFilePaths"`
	FileID            string   `avro:"fileId"`
	PartitionPath     string   `avro:"partitionPath"`
	BootstrapFilePath string   `avro:"bootstrapFilePath"`
	Version           int32    `avro:"version,omitzero"` // 0 is written as 1
}

// ClusteringStrategy is how the groups are rewritten.
type ClusteringStrategy struct {
	StrategyClassName string            `avro:"strategyClassName,omitzero"` // of the execution strategy, in Java
	StrategyParams    map[string]string `avro:"strategyParams,omitzero"`
	Version           int32             `avro:"version,omitzero"` // 0 is written as 1
}

// Names of a ClusteringGroup's metrics.
const (
	MetricLogFiles     = "TOTAL_LOG_FILES"
	MetricLogFilesSize = "TOTAL_LOG_FILES_SIZE" // bytes
	MetricIOReadMB     = "TOTAL_IO_READ_MB"
	MetricIOWriteMB    = "TOTAL_IO_WRITE_MB"
	MetricIOMB         = "TOTAL_IO_MB"
)

var requestedReplaceSchema = avroSchema("HoodieRequestedReplaceMetadata",
	avroOptional("operationType", avroString),
	avroOptional("clusteringPlan", avroRecord("HoodieClusteringPlan",
		avroOptional("inputGroups", avroArray(avroRecord("HoodieClusteringGroup",
			avroOptional("slices", avroArray(avroRecord("HoodieSliceInfo",
				avroOptional("dataFilePath", avroString),
				avroOptional("deltaFilePaths", avroArray(avroString)),
				avroField("fileId", `["null",`+avroString+`]`),
				avroOptional("partitionPath", avroString),
				avroOptional("bootstrapFilePath", avroString),
				avroVersion("1")))),
			avroOptional("metrics", avroMap(`"double"`)),
			avroFieldDefault("numOutputFileGroups", `["int","null"]`, "1"),
			avroOptional("extraMetadata", avroMap(avroString)),
			avroVersion("1")))),
		avroOptional("strategy", avroRecord("HoodieClusteringStrategy",
			avroOptional("strategyClassName", avroString),
			avroOptional("strategyParams", avroMap(avroString)),
			avroVersion("1"))),
		avroOptional("extraMetadata", avroMap(avroString)),
		avroVersion("1"),
		avroOptional("preserveHoodieMetadata", `"boolean"`))),
	avroOptional("extraMetadata", avroMap(avroString)),
	avroVersion("1"))

// IsClustering reports whether the replacecommit is a clustering. r may be nil.
func (r *RequestedReplace) IsClustering() bool {
	return r != nil && r.OperationType == OpCluster && r.ClusteringPlan != nil
}

// DecodeRequestedReplace reads the file of a requested replacecommit. An empty one, which some
// writers leave for other operations than clustering, gives nil.
func DecodeRequestedReplace(data []byte) (*RequestedReplace, error) {
	return decodeRecord[RequestedReplace]("requested replacecommit", data)
}

// Encode makes the file of a requested replacecommit.
func (r *RequestedReplace) Encode() ([]byte, error) {
	c := *r
	if c.ClusteringPlan != nil {
		// Readers iterate lists and look maps up without asking whether they are there.
		plan := *c.ClusteringPlan
		groups := make([]ClusteringGroup, len(plan.InputGroups))
		for i, g := range plan.InputGroups {
			slices := make([]SliceInfo, len(g.Slices))
			for j, s := range g.Slices {
				if s.DeltaFilePaths == nil {
					s.DeltaFilePaths = []string{}
				}
				slices[j] = s
			}
			g.Slices = slices
			groups[i] = g
		}
		plan.InputGroups = groups
		if plan.Strategy != nil && plan.Strategy.StrategyParams == nil {
			strategy := *plan.Strategy
			strategy.StrategyParams = map[string]string{}
			plan.Strategy = &strategy
		}
		c.ClusteringPlan = &plan
	}
	return encodeRecord("requested replacecommit", requestedReplaceSchema, &c)
}

// PlanPath is the text by which a plan names a file: its absolute address without percent
// escapes, because Hadoop takes the text of a path literally.
func PlanPath(st storage.Storage, file string) string {
	uri := st.URI(file)
	if u, err := url.Parse(uri); err == nil && u.Scheme != "" {
		return u.Scheme + "://" + u.Host + u.Path
	}
	return uri
}

// PlanFile is the path, relative to the base path, of a file that a plan names in any form:
// with an authority or without, of a table that has moved, or relative. It is "" for "".
func PlanFile(partition, planPath string) string {
	if planPath == "" {
		return ""
	}
	return path.Join(partition, planPath[strings.LastIndexByte(planPath, '/')+1:])
}

// BaseFile is the path of the slice's base file relative to the base path; "" when it has none.
func (s SliceInfo) BaseFile() string { return PlanFile(s.PartitionPath, s.DataFilePath) }
