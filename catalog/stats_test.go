package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
	"github.com/shoaldb/shoal/layout/predicate"
)

func intStats(n int64) predicate.ColumnStats {
	return predicate.ColumnStats{Rows: n, Nulls: -1, HasRange: true, Bytes: 3 * n,
		Min: predicate.Value{Kind: column.Int64, I: -n}, Max: predicate.Value{Kind: column.Int64, I: n}}
}

func textStats(lo, hi string) predicate.ColumnStats {
	return predicate.ColumnStats{Rows: 9, Nulls: 1, HasRange: true,
		Min: predicate.Value{Kind: column.String, B: []byte(lo)}, Max: predicate.Value{Kind: column.String, B: []byte(hi)}}
}

// every entry that a row can hold, one of each shape.
var entries = map[string]predicate.ColumnStats{
	"nothing":    {},
	"unknown":    {Rows: 5, Nulls: -1},
	"nan":        {Rows: 5, MayNaN: true, Bytes: 1 << 50},
	"bool":       rangeOf(predicate.Value{Kind: column.Bool}, predicate.Value{Kind: column.Bool, I: 1}),
	"int32":      rangeOf(predicate.Value{Kind: column.Int32, I: math.MinInt32}, predicate.Value{Kind: column.Int32, I: math.MaxInt32}),
	"int64":      rangeOf(predicate.Value{Kind: column.Int64, I: math.MinInt64}, predicate.Value{Kind: column.Int64, I: math.MaxInt64}),
	"float32":    rangeOf(predicate.Value{Kind: column.Float32, F: -0.5}, predicate.Value{Kind: column.Float32, F: math.MaxFloat32}),
	"float64":    rangeOf(predicate.Value{Kind: column.Float64, F: math.Inf(-1)}, predicate.Value{Kind: column.Float64, F: math.SmallestNonzeroFloat64}),
	"decimal":    rangeOf(predicate.Value{Kind: column.Decimal, D: column.Int128From(-1), Scale: 2}, predicate.Value{Kind: column.Decimal, D: column.Int128{Hi: 1 << 60, Lo: math.MaxUint64}, Scale: 38}),
	"string":     rangeOf(predicate.Value{Kind: column.String, B: []byte{}}, predicate.Value{Kind: column.String, B: []byte("ü\x00z")}),
	"binary":     rangeOf(predicate.Value{Kind: column.Binary, B: []byte{0}}, predicate.Value{Kind: column.Binary, B: bytes.Repeat([]byte{0xff}, 300)}),
	"date":       rangeOf(predicate.Value{Kind: column.Date, I: -719162}, predicate.Value{Kind: column.Date, I: 2932896}),
	"time":       rangeOf(predicate.Value{Kind: column.Time, I: 0}, predicate.Value{Kind: column.Time, I: 86399999999}),
	"timestamp":  rangeOf(predicate.Value{Kind: column.Timestamp, I: -1}, predicate.Value{Kind: column.Timestamp, I: 1767225600000000}),
	"timestampm": rangeOf(predicate.Value{Kind: column.TimestampMilli, I: -1}, predicate.Value{Kind: column.TimestampMilli, I: 1767225600000000}),
}

func rangeOf(lo, hi predicate.Value) predicate.ColumnStats {
	return predicate.ColumnStats{Rows: 100, Nulls: 7, Bytes: 4096, HasRange: true, Min: lo, Max: hi}
}

func TestRowRoundTrip(t *testing.T) {
	got := map[string]predicate.ColumnStats{}
	check(t, eachColumn(encodeRow(entries), func(name, entry []byte) error {
		s, err := decodeEntry(entry)
		got[string(name)] = s
		return err
	}))
	diff(t, "columns", got, entries)
}

