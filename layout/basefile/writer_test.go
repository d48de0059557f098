package basefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

func int64s(v ...int64) *column.Vector {
	return &column.Vector{Type: typ(column.Int64), Len: len(v), I64: v}
}

func float64s(v ...float64) *column.Vector {
	return &column.Vector{Type: typ(column.Float64), Len: len(v), F64: v}
}

func strs(v ...string) *column.Vector {
	out := &column.Vector{Type: typ(column.String), Len: len(v)}
	out.Str.Offsets = []uint32{0}
	for _, s := range v {
		out.Str.Append([]byte(s))
	}
	return out
}

// withNulls marks rows as null.
func withNulls(v *column.Vector, rows ...int) *column.Vector {
	v.Valid = column.NewBitmap(v.Len)
	setBits(v.Valid, 0, v.Len)
	for _, i := range rows {
		v.Valid.Clear(i)
	}
	return v
}

// batchOf names columns a, b, c and so on, all nullable.
func batchOf(cols ...*column.Vector) *column.Batch {
	s := &column.Schema{}
	for i, v := range cols {
		s.Fields = append(s.Fields, column.Field{Name: string(rune('a' + i)), Type: v.Type, Nullable: true})
	}
	return &column.Batch{Schema: s, Cols: cols, Len: cols[0].Len}
}

