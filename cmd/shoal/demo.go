package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/layout/column"
)

// demoOptions size the demo table.
type demoOptions struct {
	warehouse string
	files     int
	rows      int // a file
	target    int64
}

func newDemoCommand() *cobra.Command {
	o := demoOptions{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what clustering saves, on a table of small files made for it",
		Long: `demo makes the table demo.trips of small arrival-ordered files in a warehouse, asks it a
selective question, clusters it by two columns and asks again. It prints what was read each
time, and how to go on looking with a MySQL client. Running it again makes the table anew.`,
		Example: "  shoal demo\n  shoal demo --files 500 --rows 20000 --warehouse /tmp/w",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.warehouse, "warehouse", "./warehouse", "folder to make the table in")
	f.IntVar(&o.files, "files", 300, "commits, of one small file each")
	f.IntVar(&o.rows, "rows", 10000, "rows of each file")
	f.Int64Var(&o.target, "target-bytes", 8<<20, "size of a clustered file, in bytes")
	return cmd
}

const (
	demoQuery = "SELECT COUNT(*) AS trips, SUM(fare) AS fares FROM demo.trips WHERE city = 'Lisbon' AND rider BETWEEN 4000 AND 4999"
	demoCall  = "CALL run_clustering(table => 'demo.trips', order => 'city,rider')"
)

func runDemo(ctx context.Context, out io.Writer, o demoOptions) error {
	if o.files < 1 || o.rows < 1 || o.target < 1 {
		return errors.New("--files, --rows and --target-bytes must be at least 1")
	}
	if err := os.MkdirAll(o.warehouse, 0o755); err != nil {
		return err
	}
	local, err := openLocal(ctx, localOptions{warehouse: o.warehouse, quiet: true})
	if err != nil {
		return err
	}
	defer local.close()
	for _, q := range []string{
		"CREATE DATABASE IF NOT EXISTS demo",
		"DROP TABLE IF EXISTS demo.trips",
		"CREATE TABLE demo.trips (trip_id BIGINT NOT NULL, started DATETIME(6), city VARCHAR(40), rider BIGINT," +
			" fare DECIMAL(10,2), km DOUBLE, note VARCHAR(80), PRIMARY KEY (trip_id))" +
			" TBLPROPERTIES ('hoodie.clustering.plan.strategy.target.file.max.bytes' = '" + fmt.Sprint(o.target) + "')",
	} {
		if _, err := local.query(ctx, q); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "Writing %d commits of %s rows each, as they would arrive ...\n", o.files, thousands(int64(o.rows)))
	began := time.Now()
	if err := writeTrips(ctx, local.warehouse, o); err != nil {
		return err
	}
	wrote := time.Since(began)
	total := int64(o.files) * int64(o.rows)
	fmt.Fprintf(out, "  %s rows in %s (%s rows/s, each commit durable)\n\n", thousands(total), wrote.Round(time.Millisecond), thousands(perSecond(total, wrote)))

	fmt.Fprintf(out, "mysql> %s;\n", demoQuery)
	before, err := measure(ctx, local)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nmysql> %s;\n", demoCall)
	began = time.Now()
	res, err := local.query(ctx, demoCall)
	if err != nil {
		return err
	}
	took := time.Since(began)
	for _, row := range res.rows {
		fmt.Fprintf(out, "  instant %s: %s group(s), %s\n", row[0], row[1], row[2])
	}
	fmt.Fprintf(out, "  clustered in %s (%s rows/s)\n\n", took.Round(time.Millisecond), thousands(perSecond(total, took)))
	after, err := measure(ctx, local)
	if err != nil {
		return err
	}
	if before.answer != after.answer {
		return fmt.Errorf("the answer changed from %s to %s", before.answer, after.answer)
	}
	fmt.Fprintf(out, "The same query, the same answer (%s):\n\n", after.answer)
	printComparison(out, before, after)
	abs, err := filepath.Abs(o.warehouse)
	if err != nil {
		abs = o.warehouse
	}
	fmt.Fprintf(out, `
Go on looking with any MySQL client:

  %s serve --warehouse %s
  mysql -h 127.0.0.1 -P 3306 -u root demo

  mysql> CALL show_clustering(table => 'demo.trips');
  mysql> SELECT city, COUNT(*) FROM trips GROUP BY city;
  mysql> CALL show_scan_stats();
`, os.Args[0], abs)
	return nil
}

