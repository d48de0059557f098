package engine

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shoaldb/shoal/catalog"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// statsCache holds per-file column statistics of one table, loaded on demand from the catalog
// and, for files it does not know, from their footers. Files are immutable and their names
// unique, so an entry never changes; statistics of files that are gone are harmless.
type statsCache struct {
	cat   *catalog.Catalog
	table int64

	mu    sync.Mutex // guards parts
	parts map[string]*partStats
}

type partStats struct {
	mu     sync.Mutex                                  // guards the rest; held while loading
	asked  map[string]bool                             // columns loaded from the catalog
	files  map[string]map[string]predicate.ColumnStats // file name → column
	footer map[string]bool                             // files whose footer was read: nothing else is to be had
}

func newStatsCache(cat *catalog.Catalog, table int64) *statsCache {
	return &statsCache{cat: cat, table: table, parts: map[string]*partStats{}}
}

func (c *statsCache) part(partition string) *partStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.parts[partition]
	if p == nil {
		p = &partStats{asked: map[string]bool{}, files: map[string]map[string]predicate.ColumnStats{}, footer: map[string]bool{}}
		c.parts[partition] = p
	}
	return p
}

// reset forgets everything: after a change of schema, statistics that were taken under the old
// one may be in another unit.
func (c *statsCache) reset(ctx context.Context, s *tableState) {
	c.mu.Lock()
	c.parts = map[string]*partStats{}
	c.mu.Unlock()
	for path, p := range s.partitions {
		var names []string
		for _, g := range p.groups {
			for _, sl := range g.slices {
				names = append(names, sl.FileName)
			}
		}
		// A failure leaves old statistics in the catalog; they are of the old schema only where a
		// column changed its unit, which readers then resolve by the footer.
		_ = c.cat.DropStats(ctx, c.table, path, names)
	}
}

// put adds the statistics of a file this process wrote.
func (c *statsCache) put(ctx context.Context, partition string, files []catalog.FileStats) error {
	p := c.part(partition)
	p.mu.Lock()
	for _, f := range files {
		p.files[f.FileName] = f.Columns
		p.footer[f.FileName] = true
	}
	p.mu.Unlock()
	return c.cat.PutStats(ctx, c.table, partition, files)
}

// fileStats presents one file's statistics to Prune.
type fileStats struct {
	rows    int64
	columns map[string]predicate.ColumnStats
}

func (f fileStats) Rows() int64 { return f.rows }

func (f fileStats) Column(name string) (predicate.ColumnStats, bool) {
	s, ok := f.columns[name]
	return s, ok
}

// load returns the statistics of the given columns for file groups of one partition, by file
// name. Files without known statistics have no entry.
func (c *statsCache) load(ctx context.Context, t *Table, sc *column.Schema, partition string, groups []*FileGroup, columns []string) (map[string]map[string]predicate.ColumnStats, error) {
	p := c.part(partition)
	p.mu.Lock()
	defer p.mu.Unlock()
	var ask []string
	for _, col := range columns {
		if !p.asked[col] {
			ask = append(ask, col)
		}
	}
	if len(ask) > 0 {
		got, err := c.cat.LoadStats(ctx, c.table, partition, ask)
		if err != nil {
			t.log.Warn("catalog statistics not read; footers are", "partition", partition, "error", err)
		}
		for file, cols := range got {
			have := p.files[file]
			if have == nil {
				have = map[string]predicate.ColumnStats{}
				p.files[file] = have
			} else if p.footer[file] {
				continue
			}
			for col, s := range cols {
				have[col] = s
			}
		}
		for _, col := range ask {
			p.asked[col] = true
		}
	}
	var missing []*FileGroup
	for _, g := range groups {
		name := g.Latest().FileName
		if !p.footer[name] && p.files[name] == nil {
			missing = append(missing, g)
		}
	}
	if err := c.fromFooters(ctx, t, sc, p, partition, missing); err != nil {
		return nil, err
	}
	out := make(map[string]map[string]predicate.ColumnStats, len(groups))
	for _, g := range groups {
		name := g.Latest().FileName
		if cols := p.files[name]; cols != nil {
			out[name] = cols
		}
	}
	return out, nil
}

// fromFooters reads the statistics of files nobody has told of, and keeps them in the catalog.
func (c *statsCache) fromFooters(ctx context.Context, t *Table, sc *column.Schema, p *partStats, partition string, groups []*FileGroup) error {
	if len(groups) == 0 {
		return nil
	}
	full := sc.WithMeta()
	found := make([]*catalog.FileStats, len(groups))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(listParallelism)
	for i, fg := range groups {
		g.Go(func() error {
			f, err := t.openBaseFile(gctx, fg.Path())
			if err != nil {
				// Pruning must not fail where reading may succeed; the scan reports the file.
				return gctx.Err()
			}
			defer f.Close()
			view, err := newFileView(f, full, full.Names())
			if err != nil {
				return nil
			}
			found[i] = &catalog.FileStats{FileName: fg.Latest().FileName, Columns: view.fileStats()}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var put []catalog.FileStats
	for _, f := range found {
		if f != nil {
			p.files[f.FileName] = f.Columns
			p.footer[f.FileName] = true
			put = append(put, *f)
		}
	}
	if len(put) > 0 {
		slices.SortFunc(put, func(a, b catalog.FileStats) int {
			if a.FileName < b.FileName {
				return -1
			}
			return 1
		})
		if err := c.cat.PutStats(ctx, c.table, partition, put); err != nil {
			t.log.Warn("statistics not kept in the catalog", "partition", partition, "error", err)
		}
	}
	return nil
}
