package basefile

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

// TestTableFiles reads every base file of the Hudi tables and checks what their footers say of keys and
// columns against the rows.
func TestTableFiles(t *testing.T) {
	files, withBloom, bounded := 0, 0, 0
	for _, table := range fixtures.Tables(t) {
		base := fixtures.Table(t, table)
		err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == ".hoodie" {
				return fs.SkipDir
			}
			if _, err := ParseName(d.Name()); err != nil || d.IsDir() {
				return nil
			}
			files++
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			x, err := openBytes(b, path)
			if err != nil {
				t.Errorf("%s: %v", table, err)
				return nil
			}
			bs, err := readAll(x, nil, 100)
			if err != nil {
				t.Errorf("%s: %v", table, err)
				return nil
			}
			if n := rowsOf(bs); int64(n) != x.Rows() {
				t.Errorf("%s: %d rows read, %d in the footer", path, n, x.Rows())
			}
			if checkKeys(t, x, bs) {
				withBloom++
			}
			bounded += checkStats(t, x, bs)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files, %d with a bloom filter, %d column bounds", files, withBloom, bounded)
	if files < 200 || withBloom < 50 || bounded < 1000 {
		t.Errorf("%d files, %d with a bloom filter, %d column bounds: too few to show anything", files, withBloom, bounded)
	}
}

func rowsOf(bs []*column.Batch) (n int) {
	for _, b := range bs {
		n += b.Len
	}
	return n
}

// checkKeys checks that the footer's filter has every key and its range is that of the keys.
func checkKeys(t *testing.T, x *File, bs []*column.Batch) bool {
	bloom, ok, err := x.Bloom()
	if err != nil {
		t.Error(err)
	}
	if !ok || x.Schema().Index(column.MetaRecordKey) < 0 || x.Rows() == 0 {
		return false
	}
	lo, hi, hasRange := x.KeyRange()
	var least, greatest []byte
	for _, b := range bs {
		v := b.Column(column.MetaRecordKey)
		for i := range v.Len {
			key := v.Bytes(i)
			if !bloom.Contains(key) {
				t.Fatalf("%s: key %q is not in the bloom filter", x.Path(), key)
			}
			if least == nil || bytes.Compare(key, least) < 0 {
				least = key
			}
			if bytes.Compare(key, greatest) > 0 {
				greatest = key
			}
		}
	}
	if hasRange && (string(least) != lo || string(greatest) != hi) {
		t.Errorf("%s: keys %q to %q, footer says %q to %q", x.Path(), least, greatest, lo, hi)
	}
	// A filter that holds everything would pass as well.
	if bloom.Contains([]byte("no such key: " + strings.Repeat("x", 40))) {
		t.Errorf("%s: the filter has a key that is not in the file", x.Path())
	}
	return true
}

// checkStats checks the file's statistics against its rows and returns how many columns have a range.
func checkStats(t *testing.T, x *File, bs []*column.Batch) (bounded int) {
	for name, st := range x.Stats() {
		nulls := int64(0)
		for _, b := range bs {
			v := b.Column(name)
			nulls += int64(v.NullCount())
			for i := range v.Len {
				if !st.HasRange || v.Null(i) {
					continue
				}
				val := predicateValue(v, i)
				if c, ok := predicate.Compare(st.Min, val); ok && c > 0 {
					t.Errorf("%s, %s: %+v is below %+v", x.Path(), name, val, st.Min)
				}
				if c, ok := predicate.Compare(val, st.Max); ok && c > 0 {
					t.Errorf("%s, %s: %+v is above %+v", x.Path(), name, val, st.Max)
				}
			}
		}
		if st.Rows != x.Rows() || st.Nulls >= 0 && st.Nulls != nulls {
			t.Errorf("%s, %s: %d rows, %d nulls, statistics say %d and %d", x.Path(), name, x.Rows(), nulls, st.Rows, st.Nulls)
		}
		if st.HasRange {
			bounded++
		}
	}
	return bounded
}

// predicateValue is a row's value as predicates have it.
func predicateValue(v *column.Vector, i int) predicate.Value {
	p := predicate.Value{Kind: v.Type.Kind}
	switch v.Type.Kind {
	case column.Bool:
		p.I = bit(v.Bools[i])
	case column.Int32, column.Date:
		p.I = int64(v.I32[i])
	case column.Float32:
		p.F = float64(v.F32[i])
	case column.Float64:
		p.F = v.F64[i]
	case column.Decimal:
		p.D, p.Scale = v.Decimal(i), v.Type.Scale
	case column.String, column.Binary:
		p.B = v.Bytes(i)
	case column.TimestampMilli:
		p.I = v.I64[i] * 1000
	default:
		p.I = v.I64[i]
	}
	return p
}

func TestStatsOfAwkwardFiles(t *testing.T) {
	bounded := 0
	for _, path := range parquetFixtures(t, "awkward") {
		x, err := openPath(t, path)
		if err != nil {
			t.Fatal(err)
		}
		bs, err := readAll(x, nil, 1000)
		if err != nil {
			t.Fatal(err)
		}
		bounded += checkStats(t, x, bs)
	}
	if bounded < 100 {
		t.Errorf("only %d columns have a range", bounded)
	}
}
