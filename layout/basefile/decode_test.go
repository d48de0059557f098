package basefile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
)

// The example of the Parquet specification (encodings, RLE/bit-packing hybrid): 0 to 7 in 3 bits.
func TestHybridOfSpecification(t *testing.T) {
	packed := []byte{0x03, 0x88, 0xC6, 0xFA}
	got := make([]uint32, 8)
	if n, err := decodeHybrid(got, packed, 3); err != nil || n != 4 {
		t.Fatal(n, err)
	}
	if d := cmp.Diff([]uint32{0, 1, 2, 3, 4, 5, 6, 7}, got); d != "" {
		t.Error(d)
	}
	// The deprecated form has the highest bit first.
	levels := make([]uint8, 8)
	if n, err := decodeBitPacked(levels, []byte{0x05, 0x39, 0x77}, 3); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	if d := cmp.Diff([]uint8{0, 1, 2, 3, 4, 5, 6, 7}, levels); d != "" {
		t.Error(d)
	}
}

func TestHybridAgainstEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 32).Draw(t, "width")
		var in []int32
		for range rapid.IntRange(0, 10).Draw(t, "parts") {
			x := int32(rapid.Uint32Max(uint32(1<<width-1)).Draw(t, "value"))
			if rapid.Bool().Draw(t, "run") {
				for range rapid.IntRange(1, 40).Draw(t, "length") {
					in = append(in, x)
				}
			} else {
				in = append(in, x)
			}
		}
		b, err := (&rle.Encoding{BitWidth: width}).EncodeInt32(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]uint32, len(in))
		if _, err := decodeHybrid(got, b, width); err != nil {
			t.Fatal(err)
		}
		for i := range in {
			if got[i] != uint32(in[i]) {
				t.Fatalf("value %d: %d, want %d", i, got[i], in[i])
			}
		}
	})
}

func TestHybridCutShort(t *testing.T) {
	for _, b := range [][]byte{nil, {0x03, 0x88}, {0x10}, {0x02, 0x00}, {0x00, 0x00}, {0x01}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		if _, err := decodeHybrid(make([]uint32, 20), b, 3); err == nil {
			t.Errorf("%x: no error", b)
		}
	}
	if _, err := decodeHybrid(make([]uint32, 1), []byte{2, 0}, 33); err == nil {
		t.Error("33 bits: no error")
	}
}

func TestDeltaAgainstEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.Int64(), 0, 400).Draw(t, "values")
		if rapid.Bool().Draw(t, "near") {
			for i := range in {
				in[i] = int64(i)*3 + in[i]%5
			}
		}
		b, err := (&delta.BinaryPackedEncoding{}).EncodeInt64(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := decodeDelta(nil, append(b, "rest"...), len(in))
		if err != nil || string(rest) != "rest" {
			t.Fatalf("%v, rest %q", err, rest)
		}
		for i := range in {
			if got[i] != in[i] {
				t.Fatalf("value %d: %d, want %d", i, got[i], in[i])
			}
		}
		for n := range len(b) { // the padding of the last block may be missing, but nothing may panic
			if _, _, err := decodeDelta(nil, b[:n], len(in)); err == nil && n < 4 {
				t.Fatalf("%d of %d bytes: no error", n, len(b))
			}
		}
	})
}

func TestDeltaStringsAgainstEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "ab", "abc", "abd", "zz"}), 0, 50).Draw(t, "values")
		var s column.Strings
		s.Offsets = []uint32{0}
		for _, x := range in {
			s.Append([]byte(x))
		}
		var scratch []int64
		for name, c := range map[string]struct {
			encode func() ([]byte, error)
			decode func(dst *column.Strings, b []byte) error
		}{
			"delta length": {
				func() ([]byte, error) {
					return (&delta.LengthByteArrayEncoding{}).EncodeByteArray(nil, s.Bytes, s.Offsets)
				},
				func(dst *column.Strings, b []byte) error { return decodeDeltaLengths(dst, b, len(in), &scratch) }},
			"delta": {
				func() ([]byte, error) { return (&delta.ByteArrayEncoding{}).EncodeByteArray(nil, s.Bytes, s.Offsets) },
				func(dst *column.Strings, b []byte) error { return decodeDeltaStrings(dst, b, len(in), &scratch) }},
		} {
			b, err := c.encode()
			if err != nil {
				t.Fatal(err)
			}
			var got column.Strings
			if err := c.decode(&got, b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, x := range in {
				if string(got.At(i)) != x {
					t.Fatalf("%s, value %d: %q, want %q", name, i, got.At(i), x)
				}
			}
		}
	})
}

