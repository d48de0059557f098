package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
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

func TestCSVOfEveryType(t *testing.T) {
	s := schemaOf("b", kind(column.Bool), "i", kind(column.Int32), "l", kind(column.Int64), "f", kind(column.Float32),
		"d", kind(column.Float64), "m", decimal(9, 2), "w", decimal(38, 10), "s", kind(column.String), "x", kind(column.Binary),
		"day", kind(column.Date), "tm", kind(column.Time), "ts", kind(column.Timestamp), "ms", kind(column.TimestampMilli),
		"list", column.Type{Kind: column.List, Fields: []column.Field{{Name: "element", Type: kind(column.Int32), Nullable: true}}})
	path := writeFile(t, "f.csv", `b,i,l,f,d,m,w,s,x,day,tm,ts,ms,list
true,-2147483648, 9223372036854775807 ,1.5,-1e300,-1234567.89,1234567890123456789012345678.0123456789,"a ""b"",
c",xy,2026-01-31,23:59:59.000001,2026-01-31 12:00:00,1969-12-31T23:59:59.999Z,"[1,null]"
F,+7,0,0,0,7,1e3,,,,,,,
,,,,,,,,,,,,,
`)
	d := &sink{schema: s}
	res, err := Import(t.Context(), d, []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`[true,-2147483648,9223372036854775807,1.5,-1e+300,-1234567.89,1234567890123456789012345678.0123456789,"a \"b\",\nc","7879","2026-01-31","23:59:59.000001","2026-01-31 12:00:00.000000","1969-12-31 23:59:59.999000",[1,null]]`,
		`[false,7,0,0,0,7.00,1000.0000000000,null,null,null,null,null,null,null]`,
		`[null,null,null,null,null,null,null,null,null,null,null,null,null,null]`,
	}
	diff(t, "rows", d.rows, want)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "result", res, Result{Files: 1, Rows: 3, Bytes: info.Size()})
}

func TestCSVLayouts(t *testing.T) {
	ab := schemaOf("a", kind(column.Int64), "b", kind(column.String))
	required := schemaOf("a!", kind(column.Int64), "b!", kind(column.String))
	one := schemaOf("a", kind(column.Int64))
	for _, tc := range []struct {
		name, file, text string
		schema           *column.Schema
		o                Options
		want             []string
	}{
		{"header in another order and case", "f.csv", "B,A\nx,1\n", ab, Options{}, []string{`[1,"x"]`}},
		{"no header", "f.csv", "1,x\n2,y", ab, Options{}, []string{`[1,"x"]`, `[2,"y"]`}},
		{"no header, said", "f.csv", "1,a\n2,b\n", ab, Options{Header: HeaderAbsent}, []string{`[1,"a"]`, `[2,"b"]`}},
		{"byte order mark and CRLF", "f.csv", "\xef\xbb\xbfa,b\r\n1,x\r\n", ab, Options{}, []string{`[1,"x"]`}},
		{"a column is missing", "f.csv", "b\nx\n", ab, Options{Header: HeaderPresent}, []string{`[null,"x"]`}},
		{"extra passed over", "f.csv", "z,b,a\nq,x,1\n", ab, Options{IgnoreExtra: true}, []string{`[1,"x"]`}},
		{"meta columns passed over", "f.csv", "_hoodie_commit_time,a,b\n2026,1,x\n", ab, Options{}, []string{`[1,"x"]`}},
		{"only a header", "f.csv", "a,b\n", ab, Options{}, nil},
		{"nothing", "f.csv", "", ab, Options{}, nil},
		{"tabs by name", "f.tsv", "1\tx,y\n", ab, Options{}, []string{`[1,"x,y"]`}},
		{"bars at the ends, by name", "f.tbl", "1|x|\n2|y, z|\n", ab, Options{}, []string{`[1,"x"]`, `[2,"y, z"]`}},
		{"bars at the ends, with header", "f.tbl", "b|a|\nx|1|\n", ab, Options{}, []string{`[1,"x"]`}},
		{"semicolons found", "f.csv", "a;b\n1;x,y\n", ab, Options{}, []string{`[1,"x,y"]`}},
		{"delimiter given", "f.csv", "a:b\n1:x,;y\n", ab, Options{Delimiter: ':'}, []string{`[1,"x,;y"]`}},
		{"null text", "f.csv", "a,b\n\\N,\\N\n,\n", ab, Options{NullText: `\N`}, []string{`[null,null]`, `[null,""]`}},
		{"empty text that is not null", "f.csv", "a,b\n1,\n", required, Options{}, []string{`[1,""]`}},
		{"one column", "f.csv", "a\n1\n\"\"\n3\n\n\n", one, Options{}, []string{`[1]`, `[null]`, `[3]`}},
		{"empty lines between", "f.csv", "a,b\n\n1,x\n\n2,y\n", ab, Options{}, []string{`[1,"x"]`, `[2,"y"]`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &sink{schema: tc.schema}
			res, err := Import(t.Context(), d, []string{writeFile(t, tc.file, tc.text)}, tc.o)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "rows", d.rows, tc.want)
			diff(t, "result", res, Result{Files: 1, Rows: int64(len(tc.want)), Bytes: int64(len(tc.text))})
		})
	}
}

