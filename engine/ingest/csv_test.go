package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/shoaldb/shoal/layout/column"
)

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
