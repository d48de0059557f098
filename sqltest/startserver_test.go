package sqltest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/server"
)

func init() { startServer = serveFresh }

// serveFresh starts a server over an empty warehouse, on a port of its own; it may read tempDir.
func serveFresh(t *testing.T, tempDir string) string {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	w, err := engine.OpenWarehouse(context.Background(), engine.Options{Root: t.TempDir(), AllowPaths: []string{tempDir}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Warehouse: w, Listen: "127.0.0.1:0", Logger: log, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("close the warehouse: %v", err)
		}
	})
	return "root@tcp(" + s.Addr().String() + ")/"
}
