package basefile

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/shoaldb/shoal/layout/column"
)

// WriterOptions say how a base file is written. The zero values of all but Schema are good.
type WriterOptions struct {
	Schema *column.Schema
	Name   string // of the Parquet message; "" is "record"
	Codec  Codec
	// RowGroupRows is the most rows of a row group, 1 Mi by default.
	RowGroupRows int
	// RowGroupBytes closes a row group early, by the bytes of its columns in memory, 128 MiB by default.
	RowGroupBytes int64
	// PageRows is the rows of a page, 32 Ki by default. Pages of large values have fewer.
	PageRows int
	// KeyValue are pairs for the footer. The writer adds those about keys.
	KeyValue map[string]string
	// KeyColumn, if not empty, names the String column of record keys, for which the footer gets the
	// bloom filter and the range. It may not hold nulls.
	KeyColumn string
	// BloomEntries is the number of keys up to which the bloom filter keeps BloomFPP, its probability of
	// a false positive: 60000 and 1e-9 by default. A file of fewer keys gets a filter for those it has,
	// which readers understand since they take its size from its bytes. Negative: no filter.
	BloomEntries int
	BloomFPP     float64
	// CreatedBy names the writing program, in the form "<name> version <version> (build <hash>)".
	CreatedBy string
	// Parallel bounds the columns that are encoded at a time, GOMAXPROCS by default.
	Parallel int
}

const (
	defaultRowGroupRows  = 1 << 20
	defaultRowGroupBytes = 128 << 20
	defaultPageRows      = 32 << 10
	defaultCreatedBy     = "shoal version 0.1.0 (build release)"
	// writeStep is how many rows are taken in between looks at the size of the row group.
	writeStep = 8 << 10
	// maxPageBytes is what a page of average values may hold before pages get fewer rows.
	maxPageBytes = 8 << 20
	// firstRatio is the size of encoded columns relative to memory before the first row group tells.
	firstRatio = 0.4
)

// complete puts in the defaults.
func (o *WriterOptions) complete() error {
	if o.Schema == nil || len(o.Schema.Fields) == 0 {
		return errors.New("no columns")
	}
	setDefault(&o.RowGroupRows, defaultRowGroupRows)
	setDefault(&o.RowGroupBytes, defaultRowGroupBytes)
	setDefault(&o.PageRows, defaultPageRows)
	setDefault(&o.Parallel, runtime.GOMAXPROCS(0))
	if o.Name == "" {
		o.Name = "record"
	}
	if o.CreatedBy == "" {
		o.CreatedBy = defaultCreatedBy
	}
	if o.BloomEntries == 0 {
		o.BloomEntries = DefaultBloomEntries
	}
	if o.Codec > Zstd {
		return fmt.Errorf("unknown codec %d", o.Codec)
	}
	return nil
}

func setDefault[T int | int64](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
