package ingest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shoaldb/shoal/layout/column"
)

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
