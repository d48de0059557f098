package basefile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/shoaldb/shoal/layout/column"
)

// benchBatch is rows as a fact table has them, with the five meta columns.
func benchBatch(n int) *column.Batch {
	rnd := rand.New(rand.NewPCG(7, 7))
	id, ts, qty, price := make([]int64, n), make([]int64, n), make([]int32, n), make([]int64, n)
	amount := make([]float64, n)
	city := &column.Vector{Type: typ(column.String), Len: n, Dict: &column.Dictionary{}, Codes: make([]uint32, n)}
	for c := range 300 {
		city.Dict.Append(fmt.Appendf(nil, "city number %d", c))
	}
	keys := &column.Vector{Type: typ(column.String), Len: n}
	keys.Str.Offsets = []uint32{0}
	for i := range n {
		id[i], ts[i] = int64(i), 1_700_000_000_000_000+int64(i)*1000+rnd.Int64N(1000)
		qty[i], price[i], amount[i] = rnd.Int32N(50), rnd.Int64N(1_000_000), float64(rnd.IntN(100_000))/100
		city.Codes[i] = uint32(rnd.IntN(300))
		keys.Str.Append(fmt.Appendf(nil, "20260101000000000_0_%d", i))
	}
	q := &column.Vector{Type: typ(column.Int32), Len: n, I32: qty}
	for i := range n {
		if i%11 == 0 {
			q.I32[i] = 0
		}
	}
	null := make([]int, 0, n/11+1)
	for i := 0; i < n; i += 11 {
		null = append(null, i)
	}
	cols := []*column.Vector{
		int64s(id...), {Type: typ(column.Timestamp), Len: n, I64: ts}, city, keys, float64s(amount...),
		{Type: column.Type{Kind: column.Decimal, Precision: 12, Scale: 2}, Len: n, I64: price}, withNulls(q, null...),
	}
	b := batchOf(cols...)
	for _, name := range column.MetaColumns {
		b.Schema.Fields = append(b.Schema.Fields, column.Field{Name: name, Type: typ(column.String), Nullable: true})
		b.Cols = append(b.Cols, column.Constant(typ(column.String), []byte("20260101000000000"), n))
	}
	return b
}

const benchRows = 1 << 20

func perRow(b *testing.B, size int64) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
	b.ReportMetric(float64(size)/benchRows, "bytes/row")
}

func BenchmarkWrite(b *testing.B) {
	data := benchBatch(benchRows)
	for _, key := range []string{"", "d"} {
		b.Run("key="+key, func(b *testing.B) {
			var size int64
			for b.Loop() {
				w, err := NewWriter(io.Discard, WriterOptions{Schema: data.Schema, KeyColumn: key})
				if err != nil {
					b.Fatal(err)
				}
				for lo := 0; lo < benchRows; lo += 4096 {
					if err := w.Write(data.Slice(lo, lo+4096)); err != nil {
						b.Fatal(err)
					}
				}
				sum, err := w.Close()
				if err != nil {
					b.Fatal(err)
				}
				size = sum.Bytes
			}
			perRow(b, size)
		})
	}
}

func BenchmarkScan(b *testing.B) {
	data := benchBatch(benchRows)
	for _, codec := range []Codec{Snappy, Zstd} {
		file := writeBytes(b, WriterOptions{Schema: data.Schema, Codec: codec}, data)
		x, err := Open(memFile{bytes.NewReader(file)}, "bench.parquet")
		if err != nil {
			b.Fatal(err)
		}
		for _, columns := range [][]string{{"a"}, {"c"}, {"g"}, {"f"}, nil} {
			name := "all"
			if columns != nil {
				name = columns[0]
			}
			b.Run(codec.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					for g := range x.NumRowGroups() {
						r := x.Read(context.Background(), g, columns, 4096)
						for {
							if _, err := r.Next(); err == io.EOF {
								break
							} else if err != nil {
								b.Fatal(err)
							}
						}
					}
				}
				perRow(b, 0)
			})
		}
	}
}
