package timeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The keys of hoodie.properties that this package gives a meaning (docs/format.md:
// hoodie.properties). Others are kept as they are.
const (
	KeyName                  = "hoodie.table.name"
	KeyDatabase              = "hoodie.database.name"
	KeyType                  = "hoodie.table.type"
	KeyVersion               = "hoodie.table.version"
	KeyLayoutVersion         = "hoodie.timeline.layout.version"
	KeyChecksum              = "hoodie.table.checksum"
	KeyArchiveFolder         = "hoodie.archivelog.folder"
	KeyRecordKeyFields       = "hoodie.table.recordkey.fields"
	KeyPartitionFields       = "hoodie.table.partition.fields"
	KeyPrecombineField       = "hoodie.table.precombine.field"
	KeyOrderingFields        = "hoodie.table.ordering.fields" // its name from version 9 on
	KeyKeyGenerator          = "hoodie.table.keygenerator.class"
	KeyKeyGeneratorType      = "hoodie.table.keygenerator.type" // instead of the class from version 8 on
	KeyHiveStylePartitioning = "hoodie.datasource.write.hive_style_partitioning"
	KeyURLEncodePartition    = "hoodie.datasource.write.partitionpath.urlencode"
	KeyDropPartitionColumns  = "hoodie.datasource.write.drop.partition.columns"
	KeyCreateSchema          = "hoodie.table.create.schema"
	KeyPopulateMetaFields    = "hoodie.populate.meta.fields"
	KeyTimezone              = "hoodie.table.timeline.timezone"
	KeyPayloadClass          = "hoodie.compaction.payload.class"
	KeyBaseFileFormat        = "hoodie.table.base.file.format"
	KeyMetadataPartitions    = "hoodie.table.metadata.partitions"
	KeyMetadataInflight      = "hoodie.table.metadata.partitions.inflight"

	// From version 8 on.
	KeyInitialVersion  = "hoodie.table.initial.version"
	KeyTimelinePath    = "hoodie.timeline.path"
	KeyHistoryPath     = "hoodie.timeline.history.path"
	KeyMergeMode       = "hoodie.record.merge.mode"
	KeyMergeStrategyID = "hoodie.record.merge.strategy.id"

	// From version 9 on.
	KeyPartialUpdateMode = "hoodie.table.partial.update.mode"
	KeyTableFormat       = "hoodie.table.format"
)

// Table types.
const (
	CopyOnWrite = "COPY_ON_WRITE"
	MergeOnRead = "MERGE_ON_READ"
)

// Merge modes: how rows of one key are merged.
const (
	MergeByCommitTime = "COMMIT_TIME_ORDERING" // the newer write wins
	MergeByEventTime  = "EVENT_TIME_ORDERING"  // the greater ordering value wins, of equal ones the newer write
	MergeCustom       = "CUSTOM"               // a Java class decides
)

// ConfigError reports a key of hoodie.properties whose value is missing or cannot be.
type ConfigError struct {
	Key, Value string
	Reason     string
	Err        error // a sentinel, or nil
}

func (e *ConfigError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %s", e.Key, e.Reason)
	}
	return fmt.Sprintf("%s=%s: %s", e.Key, e.Value, e.Reason)
}

func (e *ConfigError) Unwrap() error { return e.Err }

// TableConfig is hoodie.properties with types and defaults.
type TableConfig struct {
	Name     string
	Database string // may be empty
	Type     string // CopyOnWrite, the default, or MergeOnRead
	// Version is the table version; 0 when the properties, of a table older than 0.6, have none.
	Version int
	// LayoutVersion is the timeline's; 0 when the properties have none.
	LayoutVersion int

	RecordKeyFields []string // empty: keys are generated
	PartitionFields []string // empty: not partitioned; without type suffixes
	// PartitionTypes has, for each partition field, the type that the custom key generator's
	// properties append to it: SIMPLE, TIMESTAMP, or "".
	PartitionTypes []string
	// PrecombineField is the field that decides which of two rows of one key stays; "" when there
	// is none. Version 9 allows several, which are here as a comma list, and apart in
	// OrderingFields.
	PrecombineField string
	// KeyGenerator is the Java class name, or where only a type was stored, that type, such as
	// SIMPLE; "" when neither is there.
	KeyGenerator          string
	HiveStylePartitioning bool
	URLEncodePartition    bool
	DropPartitionColumns  bool
	CreateSchema          string // Avro schema as JSON, without meta columns; may be empty
	PopulateMetaFields    bool   // default true
	Timezone              string // zone of instant times: LOCAL, the default, or UTC
	MetadataPartitions    []string
	MetadataInflight      []string // partitions of the metadata table that are being built
	BaseFileFormat        string   // upper case; default PARQUET
	PayloadClass          string
	ArchiveFolder         string // in Dir; default "archived"

	// What versions 8 and 9 add (docs/format.md: Layout 2).

	InitialVersion    int      // version in which the table was made; 0: not recorded
	OrderingFields    []string // PrecombineField as a list
	MergeMode         string   // MergeByCommitTime …; "": not recorded, the payload class decides
	MergeStrategyID   string   // UUID of a merger, for people and MergeCustom
	PartialUpdateMode string   // how nulls and defaults in newer rows merge; "": whole rows replace
	TableFormat       string   // who keeps the metadata; default "native", which is the timeline
	TimelinePath      string   // of layout 2, in Dir; default "timeline"
	HistoryPath       string   // of layout 2, in TimelinePath; default "history"

	Props *Properties // all of it; must not be changed
}

