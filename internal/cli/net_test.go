package cli_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/cli"
	"taproom/internal/engine"
	"taproom/internal/host/hosttest"
)

// pretend serves a daemon in memory below a root.
func pretend(t *testing.T) (*servertest.Fake, string, *server.Server) {
	t.Helper()
	root, err := os.MkdirTemp("", "tr-") // short: unix sockets have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	path := engine.NewPaths(root).ControlSocket()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f := servertest.New()
	for _, n := range []string{"default", "lab"} {
		if _, err := f.DefineNetwork(t.Context(), "<network><name>"+n+"</name><bridge name='br-"+n+"'/></network>", 0); err != nil {
			t.Fatal(err)
		}
	}
	s := server.New(t.Context(), server.Options{Backend: f})
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(l, false); !errors.Is(err, server.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hosttest.Patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shut down: %v", err)
		}
		serving.Wait()
		_ = os.RemoveAll(root)
	})
	return f, root, s
}

// following is a command line that goes on.
type following struct {
	t     *testing.T
	lines *bufio.Scanner
	errs  strings.Builder
	end   context.CancelFunc
	code  chan int
}

func startFollowing(t *testing.T, args ...string) *following {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	f := &following{t: t, lines: bufio.NewScanner(r), end: cancel, code: make(chan int, 1)}
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: w, Stderr: &f.errs}
	go func() {
		f.code <- cli.Main(ctx, env, args)
		w.Close()
	}()
	return f
}

func (f *following) prints(want ...string) {
	f.t.Helper()
	var got []string
	for range want {
		if !f.lines.Scan() {
			break
		}
		got = append(got, strings.TrimSpace(f.lines.Text()))
	}
	if d := cmp.Diff(want, got); d != "" {
		f.t.Errorf("(-want +got):\n%s", d)
	}
}

func (f *following) ends(code int, why string) {
	f.t.Helper()
	if f.lines.Scan() {
		f.t.Errorf("printed %q too", f.lines.Text())
	}
	if got := <-f.code; got != code || f.errs.String() != why {
		f.t.Errorf("ended with %d, want %d, and said %q", got, code, f.errs.String())
	}
}

func TestLeasesAreFollowedUntilTheCommandIsInterrupted(t *testing.T) {
	t.Parallel()
	d, root, _ := pretend(t)
	at := time.Unix(servertest.FakeLease("").Expiry, 0).Format(time.DateTime)
	line := func(kind, network string) string {
		return kind + "  " + network + "           " + at + "  52:54:00:00:00:01  192.168.122.17/24   guest         -"
	}
	f := startFollowing(t, "--root", root, "net", "leases", "lab", "--follow")
	f.prints(line("held", "lab"))
	d.LeaseHappens("default", own.LeaseAdded) // another network's
	d.LeaseHappens("lab", own.LeaseAdded)
	f.prints(line("add ", "lab"))
	d.LeaseHappens("lab", own.LeaseDeleted)
	d.LeaseHappens("", own.LeasesMissed)
	f.prints(line("del ", "lab"), "missed", line("held", "lab"))
	f.end()
	f.ends(cli.ExitOK, "")
}

func TestFollowedLeasesAreDocumentsForPrograms(t *testing.T) {
	t.Parallel()
	d, root, s := pretend(t)
	lease := `"lease":{"network":"default","bridge":"virbr0","address":"192.168.122.17","prefix":24,"mac":"52:54:00:00:00:01","hostname":"guest","expiry":1893456000}}`
	f := startFollowing(t, "--root", root, "net", "leases", "--follow", "--json")
	f.prints(`{"kind":"held",` + lease)
	d.LeaseHappens("default", own.LeaseRenewed)
	d.LeaseHappens("", own.LeasesMissed)
	f.prints(`{"kind":"old",`+lease, `{"kind":"missed"}`, `{"kind":"held",`+lease)
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	f.ends(cli.ExitFailed, `{"error":"the daemon sends no more events: it has ended, or they were not read fast enough; run this again","exit":1}`+"\n")
}
