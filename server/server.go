package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	gms "github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/shoaldb/shoal/clustering"
	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/engine/sqltable"
)

// Defaults of Config.
const (
	DefaultListen         = "127.0.0.1:3306"
	DefaultMaxConnections = 1000
	DefaultGracePeriod    = 10 * time.Second
)

// Config configures a Server. Which files of the machine users may name is the Warehouse's to say.
type Config struct {
	// Warehouse is what is served. It is not closed.
	Warehouse *engine.Warehouse
	// Clustering carries out run_clustering; nil means one with the Warehouse's memory.
	Clustering *clustering.Service
	// Listen is host:port; "" means DefaultListen, port 0 any free port.
	Listen string
	// TLSCert and TLSKey are PEM files; without them connections are not encrypted.
	TLSCert, TLSKey string
	// User is the account with every privilege; "" means DefaultUser.
	User string
	// Password of User. Without one it logs in from this machine only, and Listen must be a
	// loopback address.
	Password string
	// MaxConnections is how many clients are let in at once; 0 means DefaultMaxConnections.
	MaxConnections int
	// GracePeriod is how long Close lets statements run on; 0 means DefaultGracePeriod.
	GracePeriod time.Duration
	// Logger takes the server's events; nil means slog.Default.
	Logger *slog.Logger
	// Version of the program, part of what clients are told.
	Version string
}

// Server serves MySQL clients. New makes it listen, Serve lets clients in.
type Server struct {
	cfg     Config
	sql     *SQL
	inner   *gms.Server
	clients *clients
	addr    net.Addr
	stop    func() error
}

// New assembles the SQL engine and opens the listener, so that an address that cannot be used is
// reported here. Close must be called, also if Serve never is.
func New(cfg Config) (*Server, error) {
	if cfg.Listen == "" {
		cfg.Listen = DefaultListen
	}
	if cfg.MaxConnections <= 0 {
		cfg.MaxConnections = DefaultMaxConnections
	}
	if cfg.GracePeriod <= 0 {
		cfg.GracePeriod = DefaultGracePeriod
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Password == "" {
		if err := checkAddress(context.Background(), cfg.Listen); err != nil {
			return nil, err
		}
	}
	tlsConfig, err := loadTLS(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return nil, err
	}
	RedirectLogs(cfg.Logger)
	assembled, err := Assemble(cfg.Warehouse, cfg.Clustering, cfg.Version)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, sql: assembled, clients: newClients()}
	s.stop = sync.OnceValue(s.close)
	accounts, err := newAccounts(sql.NewEmptyContext(), assembled.Engine.Analyzer.Catalog.MySQLDb, cfg.Warehouse.Root(), cfg.User, cfg.Password)
	if err != nil {
		return nil, errors.Join(err, assembled.Close())
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, errors.Join(err, assembled.Close())
	}
	s.addr = listener.Addr()
	h := &handler{clients: s.clients, log: cfg.Logger, started: time.Now()}
	s.inner, err = gms.NewServerWithHandler(gms.Config{
		Listener:  &limitedListener{Listener: listener, limit: cfg.MaxConnections},
		Address:   s.addr.String(),
		Version:   assembled.Version,
		TLSConfig: tlsConfig,
		Options: []gms.Option{func(e *sqle.Engine, sm *gms.SessionManager, m mysql.Handler) (*sqle.Engine, *gms.SessionManager, mysql.Handler) {
			h.engine, h.sm = e, sm
			return e, sm, m
		}},
		ProtocolListenerFactory: func(c gms.Config, l mysql.ListenerConfig, e gms.ServerEventListener) (gms.ProtocolListener, error) {
			l.AuthServer = accounts
			return gms.MySQLProtocolListenerFactory(c, l, e)
		},
	}, assembled.Engine, h.newContext, newSession, nil, func(m mysql.Handler) (mysql.Handler, error) {
		inner, ok := m.(*gms.Handler)
		if !ok {
			return nil, fmt.Errorf("unexpected handler %T", m)
		}
		h.Handler = inner
		return h, nil
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close(), assembled.Close())
	}
	values := map[string]any{"max_connections": int64(cfg.MaxConnections)}
	if tlsConfig != nil {
		values["have_ssl"], values["have_openssl"] = "YES", "YES"
	}
	if err := sql.SystemVariables.AssignValues(values); err != nil {
		return nil, errors.Join(err, listener.Close(), assembled.Close())
	}
	return s, nil
}

// newSession makes the session of a connection.
func newSession(_ context.Context, c *mysql.Conn, addr string) (sql.Session, error) {
	client := sql.Client{User: c.User, Address: "localhost", Capabilities: c.Capabilities}
	if u, ok := c.UserData.(sql.MysqlConnectionUser); ok {
		client.User, client.Address = u.User, u.Host
	}
	return sqltable.NewSession(sql.NewBaseSessionWithClientServer(addr, client, c.ConnectionID)), nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.addr }

// SQL is the engine behind the listener.
func (s *Server) SQL() *SQL { return s.sql }

// Serve lets clients in until ctx is done or Close is called, and returns when everything has
// ended. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	watching, stopWatching := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { s.clients.watch(watching) })
	defer background.Wait()
	defer stopWatching()
	accepting := make(chan struct{})
	background.Go(func() {
		defer close(accepting)
		s.inner.Listener.Accept()
	})
	select {
	case <-ctx.Done():
	case <-accepting:
	}
	return s.Close()
}

// Close stops listening, lets running statements end within the grace period, then cancels them,
// and closes the connections. Further calls do nothing but wait.
func (s *Server) Close() error { return s.stop() }

func (s *Server) close() error {
	s.cfg.Logger.Info("shutting down", "clients", s.clients.count(), "grace", s.cfg.GracePeriod)
	s.inner.Listener.Close()
	s.clients.close(s.cfg.GracePeriod)
	return s.sql.Close()
}