// ParseTableConfig checks and types properties. Errors are *ConfigError and name the key; a
// wrong checksum is ErrChecksum.
func ParseTableConfig(p *Properties) (*TableConfig, error) {
	if err := verifyProperties(p); err != nil {
		return nil, err
	}
	r := configReader{p: p}
	c := &TableConfig{
		Name:                  r.text(KeyName, ""),
		Database:              r.text(KeyDatabase, ""),
		Type:                  strings.ToUpper(r.oneOf(KeyType, CopyOnWrite, MergeOnRead)),
		Version:               r.number(KeyVersion),
		LayoutVersion:         r.number(KeyLayoutVersion),
		RecordKeyFields:       r.list(KeyRecordKeyFields),
		PrecombineField:       r.text(KeyPrecombineField, r.text(KeyOrderingFields, "")),
		KeyGenerator:          r.text(KeyKeyGenerator, r.text(KeyKeyGeneratorType, "")),
		HiveStylePartitioning: r.flag(KeyHiveStylePartitioning, false),
		URLEncodePartition:    r.flag(KeyURLEncodePartition, false),
		DropPartitionColumns:  r.flag(KeyDropPartitionColumns, false),
		CreateSchema:          r.text(KeyCreateSchema, ""),
		PopulateMetaFields:    r.flag(KeyPopulateMetaFields, true),
		Timezone:              strings.ToUpper(r.oneOf(KeyTimezone, "LOCAL", "UTC")),
		MetadataPartitions:    r.list(KeyMetadataPartitions),
		MetadataInflight:      r.list(KeyMetadataInflight),
		BaseFileFormat:        strings.ToUpper(r.text(KeyBaseFileFormat, "PARQUET")),
		PayloadClass:          r.text(KeyPayloadClass, ""),
		ArchiveFolder:         r.text(KeyArchiveFolder, "archived"),
		InitialVersion:        r.number(KeyInitialVersion),
		OrderingFields:        r.list(KeyPrecombineField),
		MergeMode:             strings.ToUpper(r.text(KeyMergeMode, "")),
		MergeStrategyID:       r.text(KeyMergeStrategyID, ""),
		PartialUpdateMode:     strings.ToUpper(r.text(KeyPartialUpdateMode, "")),
		TableFormat:           strings.ToLower(r.text(KeyTableFormat, "native")),
		TimelinePath:          r.text(KeyTimelinePath, "timeline"),
		HistoryPath:           r.text(KeyHistoryPath, "history"),
		Props:                 p,
	}
	if c.OrderingFields == nil {
		c.OrderingFields = r.list(KeyOrderingFields)
	}
	for _, f := range r.list(KeyPartitionFields) {
		field, kind := splitType(f)
		c.PartitionFields = append(c.PartitionFields, field)
		c.PartitionTypes = append(c.PartitionTypes, kind)
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// Location is the time zone of the table's instants.
func (c *TableConfig) Location() *time.Location {
	if c.Timezone == "UTC" {
		return time.UTC
	}
	return time.Local
}

func splitType(field string) (name, kind string) {
	if i := strings.LastIndexByte(field, ':'); i >= 0 {
		switch kind := strings.ToUpper(field[i+1:]); kind {
		case "SIMPLE", "TIMESTAMP":
			return field[:i], kind
		}
	}
	return field, ""
}

// configReader reads values and keeps the first error. An empty value is as good as none.
type configReader struct {
	p   *Properties
	err error
}

func (r *configReader) text(key, def string) string {
	if v, _ := r.p.Get(key); strings.TrimSpace(v) != "" {
		return strings.TrimSpace(v)
	}
	return def
}

func (r *configReader) fail(key, value, reason string) {
	if r.err == nil {
		r.err = &ConfigError{Key: key, Value: value, Reason: reason}
	}
}

func (r *configReader) oneOf(key string, choices ...string) string {
	v := r.text(key, choices[0])
	for _, c := range choices {
		if strings.EqualFold(c, v) {
			return v
		}
	}
	r.fail(key, v, "want "+strings.Join(choices, " or "))
	return v
}

func (r *configReader) number(key string) int {
	v := r.text(key, "0")
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		r.fail(key, v, "want a whole number")
	}
	return int(n)
}

func (r *configReader) flag(key string, def bool) bool {
	switch v := r.text(key, strconv.FormatBool(def)); strings.ToLower(v) {
	case "true":
		return true
	case "false":
		return false
	default:
		r.fail(key, v, "want true or false")
		return def
	}
}

func (r *configReader) list(key string) []string {
	var out []string
	for _, f := range strings.Split(r.text(key, ""), ",") {
		if f = strings.TrimSpace(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}