// TestEntryBytes pins the encoding: files written today are read for ever.
func TestEntryBytes(t *testing.T) {
	for _, tc := range []struct {
		stats predicate.ColumnStats
		want  []byte
	}{
		{predicate.ColumnStats{}, []byte{0, 0, 0, 0}},
		{predicate.ColumnStats{Rows: 1, Nulls: -1, Bytes: 64, MayNaN: true}, []byte{2, 2, 1, 0x80, 1}},
		{intStats(1), []byte{1, 2, 1, 6, 3, 1, 3, 2}},
		{predicate.ColumnStats{HasRange: true,
			Min: predicate.Value{Kind: column.Decimal, D: column.Int128From(-2), Scale: 3},
			Max: predicate.Value{Kind: column.String, B: []byte("ab")}},
			[]byte{1, 0, 0, 0, 6, 3, 1, 3, 7, 2, 'a', 'b'}},
		{predicate.ColumnStats{HasRange: true,
			Min: predicate.Value{Kind: column.Float64, F: 1},
			Max: predicate.Value{Kind: column.Date, I: 2}},
			[]byte{1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 9, 4}},
	} {
		if got := appendEntry(nil, tc.stats); !bytes.Equal(got, tc.want) {
			t.Errorf("%+v: got % x, want % x", tc.stats, got, tc.want)
		}
	}
	row := encodeRow(map[string]predicate.ColumnStats{"b": {}, "a": {Rows: 1}})
	if want := []byte{1, 2, 1, 'a', 4, 0, 2, 0, 0, 1, 'b', 4, 0, 0, 0, 0}; !bytes.Equal(row, want) {
		t.Errorf("row % x, want % x", row, want)
	}
	if got, want := encodeList([]string{"x", "", "yz"}), []byte{1, 3, 1, 'x', 0, 2, 'y', 'z'}; !bytes.Equal(got, want) {
		t.Errorf("list % x, want % x", got, want)
	}
}

func TestRangesThatSayNothingAreLeftOut(t *testing.T) {
	one := predicate.Value{Kind: column.Int64, I: 1}
	for name, s := range map[string]predicate.ColumnStats{
		"null end":  {Rows: 4, HasRange: true, Min: predicate.Value{Kind: column.Int64, Null: true}, Max: one},
		"nested":    {Rows: 4, HasRange: true, Min: one, Max: predicate.Value{Kind: column.List}},
		"zero":      {Rows: 4, HasRange: true},
		"not there": {Rows: 4, Min: one, Max: one},
	} {
		got, err := decodeEntry(appendEntry(nil, s))
		check(t, err)
		diff(t, name, got, predicate.ColumnStats{Rows: 4})
	}
}

