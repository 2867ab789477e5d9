package servertest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"taproom/internal/api/server"
	"taproom/internal/host/hosttest"
)

// Daemon is a server on sockets of its own.
type Daemon struct {
	Server *server.Server
	Socket string // read-write
	RO     string // read-only
}

// Serve starts a server that lives as long as the test.
func Serve(t testing.TB, o server.Options) *Daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "api") // short: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{Server: server.New(t.Context(), o), Socket: filepath.Join(dir, "rw"), RO: filepath.Join(dir, "ro")}
	var serving sync.WaitGroup
	for path, readOnly := range map[string]bool{d.Socket: false, d.RO: true} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		serving.Go(func() {
			if err := d.Server.Serve(l, readOnly); !errors.Is(err, server.ErrClosed) {
				t.Errorf("serve %s: %v", path, err)
			}
		})
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hosttest.Patience)
		defer cancel()
		if err := d.Server.Shutdown(ctx); err != nil {
			t.Errorf("shut the server down: %v", err)
		}
		serving.Wait()
		_ = os.RemoveAll(dir)
	})
	return d
}
