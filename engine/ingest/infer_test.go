package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
)

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