func TestCSVErrorsNameThePlace(t *testing.T) {
	s := schemaOf("a", kind(column.Int32), "b", decimal(5, 2), "c", kind(column.String), "d!", kind(column.Date))
	for _, tc := range []struct {
		name, text string
		o          Options
		want       []string // parts of the message
		is         error
	}{
		{"value", "a,b,c,d\n1,2,x,2026-01-01\n12x,2,x,2026-01-01\n", Options{}, []string{"line 3, field 1: column a (int32): it is not a whole number", `"12x"`}, ErrValue},
		{"value behind a field of two lines", "c,a,b,d\n\"x\ny\",99999999999,1,2026-01-01\n", Options{}, []string{"line 3, field 2: column a", "out of range"}, ErrValue},
		{"decimal", "1,1.005,x,2026-01-01\n", Options{}, []string{"line 1, field 2: column b (decimal(5,2))", `"1.005"`}, ErrValue},
		{"date", "1,1,x,2026-02-30\n", Options{}, []string{"line 1, field 4: column d (date)", `"2026-02-30"`}, ErrValue},
		{"null", "1,1,x,\n", Options{}, []string{"field 4: column d", "does not take nulls"}, ErrValue},
		{"not UTF-8", "1,1,\xff,2026-01-01\n", Options{}, []string{"field 3: column c", "not UTF-8"}, ErrValue},
		{"too few fields", "1,1,x,2026-01-01\n1,1,x\n", Options{}, []string{"line 2: 3 fields, the first record has 4"}, nil},
		{"too many fields", "1,1,x,2026-01-01\n1,1,x,2026-01-01,\n", Options{}, []string{"line 2: 5 fields, the first record has 4"}, nil},
		{"a field behind the end", "1,1,x,2026-01-01,\n1,1,x,2026-01-01,y\n", Options{}, []string{"line 2: field 5 belongs to no column"}, nil},
		{"not the table's columns", "1,1\n", Options{}, []string{"line 1: 2 fields, the table has 4 columns (a, b, c, d)"}, nil},
		{"header", "a,e,A,b,f\n", Options{Header: HeaderPresent}, []string{"it lacks d; the table has no e, f; it has more than one A"}, ErrColumns},
		{"a quote in a field", "1,1,x\"y,2026-01-01\n", Options{}, []string{"line 1:", `bare " in non-quoted`}, nil},
		{"a quote not closed", "a,b,c,d\n1,1,\"x,2026-01-01\n", Options{}, []string{"line", `"`}, nil},
		{"no header", "", Options{Header: HeaderPresent}, []string{"is empty"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := writeFile(t, "f.csv", tc.text)
			_, err := Import(t.Context(), &sink{schema: s}, []string{path}, tc.o)
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) {
				t.Fatalf("got %v, want %v", err, tc.is)
			}
			for _, part := range append(tc.want, path) {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: lacks %q", err, part)
				}
			}
		})
	}
	_, err := Import(t.Context(), &sink{schema: schemaOf("a", kind(column.Int64))}, []string{writeFile(t, "f.csv", "a\n1\n\n3\n")}, Options{})
	if err == nil || !strings.Contains(err.Error(), "line 3: an empty line") {
		t.Errorf("an empty line in a file of one column: %v", err)
	}
}

