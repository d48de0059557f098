package basefile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/column"
)

// tryRead opens and reads a file of any bytes. Errors must be of the package's types and name the file;
// rows must be well formed.
func tryRead(t *testing.T, b []byte) {
	x, err := openBytes(b, "fuzz.parquet")
	if err == nil {
		x.Stats()
		x.KeyRange()
		_, _, err = x.Bloom()
		checkTyped(t, err)
		for g := range min(x.NumRowGroups(), 3) {
			r := x.Read(context.Background(), g, nil, 1000)
			for {
				b, err := r.Next()
				if err != nil {
					if err != io.EOF {
						checkTyped(t, err)
					}
					break
				}
				if err := wellFormed(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		return
	}
	checkTyped(t, err)
}

func checkTyped(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "fuzz.parquet") {
		t.Fatalf("error %T %v", err, err)
	}
}

// seedFiles are small valid files: those of the fixtures, if any, and one of our own.
func seedFiles(t testing.TB) [][]byte {
	seeds := [][]byte{ownFile(t)}
	dir := os.Getenv("SHOAL_FIXTURES")
	if dir == "" {
		if found, _ := filepath.Glob("../../../*/fixtures"); len(found) > 0 {
			dir = found[0]
		}
	}
	for _, sub := range []string{"awkward", "bad"} {
		files, _ := filepath.Glob(filepath.Join(dir, "parquet", sub, "*.parquet"))
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil && len(b) < 5000 {
				seeds = append(seeds, b)
			}
		}
	}
	return seeds
}

// ownFile writes a small file with every type.
func ownFile(t testing.TB) []byte {
	s := &column.Schema{}
	for i, ty := range leafTypes {
		s.Fields = append(s.Fields, column.Field{Name: string(rune('a' + i)), Type: ty, Nullable: true})
	}
	s.Fields = append(s.Fields, column.Field{Name: "nested", Type: listOf(mapOf(typ(column.Int32)), true), Nullable: true})
	b := &column.Batch{Schema: s, Len: 6}
	for i, f := range s.Fields {
		v := column.Nulls(f.Type, 6)
		if i == 1 {
			v = &column.Vector{Type: f.Type, Len: 6, I32: []int32{1, 2, 3, 1, 2, 3}}
		}
		if f.Type.Kind == column.String {
			v = column.Constant(f.Type, []byte("const"), 6)
		}
		b.Cols = append(b.Cols, v)
	}
	return writeBytes(t, WriterOptions{Schema: s, PageRows: 3}, b)
}

func writeBytes(t testing.TB, o WriterOptions, bs ...*column.Batch) []byte {
	t.Helper()
	out, _ := writeFile(t, o, bs...)
	return out
}

func writeFile(t testing.TB, o WriterOptions, bs ...*column.Batch) ([]byte, Summary) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bs {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), sum
}

func FuzzOpenRead(f *testing.F) {
	for _, b := range seedFiles(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { tryRead(t, b) })
}

func FuzzPageHeader(f *testing.F) {
	f.Add(appendPageHeader(nil, 0, 100, []byte("abc"), 7, 0))
	f.Add(appendPageHeader(nil, 2, 100, []byte("abc"), 7, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := parsePageHeader(b)
		if err == nil && (n > len(b) || h.values < 0 || h.compressed < 0) {
			t.Errorf("%+v, %d of %d bytes", h, n, len(b))
		}
	})
}

func FuzzBloomFilter(f *testing.F) {
	b := NewBloomFilter(10, 10, 0.01)
	b.Add([]byte("key"))
	f.Add(b.Marshal(), BloomSimple, []byte("key"))
	f.Add("/////wAAABQBAAAAQAAAAAoAAAABAAAAAf////8AAAAUAQAAAEAAAAAAAAAAAA==", BloomDynamic, []byte(""))
	f.Fuzz(func(t *testing.T, text, code string, key []byte) {
		if b, err := ParseBloomFilter(text, code); err == nil {
			b.Contains(key)
		}
	})
}

// TestFlippedBits reads files with random damage, the same in every run.
func TestFlippedBits(t *testing.T) {
	fixtures.Dir(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	n := 150
	if testing.Short() {
		n = 20
	}
	for _, seed := range seedFiles(t) {
		for range n {
			b := bytes.Clone(seed)
			for range 1 + rnd.IntN(3) {
				i := rnd.IntN(len(b))
				if rnd.IntN(3) == 0 { // the footer is where the lengths are
					i = len(b) - 1 - rnd.IntN(min(len(b), 700))
				}
				b[i] ^= byte(1 + rnd.IntN(255))
			}
			tryRead(t, b)
		}
	}
}
