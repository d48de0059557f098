package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shoaldb/shoal/clustering"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/server"
)

// passwordVariable holds the password of a server that has no --password-file.
const passwordVariable = "SHOAL_PASSWORD"

type serveOptions struct {
	warehouseFlags
	listen         string
	allow          []string
	user           string
	passwordFile   string
	tlsCert        string
	tlsKey         string
	maxConnections int
	logLevel       string
	logFormat      string
}

func newServeCommand() *cobra.Command {
	o := serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a warehouse to MySQL clients",
		Long: `serve lets MySQL clients work with the Hudi tables of a warehouse: those it makes, and those
that other engines made there. Each folder of the warehouse is a database; tables that lie in
the warehouse itself are in the database "default".

The account ` + server.DefaultUser + ` has every privilege. Without a password it can log in from this machine only,
and the server listens nowhere else. Give a password with --password-file or the environment
variable ` + passwordVariable + `. Further accounts are made with CREATE USER and GRANT and are kept in the
warehouse.

Statements may read files (LOAD DATA INFILE, import_files, attach_table) below the warehouse and
the folders of --allow-path only.

The file of --config has a key a line, in Java's properties form, such as
hoodie.parquet.small.file.limit=0; it holds for all tables that say nothing else.

The server ends on SIGTERM or SIGINT, after the statements that run; on a second one at once.`,
		Example: `  shoal serve --warehouse /data/lake
  shoal serve --listen 0.0.0.0:3306 --password-file /run/secrets/shoal --tls-cert cert.pem --tls-key key.pem
  SHOAL_PASSWORD=secret shoal serve --listen :3306 --user ada --max-connections 200
  shoal serve --allow-path /data/incoming --allow-path /data/archive --config shoal.properties
  shoal serve --catalog /var/lib/shoal/catalog.db --memory-limit 2GiB --log-level debug --log-format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o)
		},
	}
	o.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.listen, "listen", "l", server.DefaultListen, "host:port to listen on; port 0 is any free one")
	f.StringArrayVar(&o.allow, "allow-path", nil, "folder outside the warehouse whose files statements may name (repeatable)")
	f.StringVarP(&o.user, "user", "u", server.DefaultUser, "account with every privilege")
	f.StringVar(&o.passwordFile, "password-file", "", "file with the account's password (default: the environment variable "+passwordVariable+")")
	f.StringVar(&o.tlsCert, "tls-cert", "", "certificate to offer TLS with (PEM)")
	f.StringVar(&o.tlsKey, "tls-key", "", "key of the certificate (PEM)")
	f.IntVar(&o.maxConnections, "max-connections", server.DefaultMaxConnections, "clients let in at once")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	return cmd
}

func serve(ctx context.Context, stdout, stderr io.Writer, o serveOptions) (err error) {
	log, err := newLogger(stderr, o.logLevel, o.logFormat)
	if err != nil {
		return err
	}
	password, err := readPassword(o.passwordFile)
	if err != nil {
		return err
	}
	w, err := o.open(ctx, log, o.allow...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	s, err := server.New(server.Config{
		Warehouse:      w,
		Clustering:     clustering.NewService(w, clustering.Options{MemoryBytes: int64(o.memory)}),
		Listen:         o.listen,
		TLSCert:        o.tlsCert,
		TLSKey:         o.tlsKey,
		User:           o.user,
		Password:       password,
		MaxConnections: o.maxConnections,
		Logger:         log,
		Version:        shortVersion(),
	})
	if err != nil {
		return err
	}
	logServed(ctx, log, w)
	log.Info("listening", "address", s.Addr().String(), "version", s.SQL().Version, "tls", o.tlsCert != "", "password", password != "")
	if _, err := fmt.Fprintf(stdout, "ready: %s\n", connectCommand(s.Addr(), o.user, password != "")); err != nil {
		return errors.Join(err, s.Close())
	}
	err = s.Serve(ctx)
	log.Info("stopped")
	return err
}

// logServed says what there is, and what is wrong with what there is not.
func logServed(ctx context.Context, log *slog.Logger, w *engine.Warehouse) {
	broken := w.BrokenTables(ctx)
	databases := w.Databases()
	tables := 0
	for _, db := range databases {
		names, err := w.Tables(db)
		if err != nil {
			continue // dropped meanwhile
		}
		tables += len(names)
		log.Info("database", "name", db, "tables", len(names))
	}
	log.Info("serving", "warehouse", w.Root(), "databases", len(databases), "tables", tables-len(broken), "broken", len(broken))
	names := make([]string, 0, len(broken))
	for n := range broken {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		log.Warn("table cannot be served", "table", n, "reason", broken[n])
	}
}

// connectCommand is how to connect with the mysql client.
func connectCommand(addr net.Addr, user string, password bool) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	text := fmt.Sprintf("mysql -h %s -P %s -u %s", host, port, user)
	if password {
		text += " -p"
	}
	return text
}

// readPassword reads the password from a file, without the newline at its end, or else from the
// environment.
func readPassword(file string) (string, error) {
	if file == "" {
		return os.Getenv(passwordVariable), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	p := strings.TrimRight(string(b), "\r\n")
	if p == "" {
		return "", fmt.Errorf("password: %s is empty", file)
	}
	return p, nil
}

func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: it is debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("--log-format %q: it is text or json", format)
}