func TestCompressedCSV(t *testing.T) {
	const text = "a,b\n1,x\n2,y\n"
	var gz, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{g, z} {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := schemaOf("a", kind(column.Int64), "b", kind(column.String))
	for name, content := range map[string]string{"f.csv.gz": gz.String(), "f.csv.zst": zst.String()} {
		d := &sink{schema: s}
		res, err := Import(t.Context(), d, []string{writeFile(t, name, content)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		diff(t, name, d.rows, []string{`[1,"x"]`, `[2,"y"]`})
		diff(t, name, res, Result{Files: 1, Rows: 2, Bytes: int64(len(content))})
		if _, err := Import(t.Context(), &sink{schema: s}, []string{writeFile(t, name, content[:len(content)-6])}, Options{}); err == nil {
			t.Errorf("%s: a file cut short was taken", name)
		}
	}
}

type sales struct {
	ID      int64     `parquet:"ID"`
	Qty     int64     `parquet:"qty"`
	Price   int64     `parquet:"price,decimal(4:15)"`
	Name    *string   `parquet:"name,optional"`
	Day     string    `parquet:"day"`
	At      time.Time `parquet:"at,timestamp(microsecond)"`
	Ignored string    `parquet:"_hoodie_commit_time"`
}

func ptr[T any](v T) *T { return &v }

func TestParquetIsConvertedByName(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	path := writeParquet(t, []sales{
		{1, 10, 12500, ptr("ann"), "2026-01-31", at, "x"},
		{2, -1 << 31, 99, nil, "1969-12-31", at, "x"},
		{3, 0, 0, ptr(""), "2000-02-29", at, "x"},
	}, parquet.MaxRowsPerRowGroup(2))
	s := schemaOf("at", kind(column.TimestampMilli), "day!", kind(column.Date), "id!", kind(column.Int64), "name", kind(column.String),
		"none", kind(column.Float64), "Price", decimal(9, 4), "qty", kind(column.Int32))
	d := &sink{schema: s}
	var progress []Progress
	res, err := Import(t.Context(), d, []string{path, path}, Options{OnProgress: func(p Progress) { progress = append(progress, p) }})
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{
		`["2026-01-02 03:04:05.000000","2026-01-31",1,"ann",null,1.2500,10]`,
		`["2026-01-02 03:04:05.000000","1969-12-31",2,null,null,0.0099,-2147483648]`,
		`["2026-01-02 03:04:05.000000","2000-02-29",3,"",null,0.0000,0]`,
	}
	diff(t, "rows", d.rows, append(rows, rows...))
	diff(t, "batches", d.batches, []int{2, 1, 2, 1})
	last := progress[len(progress)-1]
	diff(t, "last progress", last, Progress{File: path, Files: 2, FilesTotal: 2, Rows: 6, Bytes: res.Bytes, Total: res.Bytes})
	for i := 1; i < len(progress); i++ {
		if progress[i].Bytes < progress[i-1].Bytes || progress[i].Rows < progress[i-1].Rows {
			t.Errorf("progress went back: %+v, then %+v", progress[i-1], progress[i])
		}
	}
}

func TestParquetThatDoesNotFit(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 1000, time.UTC)
	path := writeParquet(t, []sales{{1, 1, 1, ptr("1"), "2026-01-31", at, ""}, {2, 1 << 31, 1000000, nil, "January", at, ""}})
	all := []any{"id", kind(column.Int64), "price", decimal(15, 4), "name", kind(column.String), "day", kind(column.String),
		"at", kind(column.Timestamp), "qty", kind(column.Int64)}
	with := func(name string, typ column.Type) *column.Schema {
		pairs := append([]any{}, all...)
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == strings.TrimSuffix(name, "!") {
				pairs[i], pairs[i+1] = name, typ
			}
		}
		return schemaOf(pairs...)
	}
	for _, tc := range []struct {
		name   string
		schema *column.Schema
		o      Options
		want   []string
		is     error
	}{
		{"int out of range", with("qty", kind(column.Int32)), Options{}, []string{"row 1: column qty (int32): it is out of range", "2147483648"}, ErrValue},
		{"decimal digits", with("price", decimal(10, 3)), Options{}, []string{"row 0: column price", "0.0001"}, ErrValue},
		{"decimal range", with("price", decimal(5, 4)), Options{}, []string{"row 1: column price", "100.0000"}, ErrValue},
		{"microseconds", with("at", kind(column.TimestampMilli)), Options{}, []string{"row 0: column at", "would be lost"}, ErrValue},
		{"text", with("day", kind(column.Date)), Options{}, []string{"row 1: column day (date)", "January"}, ErrValue},
		{"null", with("name!", kind(column.String)), Options{}, []string{"row 1: column name", "does not take nulls"}, ErrValue},
		{"types", with("qty", kind(column.Date)), Options{}, []string{"column qty: int64 cannot be stored as date"}, ErrColumns},
		{"time as number", with("at", kind(column.Int64)), Options{}, []string{"column at: timestamp cannot be stored as int64"}, ErrColumns},
		{"extra", schemaOf(all[2:]...), Options{}, []string{"the table has no ID"}, ErrColumns},
		{"missing", schemaOf(append([]any{"more!", kind(column.Int64)}, all...)...), Options{}, []string{"it lacks more"}, ErrColumns},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &sink{schema: tc.schema}
			_, err := Import(t.Context(), d, []string{path}, tc.o)
			if !errors.Is(err, tc.is) {
				t.Fatalf("got %v, want %v", err, tc.is)
			}
			for _, part := range append(tc.want, path) {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: lacks %q", err, part)
				}
			}
			if len(d.rows) != 0 {
				t.Errorf("%d rows were inserted", len(d.rows))
			}
		})
	}
	d := &sink{schema: schemaOf("ID", kind(column.Int64))}
	if _, err := Import(t.Context(), d, []string{path}, Options{IgnoreExtra: true}); err != nil {
		t.Fatal(err)
	}
	diff(t, "extra passed over", d.rows, []string{"[1]", "[2]"})
}

