package clustering

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out into the scripts of testdata/plan")

// TestPlanScripts plays testdata/plan: each case has options and the files of partitions, then after
// a line of dashes the plan they give. Options are written without the prefix
// hoodie.clustering.plan.strategy. where they have it. A file is
//
//	<file id> <bytes> [pending=<instant>] [clustered=<instant>[:<columns>]]
//
// The table has the columns id, city and, nested, tags. The clock says 05:30.
func TestPlanScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/plan/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for n, c := range strings.Split(strings.TrimRight(string(data), "\n"), "\n\n") {
				in, want, _ := strings.Cut(c+"\n", "\n----\n")
				got := playPlan(t, in)
				if got != want && !*rewrite {
					t.Errorf("case %d:\n%s\n----\n%s\nwant\n%s", n+1, in, got, want)
				}
				if n > 0 {
					out.WriteString("\n")
				}
				out.WriteString(in + "\n----\n" + got)
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func playPlan(t *testing.T, script string) string {
	t.Helper()
	options := map[string]string{}
	var in PlanInput
	in.Now = time.Date(2026, 3, 1, 5, 30, 0, 0, time.UTC)
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if k, v, ok := strings.Cut(line, " = "); ok {
			if !strings.HasPrefix(k, "hoodie.") {
				k = "hoodie.clustering.plan.strategy." + k
			}
			options[k] = v
			continue
		}
		if path, ok := strings.CutPrefix(line, "partition"); ok {
			in.Partitions = append(in.Partitions, PartitionInput{Path: strings.TrimSpace(path)})
			continue
		}
		f := strings.Fields(line)
		bytes, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || len(in.Partitions) == 0 {
			t.Fatalf("line %q", line)
		}
		s := SliceInput{FileID: f[0], FileName: f[0] + ".parquet", Instant: "20260101000000000", Bytes: bytes, Rows: bytes}
		for _, attr := range f[2:] {
			k, v, _ := strings.Cut(attr, "=")
			switch k {
			case "pending":
				s.Pending = v
			case "clustered":
				instant, columns, _ := strings.Cut(v, ":")
				s.Instant = instant
				s.Layout = fmt.Sprintf(`{"order":"linear","columns":["%s"]}`, strings.ReplaceAll(columns, ",", `","`))
			default:
				t.Fatalf("line %q", line)
			}
		}
		p := &in.Partitions[len(in.Partitions)-1]
		p.Slices = append(p.Slices, s)
	}
	schema := &column.Schema{Fields: []column.Field{
		{Name: "id", Type: column.Type{Kind: column.Int64}},
		{Name: "city", Type: column.Type{Kind: column.String}, Nullable: true},
		{Name: "tags", Type: column.Type{Kind: column.List, Fields: []column.Field{{Name: "element", Type: column.Type{Kind: column.String}}}}},
	}}
	o, err := ResolvePlanOptions(engine.NewConfig(options), schema)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	strategy, err := planStrategies.find(o.PlanStrategy)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return strategy.Plan(in, o).String()
}