func mustOpen(t testing.TB, b []byte) *File {
	t.Helper()
	x, err := openBytes(b, "test.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func openParquetGo(t *testing.T, b []byte) *parquet.File {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAnotherReader reads files with parquet-go's own reader.
func TestAnotherReader(t *testing.T) {
	const n = 1000
	id, name, day := make([]int64, n), make([]string, n), make([]float64, n)
	for i := range n {
		id[i], name[i], day[i] = int64(i)*7, fmt.Sprintf("name %d", i%13), float64(i%5)/2
	}
	list := &column.Vector{Type: listOf(typ(column.Int64), true), Len: n, Offsets: []int32{0}}
	var entries []int64
	for i := range n {
		for k := range i % 3 {
			entries = append(entries, int64(i+k))
		}
		list.Offsets = append(list.Offsets, int32(len(entries)))
	}
	list.Children = []*column.Vector{int64s(entries...)}
	b := batchOf(int64s(id...), withNulls(strs(name...), 0, 500, 999), float64s(day...), list)
	type row struct {
		A *int64   `parquet:"a,optional"`
		B *string  `parquet:"b,optional"`
		C *float64 `parquet:"c,optional"`
		D []int64  `parquet:"d,list"`
	}
	for _, codec := range []Codec{Snappy, None, Gzip, Zstd} {
		data := writeBytes(t, WriterOptions{Schema: b.Schema, Codec: codec, RowGroupRows: 300, PageRows: 70}, b)
		f := openParquetGo(t, data)
		if f.NumRows() != n || len(f.RowGroups()) != 4 {
			t.Fatalf("%s: %d rows in %d row groups", codec, f.NumRows(), len(f.RowGroups()))
		}
		r := parquet.NewGenericReader[row](bytes.NewReader(data))
		rows := make([]row, n+1)
		k := 0
		for k < n {
			m, err := r.Read(rows[k:])
			k += m
			if err != nil && err != io.EOF || m == 0 {
				break
			}
		}
		if k != n {
			t.Fatalf("%s: read %d rows", codec, k)
		}
		for i, got := range rows[:n] {
			if *got.A != id[i] || (got.B == nil) != (i == 0 || i == 500 || i == 999) || got.B != nil && *got.B != name[i] || *got.C != day[i] {
				t.Fatalf("%s, row %d: %+v", codec, i, got)
			}
			if want := entries[list.Offsets[i]:list.Offsets[i+1]]; !cmp.Equal(append([]int64{}, want...), append([]int64{}, got.D...)) {
				t.Fatalf("%s, row %d: %v, want %v", codec, i, got.D, want)
			}
		}
	}
}

// TestPageIndex checks that pages begin at the same rows in all columns, and their bounds and null counts.
func TestPageIndex(t *testing.T) {
	b := batchOf(int64s(1, 2, 3, 10, 20, 30, 5), withNulls(strs("x", "y", "", "", "a", "b", "c"), 2, 3), withNulls(float64s(0, 0, 0, 0, 2, math.NaN(), 1), 0, 1, 2))
	f := openParquetGo(t, writeBytes(t, WriterOptions{Schema: b.Schema, PageRows: 3}, b))
	for c, chunk := range f.RowGroups()[0].ColumnChunks() {
		oi, err := chunk.OffsetIndex()
		if err != nil {
			t.Fatal(err)
		}
		var first []int64
		for i := range oi.NumPages() {
			first = append(first, oi.FirstRowIndex(i))
		}
		if d := cmp.Diff([]int64{0, 3, 6}, first); d != "" {
			t.Errorf("column %d: %s", c, d)
		}
	}
	text := func(c int) (out []string) {
		ix, err := f.RowGroups()[0].ColumnChunks()[c].ColumnIndex()
		if err != nil {
			return nil
		}
		for i := range ix.NumPages() {
			out = append(out, fmt.Sprintf("%v %d %v %v", ix.NullPage(i), ix.NullCount(i), ix.MinValue(i), ix.MaxValue(i)))
		}
		return append(out, fmt.Sprint(ix.IsAscending(), ix.IsDescending()))
	}
	if d := cmp.Diff([]string{"false 0 1 3", "false 0 10 30", "false 0 5 5", "false false"}, text(0)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"false 1 x y", "false 1 a b", "false 0 c c", "false false"}, text(1)); d != "" {
		t.Error(d)
	}
	if ix, err := f.RowGroups()[0].ColumnChunks()[2].ColumnIndex(); err == nil && ix.NumPages() != 0 {
		t.Errorf("a column with NaN has a column index of %d pages", ix.NumPages())
	}
}

func TestSummaryAndStats(t *testing.T) {
	long := strings.Repeat("m", 40)
	longer := strings.Repeat("é", 300)
	dec := &column.Vector{Type: column.Type{Kind: column.Decimal, Precision: 20, Scale: 2}, Len: 4,
		Dec: []column.Int128{column.Int128From(-150), column.Int128From(7), {}, column.Int128From(99)}}
	ms := &column.Vector{Type: typ(column.TimestampMilli), Len: 4, I64: []int64{5, -3, 2, 1}}
	b := batchOf(withNulls(int64s(4, -2, 9, 0), 3), strs("b", long, "a", "zz"), float64s(1, math.NaN(), -1, 0), dec, ms,
		withNulls(int64s(0, 0, 0, 0), 0, 1, 2, 3), strs(longer, longer, longer, longer))
	data, sum := writeFile(t, WriterOptions{Schema: b.Schema, RowGroupRows: 3}, b)
	x := mustOpen(t, data)
	file := x.Stats()
	i64 := func(k column.Kind, v int64) predicate.Value { return predicate.Value{Kind: k, I: v} }
	str := func(s string) predicate.Value { return predicate.Value{Kind: column.String, B: []byte(s)} }
	d := func(v int64) predicate.Value {
		return predicate.Value{Kind: column.Decimal, D: column.Int128From(v), Scale: 2}
	}
	for name, want := range map[string]struct {
		nulls         int64
		written, read [2]predicate.Value // zero: no range
		nan           bool
	}{
		"a": {nulls: 1, written: [2]predicate.Value{i64(column.Int64, -2), i64(column.Int64, 9)}},
		"b": {written: [2]predicate.Value{str("a"), str("zz")}},
		"c": {written: [2]predicate.Value{{Kind: column.Float64, F: -1}, {Kind: column.Float64, F: 1}}, nan: true},
		"d": {written: [2]predicate.Value{d(-150), d(99)}},
		"e": {written: [2]predicate.Value{i64(column.TimestampMilli, -3000), i64(column.TimestampMilli, 5000)}},
		"f": {nulls: 4},
		"g": {written: [2]predicate.Value{str(strings.Repeat("é", 128)), str(strings.Repeat("é", 127) + "ê")},
			read: [2]predicate.Value{str(strings.Repeat("é", 16)), str(strings.Repeat("é", 15) + "ê")}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "g" && name != "c" {
				want.read = want.written
			}
			check := func(st predicate.ColumnStats, bounds [2]predicate.Value, nan bool) {
				t.Helper()
				if st.Rows != 4 || st.Nulls != want.nulls || st.MayNaN != nan || st.HasRange != (bounds[0].Kind != 0) || st.Bytes <= 0 {
					t.Errorf("%+v", st)
				}
				if d := cmp.Diff(bounds[:], []predicate.Value{st.Min, st.Max}); d != "" {
					t.Error(d)
				}
			}
			check(sum.Stats[name], want.written, want.nan)
			check(file[name], want.read, name == "c") // a file never says that there is no NaN
		})
	}
	if st, ok := x.RowGroupStats(1).Column("b"); !ok || st.Rows != 1 || string(st.Min.B) != "zz" || string(st.Max.B) != "zz" {
		t.Errorf("row group 1: %+v", st)
	}
	if _, ok := x.RowGroupStats(0).Column("nope"); ok {
		t.Error("statistics of a column that is not there")
	}
}

