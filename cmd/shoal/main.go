// Command shoal is ShoalDB: it serves the Hudi tables of a folder to MySQL clients, and works on
// them by itself.
//
// Each subcommand has a file of its name; warehouse.go has the flags that they share, local.go the
// SQL engine in this process, output.go the forms of results.
//
// Invariants:
//
//	I1  The exit code is 0, or 1 with the error on stderr: as "ERROR code (state): message" if a
//	    statement failed. How to use a command is printed only when it is asked for.
//	I2  What a command was run for goes to stdout; warnings and the log go to stderr.
//	I3  A warehouse that was opened is closed, also after an error or a signal.
//	I4  A password is read from a file or the environment, never from the command line, where other
//	    users of the machine could see it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/dolthub/vitess/go/mysql"
	"github.com/spf13/cobra"
)

func main() {
	// The second signal ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes a command line and returns its exit code: 0, or 1 with the error on stderr.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(stderr, errorLine(err))
		return 1
	}
	return 0
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "shoal",
		Short: "A table engine for Apache Hudi tables with a MySQL interface",
		Long: `ShoalDB serves the Apache Hudi tables of a folder, the warehouse, to MySQL clients and
keeps their files well laid out while they are written: it clusters them.`,
		Example: `  shoal demo
  shoal serve --warehouse ./warehouse
  shoal sql -e "SELECT * FROM trips LIMIT 10" --database demo`,
		SilenceUsage:  true, // an error of a statement is not one of the command line
		SilenceErrors: true,
		Version:       versionText(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (see %s --help)", err, c.CommandPath())
	})
	root.AddCommand(newServeCommand(), newSQLCommand(), newImportCommand(), newDemoCommand(), newVersionCommand())
	return root
}

// errorLine is an error as the mysql client prints it, if it came from a statement.
func errorLine(err error) string {
	var e *mysql.SQLError
	if errors.As(err, &e) {
		return fmt.Sprintf("ERROR %d (%s): %s", e.Num, e.State, e.Message)
	}
	return "shoal: " + err.Error()
}
