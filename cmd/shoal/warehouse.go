package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/magiconair/properties"
	"github.com/spf13/cobra"

	"github.com/shoaldb/shoal/engine"
)

// warehouseFlags are those of every command that works on a warehouse.
type warehouseFlags struct {
	dir     string
	catalog string
	config  string
	memory  byteSize
}

func (f *warehouseFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.dir, "warehouse", "w", "./warehouse", "folder of the tables; made if missing")
	fs.StringVar(&f.catalog, "catalog", "", "sqlite file of the catalog (default <warehouse>/.shoal/catalog.db)")
	fs.StringVar(&f.config, "config", "", "properties file of hoodie.* and shoal.* defaults for all tables")
	fs.Var(&f.memory, "memory-limit", "memory that one write or clustering may use, such as 512MiB or 2GiB (default 256MiB for writes, 1GiB for clusterings)")
}

// open opens the warehouse. Files outside it may be named below allow.
func (f *warehouseFlags) open(ctx context.Context, log *slog.Logger, allow ...string) (*engine.Warehouse, error) {
	config, err := readConfig(f.config)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return nil, fmt.Errorf("warehouse: %w", err)
	}
	return engine.OpenWarehouse(ctx, engine.Options{Root: f.dir, CatalogPath: f.catalog, AllowPaths: allow,
		Logger: log, Config: config, MemoryBytes: int64(f.memory)})
}

// readConfig reads a properties file. A key that is neither Hudi's nor ours is a mistake.
func readConfig(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	l := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := l.LoadFile(file)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	var bad []error
	for _, k := range p.Keys() {
		if !strings.HasPrefix(k, "hoodie.") && !strings.HasPrefix(k, "shoal.") {
			bad = append(bad, fmt.Errorf("config %s: %s is neither a hoodie.* nor a shoal.* key", file, k))
		}
	}
	return p.Map(), errors.Join(bad...)
}

// byteSize is a flag for a number of bytes, with or without a unit.
type byteSize int64

var byteUnits = []struct {
	suffix string
	bytes  int64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"b", 1}, {"", 1}}

// String implements pflag.Value.
func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	for i := 3; i >= 0; i-- {
		if u := byteUnits[i]; int64(*b)%u.bytes == 0 {
			return fmt.Sprintf("%d%s%s", int64(*b)/u.bytes, strings.ToUpper(u.suffix[:1]), "iB")
		}
	}
	return fmt.Sprint(int64(*b))
}

// Set implements pflag.Value.
func (b *byteSize) Set(s string) error {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, u := range byteUnits {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		var n int64
		digits = strings.TrimSpace(digits)
		if _, err := fmt.Sscanf(digits, "%d", &n); err != nil || fmt.Sprint(n) != digits || n <= 0 || n > (1<<62)/u.bytes {
			break
		}
		*b = byteSize(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a number of bytes such as 512MiB", s)
}

// Type implements pflag.Value.
func (b *byteSize) Type() string { return "size" }