func TestCutBounds(t *testing.T) {
	x32 := strings.Repeat("x", 32)
	for _, c := range []struct {
		in       string
		text     bool
		down, up string
		ok       bool
	}{
		{"short", true, "short", "short", true},
		{x32, true, x32, x32, true},
		{x32 + "y", true, x32, x32[:31] + "y", true},
		{x32[:31] + "é", true, x32[:31], x32[:30] + "y", true},                          // the cut is at a character
		{x32[:29] + "\U0010FFFFa", true, x32[:29], x32[:28] + "y", true},                // no room for the last one
		{x32[:28] + "\U0010FFFFa", true, x32[:28] + "\U0010FFFF", x32[:27] + "y", true}, // none is greater
		{x32[:29] + "\uD7FFa", true, x32[:29] + "\uD7FF", x32[:29] + "\uE000", true},
		{strings.Repeat("\xff", 40), false, strings.Repeat("\xff", 32), "", false},
		{x32[:31] + "\xff\xff", false, x32[:31] + "\xff", x32[:30] + "y", true},
	} {
		down, _ := cutDown([]byte(c.in), 32, c.text)
		up, _, ok := cutUp([]byte(c.in), 32, c.text)
		if string(down) != c.down || ok != c.ok || string(up) != c.up {
			t.Errorf("%q: %q, %q, %v", c.in, down, up, ok)
		}
		if string(down) > c.in || ok && string(up) < c.in {
			t.Errorf("%q is outside %q to %q", c.in, down, up)
		}
	}
}

func TestKeysInFooter(t *testing.T) {
	keys := make([]string, 2000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%04d", (i*7)%2000)
	}
	b := batchOf(strs(keys...), int64s(make([]int64, 2000)...))
	data, sum := writeFile(t, WriterOptions{Schema: b.Schema, KeyColumn: "a", RowGroupRows: 900, KeyValue: map[string]string{"x": "y"}}, b)
	x := mustOpen(t, data)
	lo, hi, ok := x.KeyRange()
	if !ok || lo != "key-0000" || hi != "key-1999" || sum.MinKey != lo || sum.MaxKey != hi {
		t.Errorf("range %q to %q, summary %q to %q", lo, hi, sum.MinKey, sum.MaxKey)
	}
	bloom, ok, err := x.Bloom()
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, k := range keys {
		if !bloom.Contains([]byte(k)) {
			t.Fatalf("%s is missing", k)
		}
	}
	for i := range 2000 {
		if k := fmt.Sprintf("other-%d", i); bloom.Contains([]byte(k)) {
			t.Errorf("false positive %s at 1e-9", k)
		}
	}
	if len(data) > 40_000 {
		t.Errorf("%d bytes: the filter is sized for more than 2000 keys", len(data))
	}
	if v, _ := x.KeyValue("x"); v != "y" {
		t.Errorf("x = %q", v)
	}
	data = writeBytes(t, WriterOptions{Schema: b.Schema, KeyColumn: "a", BloomEntries: -1}, b)
	if _, ok, err := mustOpen(t, data).Bloom(); ok || err != nil {
		t.Errorf("a filter though none was wanted: %v, %v", ok, err)
	}
	w, err := NewWriter(io.Discard, WriterOptions{Schema: b.Schema, KeyColumn: "a"})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(&column.Batch{Schema: b.Schema, Len: 2, Cols: []*column.Vector{withNulls(strs("k", ""), 1), int64s(1, 2)}})
	if err == nil || !strings.Contains(err.Error(), `column "a"`) || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("null key: %v", err)
	}
}

