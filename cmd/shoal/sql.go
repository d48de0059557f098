package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	gsql "github.com/dolthub/go-mysql-server/sql"
	"github.com/spf13/cobra"
)

type sqlOptions struct {
	warehouseFlags
	execute  []string
	database string
	format   string
}

func newSQLCommand() *cobra.Command {
	o := sqlOptions{}
	cmd := &cobra.Command{
		Use:   "sql [file|-]",
		Short: "Run statements on a warehouse, without a server",
		Long: `sql runs the statements given with -e, then those of a file or, for -, of the standard input.
The first that fails ends it, with exit code 1. It may run while a server serves the warehouse.

Formats: table, as the mysql client draws it; csv, with NULL as an empty field and the empty string
as ""; json, an array of objects for each result, one object a line, with bytes in base64.
Warnings and notes go to the standard error output.`,
		Example: `  shoal sql --execute "CREATE DATABASE d" -e "CREATE TABLE d.t (id INT PRIMARY KEY, name STRING) USING hudi"
  shoal sql --database d --format json -e "SELECT * FROM t"
  shoal sql --warehouse /data/lake script.sql
  shoal sql --format csv - < questions.sql
  shoal sql --config shoal.properties --catalog /var/lib/shoal/catalog.db --memory-limit 2GiB load.sql
  shoal sql -e "CALL run_clustering(table => 'd.t', order => 'name')"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSQL(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o, args)
		},
	}
	o.register(cmd)
	f := cmd.Flags()
	f.StringArrayVarP(&o.execute, "execute", "e", nil, "statements to run (repeatable)")
	f.StringVarP(&o.database, "database", "D", "", "database to begin in")
	f.StringVar(&o.format, "format", "table", "table, csv or json")
	return cmd
}

func runSQL(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, o sqlOptions, args []string) (err error) {
	if len(o.execute) == 0 && len(args) == 0 {
		return errors.New("nothing to run: give statements with -e, a file, or - for the standard input")
	}
	out, err := newOutput(o.format, stdout)
	if err != nil {
		return err
	}
	texts := o.execute
	for _, name := range args {
		b, err := readInput(stdin, name)
		if err != nil {
			return err
		}
		texts = append(texts, string(b))
	}
	local, err := openLocal(ctx, localOptions{warehouse: o.dir, catalog: o.catalog, config: o.config, memory: int64(o.memory), database: o.database})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()
	for _, text := range texts {
		err := local.script(ctx, text, out, func(ws []*gsql.Warning) {
			for i := len(ws) - 1; i >= 0; i-- { // the oldest first
				fmt.Fprintf(stderr, "%s (Code %d): %s\n", ws[i].Level, ws[i].Code, ws[i].Message)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}
