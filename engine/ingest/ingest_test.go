package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
)

// sink is a Destination that keeps rows as JSON, a list of values a row.
type sink struct {
	schema  *column.Schema
	rows    []string
	batches []int // sizes
	fail    error // of the second batch
}

func (s *sink) Schema() *column.Schema { return s.schema }

func (s *sink) Insert(_ context.Context, b *column.Batch) error {
	if s.fail != nil && len(s.batches) == 1 {
		return s.fail
	}
	s.batches = append(s.batches, b.Len)
	if !b.Schema.Equal(s.schema) || len(b.Cols) != len(s.schema.Fields) {
		return fmt.Errorf("batch of columns %v", b.Schema.Names())
	}
	for c, v := range b.Cols {
		if f := s.schema.Fields[c]; v.Len != b.Len || !v.Type.Equal(f.Type) || !f.Nullable && v.NullCount() > 0 {
			return fmt.Errorf("column %s: %d of %d rows of %s, %d nulls", f.Name, v.Len, b.Len, v.Type, v.NullCount())
		}
	}
	for i := range b.Len {
		row := []byte("[")
		for c, v := range b.Cols {
			if c > 0 {
				row = append(row, ',')
			}
			row = column.AppendJSON(row, v, i)
		}
		s.rows = append(s.rows, string(append(row, ']')))
	}
	return nil
}

func kind(k column.Kind) column.Type { return column.Type{Kind: k} }

func decimal(p, s int) column.Type {
	return column.Type{Kind: column.Decimal, Precision: p, Scale: s}
}

// schemaOf makes a schema of name, type pairs; a name that ends in ! takes no nulls.
func schemaOf(pairs ...any) *column.Schema {
	s := &column.Schema{}
	for i := 0; i < len(pairs); i += 2 {
		name, required := strings.CutSuffix(pairs[i].(string), "!")
		s.Fields = append(s.Fields, column.Field{Name: name, Type: pairs[i+1].(column.Type), Nullable: !required})
	}
	return s
}

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeParquet[T any](t *testing.T, rows []T, o ...parquet.WriterOption) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, o...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "f.parquet", b.String())
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// Whatever the sizes of batches, every row arrives once and in order.
func TestEveryRowArrivesOnce(t *testing.T) {
	s := schemaOf("n", kind(column.Int64), "s", kind(column.String))
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		var paths, want []string
		n := 0
		for f := range rapid.IntRange(0, 3).Draw(rt, "files") {
			var text strings.Builder
			if rapid.Bool().Draw(rt, "header") {
				text.WriteString("s,n\n")
			} else {
				text.WriteString("n,s\n")
			}
			swapped := strings.HasPrefix(text.String(), "s")
			for range rapid.IntRange(0, 50).Draw(rt, "rows") {
				pad := strings.Repeat("x", 1+rapid.IntRange(0, 40).Draw(rt, "pad"))
				if swapped {
					fmt.Fprintf(&text, "%s,%d\n", pad, n)
				} else {
					fmt.Fprintf(&text, "%d,%s\n", n, pad)
				}
				want = append(want, fmt.Sprintf("[%d,%q]", n, pad))
				n++
			}
			path := filepath.Join(dir, fmt.Sprintf("%d.csv", f))
			if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
				rt.Fatal(err)
			}
			paths = append(paths, path)
		}
		d := &sink{schema: s}
		o := Options{BatchRows: rapid.IntRange(1, 20).Draw(rt, "batch"), MemoryBytes: int64(rapid.IntRange(1, 2000).Draw(rt, "memory"))}
		res, err := Import(t.Context(), d, paths, o)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, d.rows); diff != "" || res.Rows != int64(n) || res.Files != len(paths) {
			rt.Fatalf("%+v\n%s", res, diff)
		}
		for _, b := range d.batches {
			if b < 1 || b > o.BatchRows {
				rt.Fatalf("batch of %d rows, at most %d", b, o.BatchRows)
			}
		}
	})
}

func TestImportStops(t *testing.T) {
	s := schemaOf("a", kind(column.Int64))
	good := writeFile(t, "good.csv", "a\n"+strings.Repeat("1\n", 100))
	t.Run("when inserting fails", func(t *testing.T) {
		why := errors.New("full")
		d := &sink{schema: s, fail: why}
		res, err := Import(t.Context(), d, []string{good, good}, Options{BatchRows: 10})
		if !errors.Is(err, why) || !strings.Contains(err.Error(), good) || res.Rows != 10 {
			t.Errorf("%+v, %v", res, err)
		}
	})
	t.Run("when the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("killed")
		o := Options{BatchRows: 1, OnProgress: func(p Progress) {
			if p.Rows == 5 {
				cancel(why)
			}
		}}
		if _, err := Import(ctx, &sink{schema: s}, []string{good}, o); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("before the first row, when a later file has other columns", func(t *testing.T) {
		d := &sink{schema: s}
		other := writeFile(t, "other.csv", "a,b\n1,2\n")
		if _, err := Import(t.Context(), d, []string{good, other}, Options{Header: HeaderPresent}); !errors.Is(err, ErrColumns) || len(d.rows) != 0 {
			t.Errorf("%d rows, %v", len(d.rows), err)
		}
	})
	t.Run("for a file that is not there", func(t *testing.T) {
		if _, err := Import(t.Context(), &sink{schema: s}, []string{good + ".no"}, Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("for what is no Parquet file", func(t *testing.T) {
		bad := writeFile(t, "bad.parquet", "a\n1\n")
		if _, err := Import(t.Context(), &sink{schema: s}, []string{bad}, Options{}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("for options that make no sense", func(t *testing.T) {
		for _, o := range []Options{{BatchRows: -1}, {MemoryBytes: -1}, {Delimiter: '"'}, {Delimiter: '\n'}} {
			if _, err := Import(t.Context(), &sink{schema: s}, []string{good}, o); !errors.Is(err, ErrOption) {
				t.Errorf("%+v: %v", o, err)
			}
		}
		if _, err := ParseFormat("orc"); !errors.Is(err, ErrOption) {
			t.Errorf("got %v", err)
		}
	})
}