func TestEmptyFile(t *testing.T) {
	b := batchOf(int64s(1))
	data, sum := writeFile(t, WriterOptions{Schema: b.Schema, KeyColumn: ""})
	x := mustOpen(t, data)
	if sum.Rows != 0 || x.Rows() != 0 || x.NumRowGroups() != 0 || x.Schema().Index("a") != 0 {
		t.Errorf("%+v, %d rows", sum, x.Rows())
	}
	if st := x.Stats()["a"]; st.HasRange || st.Rows != 0 || st.Nulls != 0 {
		t.Errorf("%+v", st)
	}
	if n := openParquetGo(t, data).NumRows(); n != 0 {
		t.Errorf("%d rows to another reader", n)
	}
}

func TestRowGroupsByBytes(t *testing.T) {
	n := 100_000
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i) * 1_000_003
	}
	b := batchOf(int64s(v...))
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{Schema: b.Schema, RowGroupBytes: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	estimate := w.BytesWritten()
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	x := mustOpen(t, out.Bytes())
	// 8 bytes a row, looked at every 8192 rows: 32768 rows a row group.
	if x.NumRowGroups() != 4 || x.RowGroupRows(0) != 32768 {
		t.Errorf("%d row groups, the first of %d rows", x.NumRowGroups(), x.RowGroupRows(0))
	}
	if d := float64(estimate) / float64(out.Len()); d < 0.9 || d > 1.1 {
		t.Errorf("estimated %d bytes, got %d", estimate, out.Len())
	}
}

func TestWriterErrors(t *testing.T) {
	s := batchOf(int64s(1), strs("x")).Schema
	required := &column.Schema{Fields: []column.Field{{Name: "a", Type: typ(column.Int64)}}}
	for name, o := range map[string]WriterOptions{
		"no columns":    {},
		"key column":    {Schema: s, KeyColumn: "a"},
		"no key column": {Schema: s, KeyColumn: "z"},
		"codec":         {Schema: s, Codec: 99},
		"type":          {Schema: &column.Schema{Fields: []column.Field{{Name: "a"}}}},
	} {
		if _, err := NewWriter(io.Discard, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, c := range map[string]struct {
		schema *column.Schema
		batch  *column.Batch
	}{
		"columns": {s, batchOf(int64s(1))},
		"type":    {s, batchOf(strs("x"), strs("y"))},
		"length":  {s, &column.Batch{Schema: s, Len: 2, Cols: []*column.Vector{int64s(1, 2), strs("x")}}},
		"null":    {required, batchOf(withNulls(int64s(1, 2), 0))},
		"fixed":   {&column.Schema{Fields: []column.Field{{Name: "a", Type: column.Type{Kind: column.Binary, FixedSize: 2}}}}, fixedBatch("abc")},
	} {
		w, err := NewWriter(io.Discard, WriterOptions{Schema: c.schema})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(c.batch)
		if err == nil {
			_, err = w.Close()
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	w, err := NewWriter(failingWriter{}, WriterOptions{Schema: s, RowGroupRows: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(batchOf(int64s(1), strs("x"))); !errors.Is(err, errDisk) {
		t.Errorf("write: %v", err)
	}
	if _, err := w.Close(); !errors.Is(err, errDisk) {
		t.Errorf("close: %v", err)
	}
	if err := w.Write(batchOf(int64s(1), strs("x"))); err == nil {
		t.Error("a closed writer wrote")
	}
}

func fixedBatch(s string) *column.Batch {
	v := strs(s)
	v.Type = column.Type{Kind: column.Binary, FixedSize: 2}
	return batchOf(v)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDisk }

func TestParseCodec(t *testing.T) {
	for s, want := range map[string]Codec{"": Snappy, "SNAPPY": Snappy, "gzip": Gzip, "Zstd": Zstd, "uncompressed": None} {
		if c, err := ParseCodec(s); err != nil || c != want {
			t.Errorf("%q: %s, %v", s, c, err)
		}
	}
	for _, s := range []string{"lz4", "lzo", "brotli", "x"} {
		if _, err := ParseCodec(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}
