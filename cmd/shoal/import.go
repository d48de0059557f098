package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/ingest"
)

type importOptions struct {
	warehouseFlags
	table       string
	format      string
	header      string
	delimiter   string
	null        string
	ignoreExtra bool
	create      bool
	key         []string
	partition   []string
	set         []string
}

func newImportCommand() *cobra.Command {
	o := importOptions{}
	cmd := &cobra.Command{
		Use:   "import --table database.table file...",
		Short: "Insert Parquet and CSV files into a table, in one commit",
		Long: `import inserts the rows of files into a table: all of them in one commit, or none. A file is
Parquet or CSV, also compressed with gzip or zstd; a folder means the files in it, and a pattern
those that match.

With --create a table that does not exist is made from the columns of the first file.`,
		Example: `  shoal import --table demo.trips trips-2026-03.parquet
  shoal import --table demo.zones --create --primary-key id zones.csv
  shoal import --table demo.events --create --partition-by day --delimiter '\t' 'events/*.tsv.gz'
  shoal import --table demo.zones --format csv --header false --null '\N' --ignore-extra zones.txt
  shoal import --warehouse /data/lake --table d.t --set hoodie.datasource.insert.dup.policy=drop new.parquet
  shoal import --config shoal.properties --catalog /var/lib/shoal/catalog.db --memory-limit 2GiB --table d.t big.parquet`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImport(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o, args)
		},
	}
	o.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.table, "table", "t", "", "table to insert into: database.table")
	f.StringVar(&o.format, "format", "auto", "auto, parquet or csv")
	f.StringVar(&o.header, "header", "auto", "whether the first line of a CSV file names the columns: auto, true or false")
	f.StringVar(&o.delimiter, "delimiter", "", `of CSV fields, one character or \t (default: told by the file)`)
	f.StringVar(&o.null, "null", "", "CSV field that means NULL")
	f.BoolVar(&o.ignoreExtra, "ignore-extra", false, "pass over columns of the files that the table lacks")
	f.BoolVar(&o.create, "create", false, "make the table, and its database, if missing")
	f.StringSliceVar(&o.key, "primary-key", nil, "columns of the key, with --create (default: keys are generated)")
	f.StringSliceVar(&o.partition, "partition-by", nil, "partition columns, with --create")
	f.StringArrayVar(&o.set, "set", nil, "hoodie.key=value for this import, or for the table with --create (repeatable)")
	if err := cmd.MarkFlagRequired("table"); err != nil {
		panic(err) // the flag is registered above
	}
	return cmd
}

// ingestOptions reads the flags about files.
func (o *importOptions) ingestOptions() (ingest.Options, error) {
	out := ingest.Options{NullText: o.null, IgnoreExtra: o.ignoreExtra}
	var err error
	if out.Format, err = ingest.ParseFormat(o.format); err != nil {
		return out, err
	}
	switch o.header {
	case "auto":
	case "true":
		out.Header = ingest.HeaderPresent
	case "false":
		out.Header = ingest.HeaderAbsent
	default:
		return out, fmt.Errorf("--header %q: it is auto, true or false", o.header)
	}
	if d := strings.ReplaceAll(o.delimiter, `\t`, "\t"); d != "" {
		r, n := utf8.DecodeRuneInString(d)
		if n != len(d) || r == utf8.RuneError {
			return out, fmt.Errorf("--delimiter %q: it is one character", o.delimiter)
		}
		out.Delimiter = r
	}
	return out, nil
}

func runImport(ctx context.Context, stdout, stderr io.Writer, o importOptions, patterns []string) (err error) {
	how, err := o.ingestOptions()
	if err != nil {
		return err
	}
	options, err := engine.ParseOptions(strings.Join(o.set, "\n"))
	if err != nil {
		return err
	}
	var paths []string
	for _, p := range patterns {
		found, err := ingest.Expand(p)
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w, err := o.open(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	began := time.Now()
	t, err := o.openTable(ctx, w, paths[0], how, options)
	if err != nil {
		return err
	}
	done, commit, err := importInto(ctx, t, paths, how, options)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d rows of %d files (%d bytes) into %s.%s in %s, commit %s\n",
		commit.RowsWritten, done.Files, done.Bytes, t.Database(), t.Name(), time.Since(began).Round(time.Millisecond), commit.Instant)
	if commit.RowsDropped > 0 && err == nil {
		_, err = fmt.Fprintf(stdout, "%d rows with keys that exist were left out\n", commit.RowsDropped)
	}
	return err
}

// importInto inserts files in one commit.
func importInto(ctx context.Context, t *engine.Table, paths []string, o ingest.Options, options map[string]string) (ingest.Result, engine.CommitResult, error) {
	w, err := t.BeginInsert(ctx, engine.InsertOptions{Config: t.Options(options), Operation: "BULK_INSERT"})
	if err != nil {
		return ingest.Result{}, engine.CommitResult{}, err
	}
	done, err := ingest.Import(ctx, w, paths, o)
	var commit engine.CommitResult
	if err == nil {
		commit, err = w.Commit(ctx)
	}
	if err != nil {
		return done, commit, errors.Join(err, w.Abort(context.WithoutCancel(ctx)))
	}
	return done, commit, nil
}

// openTable opens the table, or makes it after the first file.
func (o *importOptions) openTable(ctx context.Context, w *engine.Warehouse, path string, how ingest.Options, options map[string]string) (*engine.Table, error) {
	db, name, ok := strings.Cut(o.table, ".")
	if !ok {
		db, name = engine.DefaultDatabase, o.table
	}
	t, err := w.Table(ctx, db, name)
	missing := errors.Is(err, engine.ErrNoSuchTable) || errors.Is(err, engine.ErrNoSuchDatabase)
	switch {
	case err == nil && (len(o.key) > 0 || len(o.partition) > 0):
		return nil, fmt.Errorf("table %s exists: its key and partitions are what they are", o.table)
	case err == nil || !missing:
		return t, err
	case !o.create:
		return nil, fmt.Errorf("%w; --create makes it from the columns of the file", err)
	}
	s, err := ingest.InferSchema(ctx, path, how)
	if err != nil {
		return nil, err
	}
	for _, k := range o.key {
		if i := s.IndexFold(k); i >= 0 {
			s.Fields[i].Nullable = false
		}
	}
	if _, ok := w.HasDatabase(db); !ok {
		if err := w.CreateDatabase(ctx, db); err != nil {
			return nil, err
		}
	}
	return w.CreateTable(ctx, db, name, engine.TableSpec{Schema: s, RecordKey: o.key, Partition: o.partition, Properties: options})
}
