package basefile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoaldb/shoal/internal/fixtures"
	"github.com/shoaldb/shoal/layout/column"
)

// memFile is a storage.File over bytes.
type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

func openBytes(b []byte, path string) (*File, error) {
	return Open(memFile{bytes.NewReader(b)}, path)
}

func openPath(t testing.TB, path string) (*File, error) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return openBytes(b, path)
}

// readAll reads every row of a file, of the named columns or all, as one list of batches.
func readAll(x *File, columns []string, batchRows int) (out []*column.Batch, err error) {
	for g := range x.NumRowGroups() {
		r := x.Read(context.Background(), g, columns, batchRows)
		for {
			b, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
		r.Close()
	}
	return out, nil
}

// jsonValue renders a value as the expected rows have it: 64-bit integers, decimals and times as text,
// binary in hexadecimal.
func jsonValue(v *column.Vector, i int) any {
	if v.Null(i) {
		return nil
	}
	float := func(f float64) any {
		switch {
		case math.IsNaN(f):
			return "nan"
		case math.IsInf(f, 0):
			return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
		}
		return f
	}
	stamp := func(us int64) string {
		return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.999999")
	}
	switch v.Type.Kind {
	case column.Bool:
		return v.Bools[i]
	case column.Int32:
		return float64(v.I32[i])
	case column.Int64:
		return strconv.FormatInt(v.I64[i], 10)
	case column.Float32:
		return float(float64(v.F32[i]))
	case column.Float64:
		return float(v.F64[i])
	case column.Decimal:
		return string(column.AppendDecimal(nil, v.Decimal(i), v.Type.Scale))
	case column.String:
		return string(v.Bytes(i))
	case column.Binary:
		return hex.EncodeToString(v.Bytes(i))
	case column.Date:
		return time.Unix(int64(v.I32[i])*86400, 0).UTC().Format("2006-01-02")
	case column.Time:
		return time.UnixMicro(v.I64[i]).UTC().Format("15:04:05.999999")
	case column.Timestamp:
		return stamp(v.I64[i])
	case column.TimestampMilli:
		return stamp(v.I64[i] * 1000)
	case column.List:
		list := []any{}
		for k := v.Offsets[i]; k < v.Offsets[i+1]; k++ {
			list = append(list, jsonValue(v.Children[0], int(k)))
		}
		return list
	case column.Map:
		m := map[string]any{}
		for k := v.Offsets[i]; k < v.Offsets[i+1]; k++ {
			m[fmt.Sprint(jsonValue(v.Children[0], int(k)))] = jsonValue(v.Children[1], int(k))
		}
		return m
	case column.Struct:
		m := map[string]any{}
		for c, f := range v.Type.Fields {
			m[f.Name] = jsonValue(v.Children[c], i)
		}
		return m
	}
	return fmt.Sprintf("kind %s", v.Type.Kind)
}

func jsonRows(bs []*column.Batch) (rows []any) {
	for _, b := range bs {
		for i := range b.Len {
			m := map[string]any{}
			for c, f := range b.Schema.Fields {
				m[f.Name] = jsonValue(b.Cols[c], i)
			}
			rows = append(rows, m)
		}
	}
	return rows
}

// expectedRows reads expected/<file>.jsonl; ok is false when there is none. Rows of files with one
// column are sometimes the bare value; column is then its name.
func expectedRows(t *testing.T, file, column string) (rows []any, ok bool) {
	t.Helper()
	f, err := os.Open(filepath.Join(fixtures.Dir(t), "parquet", "expected", file+".jsonl"))
	if os.IsNotExist(err) {
		return nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var v any
		line := s.Text()
		if line == "" {
			line = "null"
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if _, isMap := v.(map[string]any); !isMap {
			v = map[string]any{column: v}
		}
		rows = append(rows, utcText(v))
	}
	return rows, true
}

// utcText drops the zone of instants, which is always UTC.
func utcText(v any) any {
	switch x := v.(type) {
	case string:
		if len(x) > 20 && x[4] == '-' && strings.HasSuffix(x, "+00") {
			return strings.TrimSuffix(x, "+00")
		}
	case map[string]any:
		for k, e := range x {
			x[k] = utcText(e)
		}
	case []any:
		for k, e := range x {
			x[k] = utcText(e)
		}
	}
	return v
}

// like gives got the looser forms that want has in places: 64-bit integers inside nested values are
// numbers there, and the reader that made the rows names a column without name C1.
func like(want, got any) any {
	switch w := want.(type) {
	case float64:
		if s, ok := got.(string); ok {
			if f, err := strconv.ParseFloat(s, 64); err == nil {
				return f
			}
		}
	case string:
		if strings.Contains(w, "(BC)") {
			return want // that reader overflowed; TestInt96BeyondNanoseconds has the value
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range w {
				g[i] = like(w[i], g[i])
			}
		}
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			if v, unnamed := g[""]; unnamed {
				g["C1"] = v
				delete(g, "")
			}
			for k := range w {
				if v, ok := g[k]; ok {
					g[k] = like(w[k], v)
				}
			}
		}
	}
	return got
}

// The values are those of the file's origin, apache/parquet-testing data/int96_from_spark.md.
func TestInt96BeyondNanoseconds(t *testing.T) {
	x, err := openPath(t, filepath.Join(fixtures.Dir(t), "parquet", "awkward", "int96_from_spark.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	bs, err := readAll(x, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	v := bs[0].Cols[0]
	want := []int64{1704141296123456, 1704070800000000, 253402225200000000, 1735599600000000, 0, 9089380393200000000}
	if d := cmp.Diff(want, v.I64); d != "" {
		t.Error(d)
	}
	if !v.Null(4) || v.NullCount() != 1 || v.Type.Local {
		t.Errorf("nulls %d, type %+v", v.NullCount(), v.Type)
	}
}

func parquetFixtures(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t), "parquet", dir, "*.parquet*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	return files
}

func TestExpectedRows(t *testing.T) {
	for _, dir := range []string{"awkward", "real"} {
		for _, path := range parquetFixtures(t, dir) {
			name := filepath.Base(path)
			t.Run(name, func(t *testing.T) {
				x, err := openPath(t, path)
				if err != nil {
					t.Fatal(err)
				}
				for _, batchRows := range []int{3, 1 << 20} {
					bs, err := readAll(x, nil, batchRows)
					if err != nil {
						t.Fatal(err)
					}
					want, ok := expectedRows(t, name, x.Schema().Fields[0].Name)
					if !ok {
						continue
					}
					got := jsonRows(bs)
					if len(got) != len(want) {
						t.Fatalf("%d rows, want %d", len(got), len(want))
					}
					for i := range want {
						if d := cmp.Diff(want[i], like(want[i], got[i])); d != "" {
							t.Fatalf("row %d: %s", i, d)
						}
					}
				}
			})
		}
	}
}
