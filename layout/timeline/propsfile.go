package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strconv"
	"time"

	"github.com/shoaldb/shoal/layout/storage"
)

const (
	propertiesName = "hoodie.properties"
	propertiesPath = Dir + "/" + propertiesName
	backupPath     = propertiesPath + ".backup"
)

// ErrChecksum is returned, wrapped, when hoodie.table.checksum does not fit the table's names.
var ErrChecksum = errors.New("checksum does not fit the table and database name")

// Checksum is the value of hoodie.table.checksum: CRC-32 of "database.table", in decimal. The
// database may be empty. It covers the two names only (docs/format.md: hoodie.properties).
func Checksum(database, table string) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(database+"."+table))), 10)
}

// verifyProperties tells whether the properties are those of a table, or of a file that was cut
// short or is of another table.
func verifyProperties(p *Properties) error {
	name, ok := p.Get(KeyName)
	if !ok || name == "" {
		return &ConfigError{Key: KeyName, Reason: "it is required"}
	}
	if sum, ok := p.Get(KeyChecksum); ok {
		database, _ := p.Get(KeyDatabase)
		if want := Checksum(database, name); sum != want {
			return &ConfigError{Key: KeyChecksum, Value: sum, Reason: "want " + want, Err: ErrChecksum}
		}
	}
	return nil
}

func readProperties(ctx context.Context, st storage.Storage, path string) (*Properties, []byte, error) {
	b, err := st.ReadFile(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	p, err := ParseProperties(b)
	if err == nil {
		err = verifyProperties(p)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, b, nil
}

// readAttempts bounds how often ReadProperties looks for a whole file while another program that
// does not replace it atomically is at work.
const readAttempts = 5

// ReadProperties reads hoodie.properties, or its backup while the file itself is missing or
// damaged. Without either the error is fs.ErrNotExist.
func ReadProperties(ctx context.Context, st storage.Storage) (*Properties, error) {
	for attempt := 1; ; attempt++ {
		p, _, err := readProperties(ctx, st, propertiesPath)
		if err == nil {
			return p, nil
		}
		p, _, berr := readProperties(ctx, st, backupPath)
		if berr == nil {
			return p, nil
		}
		// An updater removes the backup last, so both may be missed once by looking between.
		absent := errors.Is(err, fs.ErrNotExist) && errors.Is(berr, fs.ErrNotExist)
		if ctx.Err() != nil || attempt == readAttempts || absent && attempt > 1 {
			return nil, fmt.Errorf("table properties: %w", err)
		}
		if absent {
			continue
		}
		t := time.NewTimer(time.Duration(attempt) * 5 * time.Millisecond)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

// CreateProperties writes the hoodie.properties of a fresh table, with its checksum;
// fs.ErrExist when there is one.
func CreateProperties(ctx context.Context, st storage.Storage, p *Properties) error {
	p, err := withChecksum(p)
	if err != nil {
		return err
	}
	if err := st.CreateExclusive(ctx, propertiesPath, fileText(p, "Properties saved on")); err != nil {
		return fmt.Errorf("create table properties: %w", err)
	}
	return nil
}

// WriteProperties replaces hoodie.properties, with the checksum brought up to date. The caller
// holds the table's lock.
func WriteProperties(ctx context.Context, st storage.Storage, p *Properties) error {
	return UpdateProperties(ctx, st, func(now *Properties) error {
		*now = *p.Clone()
		return nil
	})
}

// UpdateProperties changes hoodie.properties as Hudi's update protocol wants it (docs/format.md:
// hoodie.properties): while the new file is made, the old text lies in a backup that readers
// and the next updater fall back to. An error of change leaves everything as it was. The caller
// holds the table's lock.
func UpdateProperties(ctx context.Context, st storage.Storage, change func(*Properties) error) error {
	if err := RecoverProperties(ctx, st); err != nil {
		return err
	}
	p, old, err := readProperties(ctx, st, propertiesPath)
	if err != nil {
		return fmt.Errorf("update table properties: %w", err)
	}
	if err := change(p); err != nil {
		return err
	}
	if p, err = withChecksum(p); err != nil {
		return err
	}
	if err := st.CreateExclusive(ctx, backupPath, old); err != nil {
		return fmt.Errorf("back up table properties: %w", err)
	}
	text := fileText(p, "Updated at")
	// Hadoop's local file system would compare the new file with the old checksum.
	err = st.Remove(ctx, sidecar(propertiesPath))
	if err == nil {
		err = st.Replace(ctx, propertiesPath, text)
	}
	if err == nil {
		var got []byte
		if got, err = st.ReadFile(ctx, propertiesPath); err == nil && !bytes.Equal(got, text) {
			err = fmt.Errorf("%s: it holds other bytes than were written", propertiesPath)
		}
	}
	if err != nil {
		// Whatever is there now, the next reader and updater know what to do with the backup.
		return fmt.Errorf("update table properties: %w", err)
	}
	return removeBackup(ctx, st)
}

// RecoverProperties finishes an update that was cut short: it restores hoodie.properties from the
// backup if need be, and removes the backup. The caller holds the table's lock.
func RecoverProperties(ctx context.Context, st storage.Storage) error {
	if _, err := st.Stat(ctx, backupPath); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("recover table properties: %w", err)
	}
	if _, _, err := readProperties(ctx, st, propertiesPath); err != nil {
		_, text, berr := readProperties(ctx, st, backupPath)
		if berr != nil {
			return fmt.Errorf("recover table properties: neither file is whole: %w; %w", err, berr)
		}
		if err := st.Remove(ctx, sidecar(propertiesPath)); err != nil {
			return fmt.Errorf("recover table properties: %w", err)
		}
		if err := st.Replace(ctx, propertiesPath, text); err != nil {
			return fmt.Errorf("recover table properties: %w", err)
		}
	}
	return removeBackup(ctx, st)
}

func removeBackup(ctx context.Context, st storage.Storage) error {
	if err := remove(ctx, st, backupPath); err != nil {
		return fmt.Errorf("remove the backup of the table properties: %w", err)
	}
	return nil
}

// withChecksum returns a copy that has the right checksum, or an error if it is not of a table.
func withChecksum(p *Properties) (*Properties, error) {
	p = p.Clone()
	name, _ := p.Get(KeyName)
	database, _ := p.Get(KeyDatabase)
	p.Set(KeyChecksum, Checksum(database, name))
	if err := verifyProperties(p); err != nil {
		return nil, fmt.Errorf("table properties: %w", err)
	}
	return p, nil
}

// javaDate is how java.util.Properties dates the files it stores.
const javaDate = "Mon Jan 02 15:04:05 MST 2006"

// fileText is the text form under the two comment lines that Hudi's files begin with.
func fileText(p *Properties, what string) []byte {
	now := time.Now().UTC()
	head := fmt.Sprintf("#%s %s\n#%s\n", what, now.Format("2006-01-02T15:04:05.000Z"), now.Format(javaDate))
	return append([]byte(head), p.Bytes()...)
}
