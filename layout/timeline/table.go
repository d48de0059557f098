package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/shoaldb/shoal/layout/storage"
)

// InitLayout makes the folders of a fresh table and then its hoodie.properties, with the checksum.
// The properties come last: with them the folder is a table. fs.ErrExist when it is one already.
func InitLayout(ctx context.Context, st storage.Storage, p *Properties) error {
	archive, _ := p.Get(KeyArchiveFolder)
	if archive == "" {
		archive = "archived"
	}
	if there, err := exists(ctx, st, propertiesPath); err != nil {
		return fmt.Errorf("create table: %w", err)
	} else if there {
		return fmt.Errorf("create table: %w", &fs.PathError{Op: "create", Path: propertiesPath, Err: fs.ErrExist})
	}
	for _, dir := range []string{archive, tempFolder, ".schema", ".aux/.bootstrap/.partitions", ".aux/.bootstrap/.fileids"} {
		if err := st.MkdirAll(ctx, path.Join(Dir, dir)); err != nil {
			return fmt.Errorf("create table: %w", err)
		}
	}
	return CreateProperties(ctx, st, p)
}

// PartitionMetadataName is the name of the file that makes a folder a partition. Its variants in
// other formats add an ending: see IsPartitionMetadata.
const PartitionMetadataName = ".hoodie_partition_metadata"

// IsPartitionMetadata reports whether a file of this name makes its folder a partition.
func IsPartitionMetadata(name string) bool {
	return name == PartitionMetadataName ||
		strings.HasPrefix(name, PartitionMetadataName+".") && !strings.HasSuffix(name, ".crc")
}

// PartitionMetadata is the content of a partition's metadata file.
type PartitionMetadata struct {
	CommitTime string // instant of the write that made the partition
	Depth      int    // folders between the base path and the files; 0 when not partitioned
}

// partitionDepth is the number of path levels of a partition.
func partitionDepth(partition string) int {
	if partition == "" {
		return 0
	}
	return strings.Count(partition, "/") + 1
}

// ReadPartitionMetadata reads the text form; fs.ErrNotExist when there is none.
func ReadPartitionMetadata(ctx context.Context, st storage.Storage, partition string) (*PartitionMetadata, error) {
	file := path.Join(partition, PartitionMetadataName)
	b, err := st.ReadFile(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("partition %q: %w", partition, err)
	}
	p, err := ParseProperties(b)
	if err != nil {
		return nil, fmt.Errorf("partition %q: %s: %w", partition, file, err)
	}
	depth, _ := p.Get("partitionDepth")
	n, err := strconv.ParseUint(depth, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("partition %q: %s: partitionDepth %q is no whole number", partition, file, depth)
	}
	m := &PartitionMetadata{Depth: int(n)}
	m.CommitTime, _ = p.Get("commitTime")
	return m, nil
}

// WritePartitionMetadata makes a folder a partition, and reports whether this call did. A folder
// that is one already, or becomes one at the same moment, is left as it is.
func WritePartitionMetadata(ctx context.Context, st storage.Storage, partition, instant string) (made bool, err error) {
	file := path.Join(partition, PartitionMetadataName)
	if there, err := exists(ctx, st, file); there || err != nil {
		return false, err
	}
	p := NewProperties("commitTime", instant, "partitionDepth", strconv.Itoa(partitionDepth(partition)))
	text := "#partition metadata\n#" + time.Now().UTC().Format(javaDate) + "\n" + string(p.Bytes())
	err = st.CreateExclusive(ctx, file, []byte(text))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("partition %q: %w", partition, err)
	}
	return true, nil
}
