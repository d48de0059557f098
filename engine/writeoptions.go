package engine

import (
	"strings"

	"github.com/shoaldb/shoal/layout/basefile"
)

// writeOptions is what the configuration says of one write, checked.
type writeOptions struct {
	duplicates   Duplicates
	globalIndex  bool
	operation    string
	metaFields   bool
	maxFileBytes int64
	flushRows    int64 // rows of one partition after which they go to its file
	file         basefile.WriterOptions
}

const (
	defaultMaxFileBytes = 120 << 20 // hoodie.parquet.max.file.size
	// defaultFlushRows is large enough that keys are not looked up in small portions.
	defaultFlushRows = 256 << 10
)

// resolveWriteOptions reads the keys that a write obeys (docs/configuration.md: writing).
func resolveWriteOptions(t *Table, s *Snapshot, o InsertOptions) (writeOptions, error) {
	c := o.Config
	if len(c.layers) == 0 {
		c = NewConfig(s.config.Props.Map(), t.w.config)
	}
	w := writeOptions{operation: o.Operation, metaFields: s.config.PopulateMetaFields, flushRows: defaultFlushRows}
	if w.operation == "" {
		w.operation = "INSERT"
	}
	var err error
	if w.file, w.maxFileBytes, err = fileConfig(c); err != nil {
		return w, err
	}
	policy, err := c.Enum("hoodie.datasource.insert.dup.policy", "fail", "none", "drop", "fail")
	if err != nil {
		return w, err
	}
	switch policy {
	case "drop":
		w.duplicates = DuplicatesDrop
	case "none":
		w.duplicates = DuplicatesKeep
	}
	if o.SetDuplicates {
		w.duplicates = o.Duplicates
	}
	index := strings.ToUpper(c.String("hoodie.index.type", "SIMPLE"))
	switch index {
	case "SIMPLE", "BLOOM", "INMEMORY", "RECORD_INDEX":
	case "GLOBAL_SIMPLE", "GLOBAL_BLOOM":
		w.globalIndex = true
	default:
		return w, &UnsupportedError{What: "hoodie.index.type=" + index, Why: "writing to such a table would break its file ids"}
	}
	return w, nil
}

// fileConfig reads the keys that shape base files.
func fileConfig(c Config) (o basefile.WriterOptions, maxFileBytes int64, err error) {
	if maxFileBytes, err = c.Int64("hoodie.parquet.max.file.size", defaultMaxFileBytes, 1, 1<<50); err != nil {
		return o, 0, err
	}
	codec, err := c.Enum("hoodie.parquet.compression.codec", "snappy", "uncompressed", "snappy", "gzip", "zstd")
	if err != nil {
		return o, 0, err
	}
	if o.Codec, err = basefile.ParseCodec(codec); err != nil {
		return o, 0, err
	}
	entries, err := c.Int64("hoodie.index.bloom.num_entries", 60000, 1, 1<<31)
	if err != nil {
		return o, 0, err
	}
	o.BloomEntries = int(entries)
	if o.BloomFPP, err = c.Float("hoodie.index.bloom.fpp", 1e-9, 1e-12, 0.5); err != nil {
		return o, 0, err
	}
	return o, maxFileBytes, nil
}
