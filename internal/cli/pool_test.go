package cli_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/appliance/pool"
	"taproom/internal/host"
)

// answer serves a socket until the test ends: whoever connects gets a line, and is hung up on.
func answer(t *testing.T, k *host.Kernel, socket, line string) {
	t.Helper()
	f, err := k.ListenUnix(socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1024)) // what is asked
			_, _ = c.Write([]byte(line))
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
}

func TestAPoolThatTalksNonsenseHidesNoOther(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pool") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	k := host.New(host.Options{})
	t.Cleanup(k.Close)
	odd := filepath.Join(dir, "pool-a.sock")
	answer(t, k, odd, "nonsense\n")
	answer(t, k, filepath.Join(dir, "pool-b.sock"), `{"protocol":1,"status":{"pid":7,"ready":3}}`+"\n")
	got := run(t, nil, "appliance", "pool", "--dir", dir, "--status")
	if got.code != 1 || !strings.HasPrefix(got.out, "process 7: 3 ready,") || !strings.Contains(got.err, odd) {
		t.Errorf("%+v, want the other's status, exit code 1, and what is wrong with %s", got, odd)
	}
	if err := os.Remove(odd); err != nil {
		t.Fatal(err)
	}
	if got := run(t, nil, "appliance", "pool", "--dir", dir, "--status"); got.code != 0 {
		t.Errorf("the other alone: %+v", got)
	}
	if got := run(t, nil, "appliance", "pool", "--dir", filepath.Join(dir, "none"), "--status"); !strings.Contains(got.err, pool.ErrNoPool.Error()) {
		t.Errorf("in no folder: %+v", got)
	}
}
