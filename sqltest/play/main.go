// Command play plays test scripts on a running server and prints what differs.
//
//	go run ./sqltest/play -dsn 'root@tcp(127.0.0.1:3306)/' sqltest/*.test
//
// The exit code is 0 if every script passed, 1 if a statement failed, 2 if a script could not be
// parsed or played.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/shoaldb/shoal/sqltest"
)

const (
	exitPassed = iota
	exitFailed
	exitBroken
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("play", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: play [flags] file.test …")
		flags.PrintDefaults()
	}
	dsn := flags.String("dsn", "root@tcp(127.0.0.1:3306)/", "where the server is, as user:password@tcp(host:port)/")
	mode := flags.String("mode", "both", "how statements are sent: text, prepared or both")
	rewrite := flags.Bool("rewrite", false, "write what the server gives into the scripts, where it differs")
	keep := flags.Bool("keep", false, "leave the databases of the scripts on the server")
	tmp := flags.String("tmp", "", "directory for files that the server reads (default the system's)")
	timeout := flags.Duration("timeout", time.Minute, "how long to wait for each statement")
	if err := flags.Parse(args); err != nil {
		return exitBroken
	}
	opts := sqltest.Options{Rewrite: *rewrite, KeepDatabase: *keep, TempDir: *tmp, Timeout: *timeout}
	switch *mode {
	case "text":
		opts.Modes = []sqltest.Mode{sqltest.Text}
	case "prepared":
		opts.Modes = []sqltest.Mode{sqltest.Prepared}
	case "both":
	default:
		fmt.Fprintf(stderr, "-mode %q is not text, prepared or both\n", *mode)
		return exitBroken
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return exitBroken
	}
	code := exitPassed
	for _, path := range flags.Args() {
		got, err := play(ctx, *dsn, path, opts, stdout)
		if err != nil {
			fmt.Fprintln(stderr, err)
		}
		code = max(code, got)
	}
	return code
}

func play(ctx context.Context, dsn, path string, opts sqltest.Options, stdout io.Writer) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return exitBroken, err
	}
	script, err := sqltest.Parse(path, bytes.NewReader(data))
	if err != nil {
		return exitBroken, err
	}
	start := time.Now()
	report, err := sqltest.Run(ctx, dsn, script, opts)
	if report != nil && !opts.Rewrite {
		if err := report.WriteFailures(stdout); err != nil {
			return exitBroken, err
		}
	}
	if err != nil {
		return exitBroken, err
	}
	if opts.Rewrite {
		if report.Rewritten == nil {
			fmt.Fprintf(stdout, "%s: as it is\n", path)
			return exitPassed, nil
		}
		fmt.Fprintf(stdout, "%s: rewritten\n", path)
		return exitPassed, os.WriteFile(path, report.Rewritten, 0o644)
	}
	verdict, code := "ok", exitPassed
	if report.Failed() {
		verdict, code = "FAILED", exitFailed
	}
	fmt.Fprintf(stdout, "%-6s %s (%.2fs)%s\n", verdict, path, time.Since(start).Seconds(), counts(report, opts.Modes))
	return code, nil
}

func counts(r *sqltest.Report, modes []sqltest.Mode) string {
	if len(modes) == 0 {
		modes = []sqltest.Mode{sqltest.Text, sqltest.Prepared}
	}
	s := ""
	for _, m := range modes {
		played, failed := r.Count(m)
		s += fmt.Sprintf(" %s: %d of %d", m, played-failed, played)
	}
	return s
}