func TestConversions(t *testing.T) {
	for h, want := range map[uint16]float32{0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: 5.9604645e-08, 0x03ff: 6.0975552e-05, 0x0400: 6.1035156e-05, 0x3555: 0.33325195} {
		if got := float16(h); got != want {
			t.Errorf("float16 %04x: %g, want %g", h, got, want)
		}
	}
	if !math.IsInf(float64(float16(0xfc00)), -1) || float16(0x7e00) == float16(0x7e00) || !math.Signbit(float64(float16(0x8000))) {
		t.Error("float16: infinity, NaN or -0")
	}
	var text [36]byte
	uuidText(&text, []byte{0x55, 0x0e, 0x84, 0, 0xe2, 0x9b, 0x41, 0xd4, 0xa7, 0x16, 0x44, 0x66, 0x55, 0x44, 0, 0})
	if string(text[:]) != "550e8400-e29b-41d4-a716-446655440000" {
		t.Errorf("uuid %s", text)
	}
	b := binary.LittleEndian.AppendUint64(nil, 3_600_000_000_999)
	if got := int96Micros(binary.LittleEndian.AppendUint32(b, julianUnixEpoch+1)); got != 86_400_000_000+3_600_000_000 {
		t.Errorf("int96 %d", got)
	}
	for a, want := range map[int64]int64{1999: 1, -1: -1, -1000: -1, -1001: -2, 0: 0} {
		if got := floorDiv(a, 1000); got != want {
			t.Errorf("%d / 1000 = %d", a, got)
		}
	}
	for _, c := range []struct {
		in   []byte
		want column.Int128
		ok   bool
	}{
		{nil, column.Int128{}, true},
		{[]byte{0xff}, column.Int128From(-1), true},
		{[]byte{0x01, 0x00}, column.Int128From(256), true},
		{append(make([]byte, 16), 5), column.Int128From(5), true},
		{append([]byte{1}, make([]byte, 16)...), column.Int128{}, false},
		{bytes.Repeat([]byte{0xff}, 20), column.Int128From(-1), true},
	} {
		if got, err := int128(c.in); (err == nil) != c.ok || got != c.want {
			t.Errorf("%x: %v, %v", c.in, got, err)
		}
	}
}

func TestDecompressChecksSize(t *testing.T) {
	text := bytes.Repeat([]byte("the quick brown fox "), 500)
	for _, codec := range []Codec{Snappy, None, Gzip, Zstd} {
		c := compressor{codec: codec}
		packed, err := c.compress([]byte("pre"), text)
		if err != nil || string(packed[:3]) != "pre" {
			t.Fatal(codec, err)
		}
		packed = packed[3:]
		got, err := decompress(codec.format(), nil, packed, len(text))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %v", codec, err)
		}
		for _, size := range []int{0, 1, len(text) - 1, len(text) + 1, maxDecodedBytes} {
			if _, err := decompress(codec.format(), nil, packed, size); err == nil {
				t.Errorf("%s: %d bytes for %d", codec, size, len(text))
			}
		}
		if _, err := decompress(codec.format(), nil, packed[:len(packed)/2], len(text)); err == nil {
			t.Errorf("%s: half a page", codec)
		}
	}
	if _, err := decompress(format.LZO, nil, text, len(text)); err == nil {
		t.Error("LZO")
	}
}

func TestLZ4(t *testing.T) {
	text := bytes.Repeat([]byte("the quick brown fox "), 500)
	block := make([]byte, lz4.CompressBlockBound(len(text)))
	n, err := lz4.CompressBlock(text, block, nil)
	if err != nil {
		t.Fatal(err)
	}
	block = block[:n]
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	framed = append(binary.BigEndian.AppendUint32(framed, uint32(n)), block...)
	for _, c := range []struct {
		codec format.CompressionCodec
		data  []byte
	}{{format.Lz4Raw, block}, {format.Lz4, framed}, {format.Lz4, block}} {
		got, err := decompress(c.codec, nil, c.data, len(text))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s of %d bytes: %v", c.codec, len(c.data), err)
		}
		if _, err := decompress(c.codec, nil, c.data, len(text)+1); err == nil {
			t.Errorf("%s: wrong size", c.codec)
		}
	}
}

