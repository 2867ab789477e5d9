package host_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// pair listens at path and connects to it.
func pair(t *testing.T, k *host.Kernel, path string) (client, server net.Conn) {
	t.Helper()
	f, err := k.ListenUnix(path, 0o660)
	must(t, err)
	l, err := net.FileListener(f)
	must(t, errors.Join(err, f.Close()))
	client, err = k.DialUnix(t.Context(), path)
	must(t, err)
	server, err = l.Accept()
	must(t, errors.Join(err, l.Close()))
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestUnixSocketsWorkAtAnyPathLength(t *testing.T) {
	t.Parallel()
	for _, path := range []string{filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), strings.Repeat("d", 120), "sock")} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		var calls []string
		k := host.New(host.Options{Hook: func(c string) { calls = append(calls, c) }})
		client, server := pair(t, k, path)
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != 0o660 {
			t.Errorf("mode %v, %v, want 0660", st.Mode(), err)
		}
		if _, err := client.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 5)
		if _, err := io.ReadFull(server, buf); err != nil || string(buf) != "hello" {
			t.Errorf("received %q, %v", buf, err)
		}
		if last := calls[len(calls)-1]; last != "message "+filepath.Base(path) {
			t.Errorf("the write was announced as %q", last)
		}
		cred, err := k.PeerCredentials(server)
		if err != nil || int(cred.Pid) != os.Getpid() {
			t.Errorf("peer %+v, %v", cred, err)
		}
	}
}

// Not parallel: a program that another test starts just then has the socket open until it is executed.
func TestAStaleSocketIsReplacedAndAServedOneIsNot(t *testing.T) {
	k := host.New(host.Options{})
	path := filepath.Join(t.TempDir(), "s")
	first, err := k.ListenUnix(path, 0o600)
	must(t, err)
	if _, err := k.ListenUnix(path, 0o600); !errors.Is(err, host.ErrInUse) {
		t.Errorf("while it is served: %v, want ErrInUse", err)
	}
	must(t, first.Close())
	if _, err := k.DialUnix(t.Context(), path); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("connect to a stale one: %v, want ECONNREFUSED", err)
	}
	second, err := k.ListenUnix(path, 0o600)
	must(t, err)
	must(t, second.Close())
	file := filepath.Join(t.TempDir(), "precious")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	if _, err := k.ListenUnix(file, 0o600); err == nil {
		t.Error("a file was replaced by a socket")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.DialUnix(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("connect with a cancelled context: %v", err)
	}
}

func TestOnlyASocketThatNobodyServesIsRemoved(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	dir := t.TempDir()
	served, stale, file := filepath.Join(dir, "served"), filepath.Join(dir, "stale"), filepath.Join(dir, "file")
	f, err := k.ListenUnix(served, 0o600)
	must(t, err)
	defer f.Close()
	f, err = k.ListenUnix(stale, 0o600)
	must(t, err)
	must(t, f.Close())
	must(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{served, stale, file, filepath.Join(dir, "gone")} {
		must(t, k.RemoveSocket(path))
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if d := cmp.Diff([]string{file, served}, left); d != "" || err != nil {
		t.Errorf("left (-want +got), %v:\n%s", err, d)
	}
}

func TestDescriptorsTravelAndTooManyAreRefused(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	client, server := pair(t, k, filepath.Join(t.TempDir(), "s"))
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	must(t, k.SendFiles(client, []byte("take"), r, w))
	buf := make([]byte, 16)
	n, files, err := k.ReceiveFiles(server, buf, 2)
	if err != nil || string(buf[:n]) != "take" || len(files) != 2 {
		t.Fatalf("received %q, %d files, %v", buf[:n], len(files), err)
	}
	if _, err := files[1].Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := files[0].Read(buf); err != nil || buf[0] != 'x' {
		t.Errorf("through the received pipe: %q, %v", buf[0], err)
	}
	must(t, errors.Join(files[0].Close(), files[1].Close()))
	must(t, k.SendFiles(client, []byte("x"), r, w, r))
	if _, files, err := k.ReceiveFiles(server, buf, 1); err == nil || files != nil {
		t.Errorf("three descriptors where one was allowed: %v, %v", files, err)
	}
	if err := k.SendFiles(client, nil, r); err == nil {
		t.Error("descriptors without a byte were accepted")
	}
}

func TestASocketThatADyingChildKeepsOpenIsReplaced(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	path := filepath.Join(t.TempDir(), "s")
	first, err := k.ListenUnix(path, 0o600)
	must(t, err)
	// The child has the socket when its parent is gone already, and lets go of it when somebody has connected.
	raw, err := first.SyscallConn()
	must(t, err)
	done := make(chan error, 1)
	go func() {
		err := raw.Read(func(fd uintptr) bool { // readable: a connection waits
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0
		})
		done <- errors.Join(err, first.Close())
	}()
	second, err := k.ListenUnix(path, 0o600)
	must(t, errors.Join(err, <-done))
	must(t, second.Close())
}
