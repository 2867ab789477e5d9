package host_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

func TestWhatAProcessHasOpenOutlivesItWhereItIsKept(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	must(t, unix.Mkfifo(path, 0o600))
	both, err := os.OpenFile(path, os.O_RDWR, 0) // so that neither end waits
	must(t, err)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	p := start(t, k, host.ProcessSpec{Path: "/bin/sleep", Args: []string{"sleep", "100"}, Stdout: w})
	must(t, w.Close())
	r, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	defer r.Close()
	must(t, both.Close())
	if kept := k.KeepFiles(&p.PIDFD, dir+"/nothing"); len(kept) != 0 {
		t.Errorf("%d descriptors that were not asked for", len(kept))
	}
	kept := k.KeepFiles(&p.PIDFD, dir)
	if len(kept) != 1 {
		t.Fatalf("%d descriptors are kept, want the one", len(kept))
	}
	must(t, k.Signal(&p.PIDFD, unix.SIGKILL))
	_, err = p.Wait(t.Context())
	must(t, err)
	fd := int(r.Fd())
	if _, err := unix.Read(fd, make([]byte, 1)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("the pipe's other end is not open: %v", err)
	}
	kept.Close()
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the pipe's other end is still open: %d, %v", n, err)
	}
}