// measurement is one run of the demo query.
type measurement struct {
	answer string
	files  int64 // of the table
	stats  engine.ScanStats
	took   time.Duration
}

// measure runs the query three times and keeps the fastest, so that both sides are warm.
func measure(ctx context.Context, local *localEngine) (measurement, error) {
	var best measurement
	for i := range 3 {
		began := time.Now()
		res, err := local.query(ctx, demoQuery)
		if err != nil {
			return best, err
		}
		took := time.Since(began)
		if i == 0 || took < best.took {
			best = measurement{answer: strings.Join(res.rows[0], " trips, "), stats: local.scanStats(), took: took}
			best.files = best.stats.FilesTotal
		}
	}
	return best, nil
}

func printComparison(out io.Writer, a, b measurement) {
	w := tabwriter.NewWriter(out, 2, 0, 3, ' ', tabwriter.AlignRight)
	line := func(name, before, after, ratio string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", name, before, after, ratio)
	}
	count := func(name string, before, after int64) {
		line(name, thousands(before), thousands(after), ratio(float64(before), float64(after)))
	}
	line("", "before", "after", "")
	count("files in the table", a.files, b.files)
	count("files read", a.stats.FilesRead, b.stats.FilesRead)
	count("row groups read", a.stats.RowGroupsRead, b.stats.RowGroupsRead)
	count("rows read", a.stats.RowsRead, b.stats.RowsRead)
	count("bytes read", a.stats.BytesRead, b.stats.BytesRead)
	line("time", a.took.Round(10*time.Microsecond).String(), b.took.Round(10*time.Microsecond).String(), ratio(float64(a.took), float64(b.took)))
	w.Flush()
}

func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.1fx less", a/b)
}

func perSecond(n int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(float64(n) / d.Seconds())
}

// thousands writes a count with separators.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

var demoCities = []string{"Lisbon", "Porto", "Braga", "Faro", "Madrid", "Sevilla", "Bilbao", "Paris", "Lyon", "Nantes",
	"Berlin", "Hamburg", "Leipzig", "Wien", "Graz", "Roma", "Napoli", "Torino", "Athens", "Patras"}

// writeTrips commits the files one after the other: each holds a stretch of time in which trips
// of all cities arrive, a little out of order.
func writeTrips(ctx context.Context, w *engine.Warehouse, o demoOptions) error {
	t, err := w.Table(ctx, "demo", "trips")
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	// Ten days, whatever the number of rows.
	step := (10 * 24 * time.Hour).Microseconds() / (int64(o.files) * int64(o.rows))
	id := int64(0)
	for range o.files {
		write, err := t.BeginInsert(ctx, engine.InsertOptions{})
		if err != nil {
			return err
		}
		s := write.Schema()
		cols := make([]*column.Builder, len(s.Fields))
		for i, f := range s.Fields {
			cols[i] = column.NewBuilder(f.Type, o.rows)
		}
		for range o.rows {
			cols[0].AppendInt64(id)
			cols[1].AppendInt64(start + id*step + rnd.Int64N(600e6))
			cols[2].AppendBytes([]byte(demoCities[rnd.IntN(len(demoCities))]))
			cols[3].AppendInt64(rnd.Int64N(200000))
			cols[4].AppendInt64(300 + rnd.Int64N(8000))
			cols[5].AppendFloat64(float64(rnd.IntN(40000)) / 1000)
			cols[6].AppendBytes([]byte(fmt.Sprintf("trip %d of rider group %d", id, id%977)))
			id++
		}
		b := &column.Batch{Schema: s, Len: o.rows}
		for _, c := range cols {
			b.Cols = append(b.Cols, c.Finish())
		}
		if err := write.Insert(ctx, b); err != nil {
			return err
		}
		if _, err := write.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}
