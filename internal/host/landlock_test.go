package host_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// restricted runs f on a thread of its own that l was applied to; the thread dies with it.
func restricted(t *testing.T, l host.Landlock, f func()) {
	t.Helper()
	errs := make(chan error)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the main thread cannot be given up
			inner := make(chan struct{})
			go func() { defer close(inner); runtime.LockOSThread(); apply(l, errs, f) }()
			<-inner
			runtime.UnlockOSThread()
			return
		}
		apply(l, errs, f)
	}()
	err := <-errs
	<-done
	hosttest.Needs(t, err, hosttest.Lift{})
}

func apply(l host.Landlock, errs chan<- error, f func()) {
	_, err := l.RestrictThread()
	if err == nil {
		f()
	}
	errs <- err
}

func TestLandlockDeniesWhatItWasNotGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{"ro", "rw", "none"} {
		must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, d, "f"), nil, 0o644))
	}
	file := filepath.Join(dir, "single")
	must(t, os.WriteFile(file, []byte("x"), 0o644))
	l := host.Landlock{ReadOnly: []string{filepath.Join(dir, "ro")}, ReadWrite: []string{filepath.Join(dir, "rw"), file}, ReadExec: []string{"/bin"}}
	restricted(t, l, func() {
		for _, c := range []struct {
			what    string
			do      func() error
			allowed bool
		}{
			{"read below ro", func() error { _, err := os.ReadFile(filepath.Join(dir, "ro/f")); return err }, true},
			{"write below ro", func() error { return os.WriteFile(filepath.Join(dir, "ro/f"), nil, 0) }, false},
			{"create below ro", func() error { return os.WriteFile(filepath.Join(dir, "ro/g"), nil, 0o600) }, false},
			{"create below rw", func() error { return os.WriteFile(filepath.Join(dir, "rw/g"), nil, 0o600) }, true},
			{"remove below rw", func() error { return os.Remove(filepath.Join(dir, "rw/g")) }, true},
			{"write the single file", func() error { return os.WriteFile(file, []byte("y"), 0) }, true},
			{"read elsewhere", func() error { _, err := os.ReadFile(filepath.Join(dir, "none/f")); return err }, false},
			{"list elsewhere", func() error { _, err := os.ReadDir(filepath.Join(dir, "none")); return err }, false},
		} {
			if err := c.do(); (err == nil) != c.allowed || err != nil && !errors.Is(err, unix.EACCES) {
				t.Errorf("%s: %v, want allowed = %v", c.what, err, c.allowed)
			}
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "ro/g"), nil, 0o600); err != nil {
		t.Errorf("the rest of the process was restricted too: %v", err)
	}
}

func TestLandlockGuardsTCPPortsWhereTheKernelCan(t *testing.T) {
	t.Parallel()
	abi, err := host.LandlockABI()
	if err == nil && abi < 4 {
		err = &host.Missing{What: "Landlock for TCP", Config: "Linux 6.7", Err: unix.EINVAL}
	}
	hosttest.Needs(t, err, hosttest.Lift{Since: "6.12"})
	open, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer open.Close()
	shut, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer shut.Close()
	port := uint16(open.Addr().(*net.TCPAddr).Port)
	restricted(t, host.Landlock{ConnectTCP: []uint16{port}}, func() {
		if err := connect(open.Addr()); err != nil {
			t.Errorf("connect to the port that was named: %v", err)
		}
		if err := connect(shut.Addr()); !errors.Is(err, unix.EACCES) {
			t.Errorf("connect to another port: %v, want EACCES", err)
		}
	})
}

// connect connects on the calling thread; net.Dial would leave that to one of its own choosing.
func connect(a net.Addr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: a.(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}})
}

func TestLandlockNamesThePathThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := host.LandlockABI()
	hosttest.Needs(t, err, hosttest.Lift{})
	_, err = host.Landlock{ReadOnly: []string{"/nonexistent/x"}}.RestrictThread()
	if !errors.Is(err, unix.ENOENT) || err.Error() != "allow /nonexistent/x: no such file or directory" {
		t.Errorf("got %v", err)
	}
}
