package basefile

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/column"
)

var figureLine = regexp.MustCompile(`^- \*\*(.+\.parquet)\*\* \(\d+ columns\): (.*)$`)

// TestFigures compares counts, sums and extremes with those that another reader found, as listed beside
// the files.
func TestFigures(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(fixtures.Dir(t), "parquet", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, line := range strings.Split(string(readme), "\n") {
		m := figureLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		files++
		t.Run(m[1], func(t *testing.T) {
			paths, _ := filepath.Glob(filepath.Join(fixtures.Dir(t), "parquet", "*", m[1]))
			if len(paths) != 1 {
				t.Fatalf("files %v", paths)
			}
			x, err := openPath(t, paths[0])
			if err != nil {
				t.Fatal(err)
			}
			bs, err := readAll(x, nil, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[2], -1) {
				name, want, ok := strings.Cut(item[1], ": ")
				if !ok || x.Schema().Index(name) < 0 {
					t.Fatalf("figure %q", item[1])
				}
				if got := figure(bs, name, strings.Count(want, " / ") == 1); !sameFigure(got, want) {
					t.Errorf("%s: got %s, want %s", name, got, want)
				}
			}
		})
	}
	if files < 15 {
		t.Errorf("only %d files with figures", files)
	}
}

// figure is "count / sum" or "count / min / max" of a column.
func figure(bs []*column.Batch, name string, sum bool) string {
	count := 0
	total := new(big.Int)
	var lo, hi any
	scale := 0
	for _, b := range bs {
		v := b.Column(name)
		for i := range v.Len {
			if v.Null(i) {
				continue
			}
			count++
			switch v.Type.Kind {
			case column.Int32:
				total.Add(total, big.NewInt(int64(v.I32[i])))
			case column.Int64:
				total.Add(total, big.NewInt(v.I64[i]))
			case column.Bool:
				total.Add(total, big.NewInt(bit(v.Bools[i])))
			case column.Decimal:
				d, _ := new(big.Int).SetString(string(column.AppendDecimal(nil, v.Decimal(i), 0)), 10)
				total.Add(total, d)
				scale = v.Type.Scale
			}
			x := jsonValue(v, i)
			if lo == nil || before(x, lo) {
				lo = x
			}
			if hi == nil || before(hi, x) {
				hi = x
			}
		}
	}
	if sum {
		text := total.String()
		if scale > 0 {
			text = new(big.Rat).SetFrac(total, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
		}
		return fmt.Sprintf("%d / %s", count, text)
	}
	if count == 0 {
		lo, hi = "-", "-"
	}
	return fmt.Sprintf("%d / %v / %v", count, lo, hi)
}

func before(a, b any) bool {
	if x, ok := a.(float64); ok {
		return x < b.(float64)
	}
	return fmt.Sprint(a) < fmt.Sprint(b)
}

// sameFigure allows for floats of 32 bits printed shortly, long strings cut to 40, and binary written as text.
func sameFigure(got, want string) bool {
	g, w := strings.Split(got, " / "), strings.Split(want, " / ")
	if len(g) != len(w) {
		return len(w) == 1 && g[0] == w[0]
	}
	for i := range w {
		if g[i] == w[i] || len(w[i]) == 40 && strings.HasPrefix(g[i], w[i]) {
			continue
		}
		if len([]rune(w[i])) == 40 && strings.HasPrefix(g[i], w[i]) {
			continue
		}
		a, errA := strconv.ParseFloat(g[i], 64)
		b, errB := strconv.ParseFloat(w[i], 64)
		if errA != nil || errB != nil || float32(a) != float32(b) {
			return false
		}
	}
	return true
}

func TestBadFiles(t *testing.T) {
	const anyRows = -1 // either an error or the expected rows
	for name, want := range map[string]struct {
		err  error
		rows int
	}{
		"large_string_map.brotli.parquet":              {err: ErrUnsupported}, // expands to 2 GiB
		"ARROW-GH-41317.parquet":                       {err: ErrCorrupt},
		"ARROW-GH-43605.parquet":                       {rows: 21186}, // valid: codes of no bits
		"ARROW-GH-45185.parquet":                       {err: ErrCorrupt},
		"ARROW-RS-GH-6229-DICTHEADER.parquet":          {err: ErrCorrupt},
		"PARQUET-1481.parquet":                         {err: ErrUnsupported},
		"datapage_v1-corrupt-checksum.parquet":         {err: ErrCorrupt},
		"duckdb_page_size_corruption.parquet":          {err: ErrCorrupt},
		"encrypt_columns_and_footer.parquet.encrypted": {err: ErrUnsupported},
		"nation.dict-malformed.parquet":                {err: ErrCorrupt, rows: anyRows},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(fixtures.Dir(t), "parquet", "bad", name)
			var bs []*column.Batch
			x, err := openPath(t, path)
			if err == nil {
				bs, err = readAll(x, nil, 1000)
			}
			if err != nil {
				if !errors.Is(err, want.err) || !strings.Contains(err.Error(), path) {
					t.Fatalf("error %v, want %v", err, want.err)
				}
				return
			}
			rows := jsonRows(bs)
			if want.rows == anyRows {
				expected, _ := expectedRows(t, name, "")
				want.rows, want.err = len(expected), nil
			}
			if want.err != nil || len(rows) != want.rows {
				t.Errorf("read %d rows without error, want %d rows, error %v", len(rows), want.rows, want.err)
			}
		})
	}
}

// TestCutShort reads every prefix of a file, and files that are none.
func TestCutShort(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(fixtures.Dir(t), "parquet", "awkward", "alltypes_plain.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(b) {
		if _, err := openBytes(b[:n], "cut.parquet"); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "cut.parquet") {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	for text, reason := range map[string]string{
		"":                         "empty",
		"id,name\n1,a\n2,b\n":      "not a Parquet file",
		"PAR1\x00\x00\x00\x00PAR1": "footer",
		"PAR1\xff\xff\xff\x7fPAR1": "footer",
		"PAR1" + "xxxx" + "\x04\x00\x00\x00" + "PAR1": "footer",
	} {
		if _, err := openBytes([]byte(text), "f"); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestReadFailure tells a failing storage from a corrupt file.
func TestReadFailure(t *testing.T) {
	_, err := Open(failingFile{}, "p/f.parquet")
	if errors.Is(err, ErrCorrupt) || !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "p/f.parquet") {
		t.Error(err)
	}
}

var errDisk = errors.New("disk on fire")

type failingFile struct{ io.Closer }

func (failingFile) ReadAt([]byte, int64) (int, error) { return 0, errDisk }
func (failingFile) Size() int64                       { return 1000 }
