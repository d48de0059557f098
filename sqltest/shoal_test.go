package sqltest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/shoaldb/shoal/engine"
	"github.com/shoaldb/shoal/server"
)

func init() { startServer = startShoal }

// startShoal serves a fresh warehouse on a free port.
func startShoal(t *testing.T, tempDir string) string {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	w, err := engine.OpenWarehouse(t.Context(), engine.Options{Root: t.TempDir(), AllowPaths: []string{tempDir}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Warehouse: w, Listen: "127.0.0.1:0", Logger: log, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return fmt.Sprintf("root@tcp(%s)/", s.Addr())
}