func TestMalformedBlobsAreErrors(t *testing.T) {
	row := encodeRow(entries)
	for i := range row {
		if err := eachColumn(row[:i], func(_, entry []byte) error { _, err := decodeEntry(entry); return err }); !errors.Is(err, ErrCorrupt) {
			t.Errorf("row cut at %d: %v", i, err)
		}
	}
	list := encodeList([]string{"one", "", "two"})
	for i := range list {
		if _, err := decodeList(list[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("list cut at %d: %v", i, err)
		}
	}
	for name, blob := range map[string][]byte{
		"version": {2, 0}, "count": {1, 0xff, 0xff, 0xff, 0xff, 0x7f}, "left over": {1, 0, 0},
		"long varint": {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "string": {1, 1, 9, 'x'},
	} {
		if _, err := decodeList(blob); !errors.Is(err, ErrCorrupt) {
			t.Errorf("list with bad %s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"flags": {4, 0, 0, 0}, "kind": {1, 0, 0, 0, 99, 0, 1, 0}, "scale": {1, 0, 0, 0, 6, 39, 0, 0, 1, 0}, "left over": {0, 0, 0, 0, 0},
		"float": {1, 0, 0, 0, 5, 1, 2, 3},
	} {
		if _, err := decodeEntry(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("entry with bad %s: %v", name, err)
		}
	}
}

func FuzzDecodeRow(f *testing.F) {
	f.Add(encodeRow(entries))
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, blob []byte) {
		columns := map[string]predicate.ColumnStats{}
		n := 0
		err := eachColumn(blob, func(name, entry []byte) error {
			s, err := decodeEntry(entry)
			columns[string(name)] = s
			n++
			return err
		})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again := map[string]predicate.ColumnStats{}
		if err := eachColumn(encodeRow(columns), func(name, entry []byte) error {
			s, err := decodeEntry(entry)
			again[string(name)] = s
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(columns, again, cmpopts.EquateNaNs()); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzDecodeList(f *testing.F) {
	f.Add(encodeList([]string{"one", "", "two"}))
	f.Fuzz(func(t *testing.T, blob []byte) {
		items, err := decodeList(blob)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := decodeList(encodeList(items))
		if err != nil || !slices.EqualFunc(items, again, bytes.Equal) {
			t.Fatalf("%q became %q, %v", items, again, err)
		}
	})
}

func TestStatsOfAPartition(t *testing.T) {
	c, ctx := openTest(t), t.Context()
	id := putTable(t, c, "t")
	check(t, c.PutStats(ctx, id, "p", []FileStats{
		{"f1", map[string]predicate.ColumnStats{"a": intStats(1), "b": textStats("x", "y")}},
		{"f2", map[string]predicate.ColumnStats{"a": intStats(2)}},
		{"f2", map[string]predicate.ColumnStats{"a": intStats(22)}},
		{"f3", nil},
	}))
	check(t, c.PutStats(ctx, id, "q", []FileStats{{"f1", map[string]predicate.ColumnStats{"a": intStats(3)}}}))
	check(t, c.PutStats(ctx, id, "p", nil))

	type known = map[string]predicate.ColumnStats
	for _, tc := range []struct {
		name    string
		columns []string
		want    map[string]known
	}{
		{"all columns", nil, map[string]known{"f1": {"a": intStats(1), "b": textStats("x", "y")}, "f2": {"a": intStats(22)}, "f3": {}}},
		{"one column", []string{"b"}, map[string]known{"f1": {"b": textStats("x", "y")}, "f2": {}, "f3": {}}},
		{"unknown column", []string{"z"}, map[string]known{"f1": {}, "f2": {}, "f3": {}}},
		{"no column", []string{}, map[string]known{"f1": {}, "f2": {}, "f3": {}}},
	} {
		got, err := c.LoadStats(ctx, id, "p", tc.columns)
		check(t, err)
		diff(t, tc.name, got, tc.want)
	}
	got, err := c.LoadStats(ctx, id, "nowhere", nil)
	check(t, err)
	diff(t, "no such partition", got, map[string]known{})

	check(t, c.DropStats(ctx, id, "p", []string{"f1", "f9"}))
	got, err = c.LoadStats(ctx, id, "p", []string{"a"})
	check(t, err)
	diff(t, "after a drop", got, map[string]known{"f2": {"a": intStats(22)}, "f3": {}})

	if err := c.PutStats(ctx, id+1, "p", []FileStats{{FileName: "f"}}); !errors.Is(err, ErrNoTable) {
		t.Errorf("no such table: %v", err)
	}
}

// segmentSizes lists the files of the partition's segments and the number of recent rows.
func segmentSizes(t *testing.T, c *Catalog, table int64) (segments []int, recent int) {
	t.Helper()
	check(t, c.view(t.Context(), "look", func(tx *tx) error {
		p := statsPartition{tx, table, "p"}
		list, err := p.segments()
		for _, s := range list {
			segments = append(segments, s.count)
		}
		if err != nil {
			return err
		}
		rows, err := p.recent()
		recent = len(rows)
		return err
	}))
	return segments, recent
}

func numbered(from, to int) []FileStats {
	var files []FileStats
	for i := from; i < to; i++ {
		f := FileStats{fmt.Sprintf("f%05d", i), map[string]predicate.ColumnStats{"a": intStats(int64(i))}}
		if i%2 == 0 {
			f.Columns["even"] = textStats(fmt.Sprint(i), "z")
		}
		files = append(files, f)
	}
	return files
}

func checkNumbered(t *testing.T, c *Catalog, table int64, want []FileStats) {
	t.Helper()
	got, err := c.LoadStats(t.Context(), table, "p", nil)
	check(t, err)
	wanted := map[string]map[string]predicate.ColumnStats{}
	for _, f := range want {
		wanted[f.FileName] = f.Columns
	}
	diff(t, "statistics", got, wanted)
}

// TestTiers follows one partition through the tiers: sums of files by hand from the limits 256 and 4096.
func TestTiers(t *testing.T) {
	c, ctx := openTest(t), t.Context()
	id := putTable(t, c, "t")
	put := func(from, to int) { t.Helper(); check(t, c.PutStats(ctx, id, "p", numbered(from, to))) }
	expect := func(what string, segments []int, recent int) {
		t.Helper()
		gotSegments, gotRecent := segmentSizes(t, c, id)
		diff(t, what+": segments", gotSegments, segments)
		diff(t, what+": recent", gotRecent, recent)
	}

	put(0, 255)
	expect("before the first fold", nil, 255)
	put(255, 258)
	expect("after it", []int{258}, 0)
	checkNumbered(t, c, id, numbered(0, 258))

	put(258, 258+14*256) // at once: one segment, smaller than a full one
	put(3842, 3843)
	expect("bulk", []int{258, 3584}, 1)
	for i := 3843; i < 3843+13*255; i += 255 { // each but the first call folds nothing, then 256 are reached
		put(i, i+255)
	}
	// 13*255 files came to the 1 recent row: folds happen whenever 256 or more have gathered:
	// 1+255, then 255+255 six times over.
	expect("small segments", []int{258, 3584, 256, 510, 510, 510, 510, 510, 510}, 0)
	checkNumbered(t, c, id, numbered(0, 7158))

	put(7158, 7158+2*4096) // two full segments
	expect("full segments", []int{258, 3584, 256, 510, 510, 510, 510, 510, 510, 4096, 4096}, 0)
	next := 7158 + 2*4096
	for range 6 {
		put(next, next+256)
		next += 256
	}
	// 15 small segments; one more makes 16, and the smallest (256 eight times, 258, 510 four
	// times: 4346 files) are joined: 4096 and 250.
	put(next, next+256)
	next += 256
	expect("joined", []int{3584, 510, 510, 4096, 4096, 4096, 250}, 0)
	checkNumbered(t, c, id, numbered(0, next))
}

func TestDropsShrinkSegments(t *testing.T) {
	c, ctx := openTest(t), t.Context()
	id := putTable(t, c, "t")
	check(t, c.PutStats(ctx, id, "p", numbered(0, 400)))
	drop := func(from, to int) {
		t.Helper()
		var names []string
		for _, f := range numbered(from, to) {
			names = append(names, f.FileName)
		}
		check(t, c.DropStats(ctx, id, "p", names))
	}
	for _, tc := range []struct {
		from, to int
		segments []int
	}{
		{0, 200, []int{400}},   // half is left: only marked
		{150, 201, []int{199}}, // 199 of 400: rewritten
		{201, 399, []int{1}},
		{399, 400, nil},
	} {
		drop(tc.from, tc.to)
		segments, recent := segmentSizes(t, c, id)
		diff(t, fmt.Sprintf("dropped to %d", tc.to), segments, tc.segments)
		diff(t, "recent", recent, 0)
		checkNumbered(t, c, id, numbered(max(tc.to, 200), 400))
	}
	for _, table := range []string{"stats_columns", "stats_gone"} {
		var n int
		check(t, c.read.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

// TestStatsAgainstAModel plays random puts and drops against a map.
func TestStatsAgainstAModel(t *testing.T) {
	c := openTest(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		id := putTable(t, c, fmt.Sprintf("t%d", run))
		ctx := t.Context()
		model := map[string]map[string]predicate.ColumnStats{}
		for step := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			from := rapid.IntRange(0, 900).Draw(rt, "from")
			n := rapid.SampledFrom([]int{1, 3, 100, 200, 256, 600}).Draw(rt, "n")
			if rapid.IntRange(0, 2).Draw(rt, "what") == 0 {
				var names []string
				for i := from; i < from+n; i++ {
					names = append(names, fmt.Sprint(i))
					delete(model, fmt.Sprint(i))
				}
				if err := c.DropStats(ctx, id, "p", names); err != nil {
					rt.Fatal(err)
				}
				continue
			}
			var files []FileStats
			for i := from; i < from+n; i++ {
				columns := map[string]predicate.ColumnStats{fmt.Sprintf("c%d", step%3): intStats(int64(step)), "all": textStats(fmt.Sprint(step), "~")}
				files = append(files, FileStats{fmt.Sprint(i), columns})
				model[fmt.Sprint(i)] = columns
			}
			if err := c.PutStats(ctx, id, "p", files); err != nil {
				rt.Fatal(err)
			}
		}
		got, err := c.LoadStats(ctx, id, "p", nil)
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(model, got); d != "" {
			rt.Fatal(d)
		}
		got, err = c.LoadStats(ctx, id, "p", []string{"c1"})
		if err != nil {
			rt.Fatal(err)
		}
		for name, columns := range model {
			maps.DeleteFunc(columns, func(c string, _ predicate.ColumnStats) bool { return c != "c1" })
			model[name] = columns
		}
		if d := cmp.Diff(model, got); d != "" {
			rt.Fatal(d)
		}
	})
}

// A commit writes what it brings, not what is there: the bytes of 255 commits of one file are
// those of 255 rows.
func TestAPutDoesNotRewriteTheRest(t *testing.T) {
	c, ctx := openTest(t), t.Context()
	id := putTable(t, c, "t")
	check(t, c.PutStats(ctx, id, "p", numbered(0, 4096)))
	written := func() (n int) {
		t.Helper()
		check(t, c.write.QueryRow("SELECT total_changes()").Scan(&n))
		return n
	}
	before := written()
	for i := 4096; i < 4096+255; i++ {
		check(t, c.PutStats(ctx, id, "p", numbered(i, i+1)))
	}
	if n := written() - before; n != 255 {
		t.Errorf("255 files changed %d rows", n)
	}
}
