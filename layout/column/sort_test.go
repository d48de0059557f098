package column

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naiveSort sorts rows with the standard library and the test's own order.
func naiveSort(data [][]datum, n int) []uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	slices.SortStableFunc(rows, func(a, b uint32) int {
		for _, col := range data {
			if c := order(col[a], col[b]); c != 0 {
				return c
			}
		}
		return 0
	})
	return rows
}

func TestSortPermutationMatchesNaiveSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 5, 21, 60, 200}).Draw(t, "n")
		var cols []*Vector
		var data [][]datum
		for k := rapid.IntRange(1, 3).Draw(t, "columns"); k > 0; k-- {
			typ := drawType(t, 1)
			pool := make([]datum, rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "distinct"))
			for i := range pool {
				pool[i] = drawDatum(t, typ)
			}
			seed := rapid.Uint64().Draw(t, "seed")
			r := rand.New(rand.NewPCG(seed, 1))
			d := make([]datum, n)
			for i := range d {
				d[i] = pool[r.IntN(len(pool))]
			}
			cols, data = append(cols, build(typ, d, rapid.Bool().Draw(t, "dict"))), append(data, d)
		}
		if got, want := SortPermutation(cols, n), naiveSort(data, n); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v\n%v", got, want, data)
		}
	})
}

// TestSortPermutationManyRows is large enough for the radix passes and the split by top digit.
func TestSortPermutationManyRows(t *testing.T) {
	const n = 150_000
	r := rand.New(rand.NewPCG(1, 2))
	column := func(typ Type, dict bool, f func(i int) datum) (*Vector, []datum) {
		d := make([]datum, n)
		for i := range d {
			if r.IntN(50) > 0 {
				d[i] = f(i)
			}
		}
		return build(typ, d, dict), d
	}
	city, cityData := column(Type{Kind: String}, true, func(int) datum { return fmt.Sprintf("city-%d", r.IntN(300)) })
	url, urlData := column(Type{Kind: String}, false, func(int) datum { return fmt.Sprintf("https://example.org/%d", r.IntN(20000)) })
	ts, tsData := column(Type{Kind: Timestamp}, false, func(i int) datum { return 1.7e15 + int64(i)*1e3 + int64(r.IntN(5000)) })
	id, idData := column(Type{Kind: Int64}, false, func(int) datum { return int64(r.Uint64()) })
	dec, decData := column(Type{Kind: Decimal, Precision: 38}, false, func(int) datum { return Int128{Hi: int64(r.IntN(3) - 1), Lo: r.Uint64()} })
	for _, c := range []struct {
		name string
		cols []*Vector
		data [][]datum
	}{
		{"city, ts", []*Vector{city, ts}, [][]datum{cityData, tsData}},
		{"ts", []*Vector{ts}, [][]datum{tsData}},
		{"id, city", []*Vector{id, city}, [][]datum{idData, cityData}},
		{"city, id", []*Vector{city, id}, [][]datum{cityData, idData}},
		{"url, dec", []*Vector{url, dec}, [][]datum{urlData, decData}},
		{"dec", []*Vector{dec}, [][]datum{decData}},
	} {
		if got, want := SortPermutation(c.cols, n), naiveSort(c.data, n); !slices.Equal(got, want) {
			t.Errorf("%s: order differs", c.name)
		}
	}
}

func BenchmarkSortPermutationCityTime(b *testing.B) {
	const n = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	city := NewDictBuilder(Type{Kind: String}, n)
	ts := NewBuilder(Type{Kind: Timestamp}, n)
	id := NewBuilder(Type{Kind: Int64}, n)
	for i := 0; i < n; i++ {
		city.AppendBytes(fmt.Append(nil, "city-", r.IntN(300)))
		ts.AppendInt64(1.7e15 + int64(i)*30e6 + int64(r.IntN(60e6)))
		id.AppendInt64(int64(r.Uint64()))
	}
	cols := []*Vector{city.Finish(), ts.Finish(), id.Finish()}
	b.Run("city,ts", func(b *testing.B) {
		for b.Loop() {
			SortPermutation(cols[:2], n)
		}
	})
	b.Run("id", func(b *testing.B) {
		for b.Loop() {
			SortPermutation(cols[2:], n)
		}
	})
}
