package timeline

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/shoaldb/shoal/layout/storage"
)

// sidecar is the checksum file that Hadoop's local file system keeps beside a file.
func sidecar(p string) string {
	return path.Join(path.Dir(p), "."+path.Base(p)+".crc")
}

// remove removes a file with its sidecar, the sidecar first: left behind it would condemn the
// next file of this name.
func remove(ctx context.Context, st storage.Storage, p string) error {
	crc := sidecar(p)
	if _, err := st.Stat(ctx, crc); err == nil {
		if err := st.Remove(ctx, crc); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return st.Remove(ctx, p)
}

func exists(ctx context.Context, st storage.Storage, p string) (bool, error) {
	_, err := st.Stat(ctx, p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