// TestMixedChunk reads a column that begins dictionary coded and goes on as text.
func TestMixedChunk(t *testing.T) {
	type row struct {
		S *string `parquet:"s,optional,dict"`
		N int64   `parquet:"n,dict"`
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[row](&out, parquet.DictionaryMaxBytes(2000), parquet.PageBufferSize(1000))
	rows := make([]row, 3000)
	for i := range rows {
		s := fmt.Sprintf("value %d", i%(1+i/2))
		if i%7 != 3 {
			rows[i].S = &s
		}
		rows[i].N = int64(i % (1 + i/2))
	}
	for i := range rows {
		if _, err := w.Write(rows[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	x := mustOpen(t, out.Bytes())
	encodings := fmt.Sprint(x.meta.RowGroups[0].Columns[0].MetaData.Encoding)
	if !strings.Contains(encodings, "RLE_DICTIONARY") || !strings.Contains(encodings, "PLAIN") {
		t.Fatalf("encodings %s: not a mixed chunk", encodings)
	}
	bs, err := readAll(x, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, b := range bs {
		for k := range b.Len {
			want := rows[i]
			if b.Cols[0].Null(k) != (want.S == nil) || want.S != nil && string(b.Cols[0].Bytes(k)) != *want.S || b.Cols[1].I64[k] != want.N {
				t.Fatalf("row %d: %v, want %v", i, jsonValue(b.Cols[0], k), want)
			}
			i++
		}
	}
	if i != len(rows) {
		t.Errorf("%d rows", i)
	}
}

func TestDistinct(t *testing.T) {
	in := func(v ...string) *column.Strings { return &strs(v...).Str }
	s := in("a", "b", "c")
	if remap := distinct(s); remap != nil || s.Len() != 3 {
		t.Errorf("%v", remap)
	}
	s = in("a", "b", "a", "c", "b", "b")
	if d := cmp.Diff([]uint32{0, 1, 0, 2, 1, 1}, distinct(s)); d != "" || s.Len() != 3 || string(s.At(2)) != "c" {
		t.Error(d, s)
	}
}

func TestReader(t *testing.T) {
	words := make([]string, 1000)
	for i := range words {
		words[i] = fmt.Sprint("word ", i%10)
	}
	b := batchOf(int64s(make([]int64, 1000)...), strs(words...), strs(words...))
	x := mustOpen(t, writeBytes(t, WriterOptions{Schema: b.Schema, RowGroupRows: 600}, b))
	if x.Rows() != 1000 || x.NumRowGroups() != 2 || x.RowGroupRows(1) != 400 {
		t.Errorf("%d rows, %d row groups, %d in the second", x.Rows(), x.NumRowGroups(), x.RowGroupRows(1))
	}

	t.Run("batches share the dictionary", func(t *testing.T) {
		r := x.Read(context.Background(), 0, []string{"c", "a"}, 250)
		var sizes []int
		var dict *column.Dictionary
		for {
			got, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"c", "a"}, got.Schema.Names()); d != "" {
				t.Fatal(d)
			}
			if dict == nil {
				dict = got.Cols[0].Dict
			}
			if dict == nil || got.Cols[0].Dict != dict || dict.Len() != 10 {
				t.Errorf("dictionary %p, first %p", got.Cols[0].Dict, dict)
			}
			sizes = append(sizes, got.Len)
		}
		if d := cmp.Diff([]int{250, 250, 100}, sizes); d != "" {
			t.Error(d)
		}
	})
	t.Run("counters", func(t *testing.T) {
		before := x.Counters()
		r := x.Read(context.Background(), 1, []string{"a"}, 100)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		after := x.Counters()
		want := Counters{Bytes: x.RowGroupBytes(1, []string{"a"}), RowGroups: 1, Rows: 400}
		if got := (Counters{after.Bytes - before.Bytes, after.RowGroups - before.RowGroups, after.Rows - before.Rows}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
	t.Run("no columns", func(t *testing.T) {
		bs, err := readAll(x, []string{}, 300)
		if err != nil || rowsOf(bs) != 1000 || len(bs[0].Cols) != 0 {
			t.Errorf("%d rows, %v", rowsOf(bs), err)
		}
	})
	t.Run("missing column", func(t *testing.T) {
		_, err := x.Read(context.Background(), 0, []string{"a", "nope"}, 10).Next()
		var missing *MissingColumnError
		if !errors.As(err, &missing) || missing.Column != "nope" || missing.Path != "test.parquet" {
			t.Error(err)
		}
	})
	t.Run("row group out of range", func(t *testing.T) {
		if _, err := x.Read(context.Background(), 2, nil, 10).Next(); err == nil {
			t.Error("no error")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		r := x.Read(ctx, 0, nil, 10)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := r.Next(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		r := x.Read(context.Background(), 0, nil, 10)
		r.Close()
		if _, err := r.Next(); err != io.EOF {
			t.Error(err)
		}
	})
}

// TestMerge joins what follows each other, but not past the limit.
func TestMerge(t *testing.T) {
	got := merge([]span{{start: 10, end: 20, leaves: []int{1}}, {start: 0, end: 10, leaves: []int{0}}, {start: 30, end: 40, leaves: []int{2}},
		{start: 40, end: 40 + maxReadBytes, leaves: []int{3}}})
	var text []string
	for _, s := range got {
		text = append(text, fmt.Sprint(s.start, s.end, s.leaves))
	}
	want := []string{"0 20 [0 1]", "30 40 [2]", fmt.Sprint(40, 40+maxReadBytes, " [3]")}
	if d := cmp.Diff(want, text); d != "" {
		t.Error(d)
	}
}

func TestBloomOverfull(t *testing.T) {
	// 100000 keys in the room for 1000 at 1%: hashing costs the least there is.
	f := NewBloomFilter(100_000, 1000, 0.01)
	for i := range 100_000 {
		f.Add(fmt.Appendf(nil, "key %d", i))
	}
	if n := f.rows[0].hashes; n != 1 {
		t.Errorf("%d hashes", n)
	}
	again, err := ParseBloomFilter(f.Marshal(), BloomSimple)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f.rows[0].bits, again.rows[0].bits); d != "" || again.rows[0].size != f.rows[0].size {
		t.Error("marshalled and parsed differ")
	}
	// The sizes of Hudi's defaults (docs/format.md: bloom filter).
	if r := NewBloomFilter(60000, 60000, 1e-9).rows[0]; r.size != 2587966 || r.hashes != 30 {
		t.Errorf("%d bits, %d hashes", r.size, r.hashes)
	}
}

// TestHostileCounts hands a decoder pages that claim more than they can hold.
func TestHostileCounts(t *testing.T) {
	leaf := mustOpen(t, writeBytes(t, WriterOptions{Schema: batchOf(int64s(1)).Schema}, batchOf(int64s(1)))).leaves[0]
	page := func(values int, body []byte) []byte {
		return append(appendPageHeader(nil, format.DataPage, len(body), body, values, format.Plain), body...)
	}
	nulls := []byte{6, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0} // one run of 2^31-1 levels of 0
	for name, c := range map[string]struct {
		values int64
		pages  []byte
		want   string
	}{
		"chunk of too many values": {1 << 40, page(1, nulls), "expands to more than"},
		"page of too many values":  {10, page(11, nulls), "more values than"},
		"page without its values":  {3, page(3, append([]byte{2, 0, 0, 0, 6, 1}, make([]byte, 8)...)), "too early"},
		"levels cut short":         {3, page(3, []byte{200, 0, 0, 0, 6}), "too early"},
		"no page":                  {3, nil, "cut short"},
		"page beyond the chunk":    {3, page(3, nulls)[:12], "cut short"},
	} {
		md := &columnMetaData{Codec: format.Uncompressed, NumValues: c.values}
		if _, err := decodeChunk(leaf, false, 0, md, c.pages); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	md := &columnMetaData{Codec: format.Uncompressed, NumValues: 1000}
	d, err := decodeChunk(leaf, false, 0, md, page(1000, nulls))
	if err != nil || d.vec.Len != 1000 || d.vec.NullCount() != 1000 {
		t.Errorf("nulls: %v", err)
	}
}