func TestNumbersAreNotRounded(t *testing.T) {
	type row struct {
		N int64 `parquet:"n"`
	}
	for _, tc := range []struct {
		n    int64
		to   column.Kind
		want string // "" an error
	}{
		{1 << 53, column.Float64, "[9007199254740992]"},
		{1<<53 + 1, column.Float64, ""},
		{-1<<53 - 1, column.Float64, ""},
		{1 << 24, column.Float32, "[16777216]"},
		{1<<24 + 1, column.Float32, ""},
		{1 << 31, column.Int32, ""},
		{-5, column.String, `["-5"]`},
	} {
		d := &sink{schema: schemaOf("n", kind(tc.to))}
		_, err := Import(t.Context(), d, []string{writeParquet(t, []row{{tc.n}})}, Options{})
		if tc.want == "" && !errors.Is(err, ErrValue) || tc.want != "" && (err != nil || len(d.rows) != 1 || d.rows[0] != tc.want) {
			t.Errorf("%d as %s: %v, %v, want %q", tc.n, tc.to, d.rows, err, tc.want)
		}
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

func TestInferSchema(t *testing.T) {
	text := kind(column.String)
	for _, tc := range []struct {
		name, file, content string
		o                   Options
		want                *column.Schema
	}{
		{"types", "f.csv", "id,price,day,at,ok,zip,name,none,mixed\n1,1.5,2026-01-31,2026-01-31 00:00:00,true,01234,ann,,1\n,2,,,,,,,x\n", Options{},
			schemaOf("id", kind(column.Int64), "price", kind(column.Float64), "day", kind(column.Date), "at", kind(column.Timestamp),
				"ok", kind(column.Bool), "zip", text, "name", text, "none", text, "mixed", text)},
		{"no header", "f.csv", "1,ann\n2,bob\n", Options{}, schemaOf("column1", kind(column.Int64), "column2", text)},
		{"header said", "f.csv", "1,2\n1,2\n", Options{Header: HeaderPresent}, schemaOf("1", kind(column.Int64), "2", kind(column.Int64))},
		{"header denied", "f.csv", "a,b\nc,d\n", Options{Header: HeaderAbsent}, schemaOf("column1", text, "column2", text)},
		{"words that read as numbers", "f.csv", "x\nnan\ninf\n", Options{}, schemaOf("x", text)},
		{"null text", "f.csv", "x\n1\nNA\n", Options{NullText: "NA"}, schemaOf("x", kind(column.Int64))},
		{"bars at the ends", "f.tbl", "1|x|\n2|y|\n", Options{}, schemaOf("column1", kind(column.Int64), "column2", text)},
		{"dates and times are times", "f.csv", "x\n2026-01-31\n2026-01-31 10:00:00\n", Options{}, schemaOf("x", kind(column.Timestamp))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := InferSchema(t.Context(), writeFile(t, tc.file, tc.content), tc.o)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "schema", got, tc.want)
		})
	}
	got, err := InferSchema(t.Context(), writeParquet(t, []sales{{}}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "columns of a Parquet file", got.Names(), []string{"ID", "qty", "price", "name", "day", "at"})
	for name, content := range map[string]string{"empty": "", "ragged": "a,b\n1\n", "twice": "a,A\n1,2\n"} {
		if got, err := InferSchema(t.Context(), writeFile(t, "f.csv", content), Options{Header: HeaderPresent}); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What InferSchema says of a file, Import can read.
func TestAnInferredSchemaTakesItsFile(t *testing.T) {
	field := rapid.OneOf(rapid.SampledFrom([]string{"", "0", "-12", "007", "1.5", "1e9", "true", "no", "2026-01-31", "2026-01-31 10:00:00",
		"nan", "99999999999999999999", "a b", "é", " 5 ", "10:00:00"}), rapid.StringMatching(`[a-z0-9 .:-]{0,6}`))
	path := filepath.Join(t.TempDir(), "f.csv")
	rapid.Check(t, func(rt *rapid.T) {
		columns := rapid.IntRange(2, 4).Draw(rt, "columns")
		rows := rapid.IntRange(1, 8).Draw(rt, "rows")
		var text strings.Builder
		for range rows {
			var fields []string
			for range columns {
				fields = append(fields, field.Draw(rt, "field"))
			}
			text.WriteString(`"` + strings.Join(fields, `","`) + "\"\n")
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			rt.Fatal(err)
		}
		o := Options{Header: HeaderAbsent, Delimiter: ','}
		s, err := InferSchema(t.Context(), path, o)
		if err != nil {
			rt.Fatal(err)
		}
		d := &sink{schema: s}
		if _, err := Import(t.Context(), d, []string{path}, o); err != nil || len(d.rows) != rows {
			rt.Fatalf("%s\n%d rows of %v: %v", text.String(), len(d.rows), s, err)
		}
	})
}

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.csv", "a.csv", "c.parquet", "_SUCCESS", ".a.csv.crc", "x[1].csv", "sub/d.csv"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"a.csv":     {"a.csv"},
		"*.csv":     {"a.csv", "b.csv", "x[1].csv"},
		"?.*":       {"a.csv", "b.csv", "c.parquet"},
		"x[1].csv":  {"x[1].csv"},
		".":         {"a.csv", "b.csv", "c.parquet", "x[1].csv"},
		"s*/*":      {"sub/d.csv"},
		"[ab].csv":  {"a.csv", "b.csv"},
		"_SUCCESS":  {"_SUCCESS"},
		"*.parquet": {"c.parquet"},
	} {
		got, err := Expand(filepath.Join(dir, pattern))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], dir+"/")
		}
		diff(t, pattern, got, want)
	}
	for _, pattern := range []string{"none.csv", "*.orc", "s*", "sub/e*"} {
		if got, err := Expand(filepath.Join(dir, pattern)); !errors.Is(err, ErrNoFiles) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", pattern, got, err)
		}
	}
	if _, err := Expand(filepath.Join(dir, "[")); !errors.Is(err, ErrOption) {
		t.Errorf("a bad pattern: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,x\n", true)
	f.Add("1|x|\n\"2\"|\"y\ny\"|\n", false)
	f.Add("a\n\n\"\"\n", true)
	s := schemaOf("a", kind(column.Int64), "b", kind(column.String))
	f.Fuzz(func(t *testing.T, text string, tbl bool) {
		name := "f.csv"
		if tbl {
			name = "f.tbl"
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// Neither panics, and what is inserted is of the schema (sink checks it).
		_, err := Import(t.Context(), &sink{schema: s}, []string{path}, Options{Format: CSV, BatchRows: 2})
		if err != nil && strings.Contains(err.Error(), "batch of") {
			t.Fatal(err)
		}
		_, _ = InferSchema(t.Context(), path, Options{Format: CSV})
	})
}
