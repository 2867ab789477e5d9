package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
)

// asDaemon makes the test binary play taproomd: "serves", or what it does instead.
const asDaemon = "TAPROOM_TEST_AS_DAEMON"

func TestMain(m *testing.M) {
	if how := os.Getenv(asDaemon); how == "parent" {
		os.Exit(parent())
	} else if how != "" {
		os.Exit(play(how, os.Args[len(os.Args)-1]))
	}
	hosttest.Main(m)
}

// play is a daemon with the given root. One that serves counts its starts in the file "starts".
func play(how, root string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	say := map[string]string{"serves": "READY=1", "mumbles": "STATUS=thinking"}[how]
	switch how {
	case "dies":
		fmt.Fprintln(os.Stderr, "no QEMU here")
		return 3
	case "serves":
		f, err := os.OpenFile(filepath.Join(root, "starts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return 1
		}
		_, _ = f.WriteString("x")
		_ = f.Close()
	case "hangs":
		fmt.Fprintln(os.Stdout, "hanging")
	}
	if say != "" {
		c, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
		if err != nil {
			return 1
		}
		_, _ = c.Write([]byte(say))
		_ = c.Close()
	}
	<-ctx.Done()
	return 0
}

// start starts a daemon that behaves as named, below a folder for temporary files of the test's own.
func start(t *testing.T, ctx context.Context, how string) (*Daemon, string, error) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv(asDaemon, how)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Start(ctx, self)
	return d, temp, err
}

func TestADaemonIsStoppedKilledAndStartedAgainBelowItsFolder(t *testing.T) {
	d, temp, err := start(t, t.Context(), "serves")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{d.Stop, d.Kill, d.Stop} {
		if err := unix.Kill(d.PID(), 0); err != nil {
			t.Errorf("it does not run: %v", err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		if err := unix.Kill(d.PID(), 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("it still runs: %v", err)
		}
		if err := d.Run(t.Context(), self); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.Stop(), d.Stop()); err != nil { // the second finds it ended
		t.Error(err)
	}
	if starts, err := os.ReadFile(filepath.Join(d.Root, "starts")); string(starts) != "xxxx" || err != nil {
		t.Errorf("it started %q times, %v; want four, in one folder", starts, err)
	}
	if want := filepath.Join(d.Root, "run/libvirt/libvirt-sock"); d.Socket() != want {
		t.Errorf("its socket is %s, want %s", d.Socket(), want)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestADaemonThatDoesNotServeIsAnErrorAndLeavesNothing(t *testing.T) {
	for how, want := range map[string]string{
		"dies":    "no QEMU here",
		"mumbles": `the daemon said "STATUS=thinking" instead of READY=1`,
	} {
		t.Run(how, func(t *testing.T) {
			d, temp, err := start(t, t.Context(), how)
			if d != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, %v; want %q", d, err, want)
			}
			if left, err := os.ReadDir(temp); len(left) != 0 || err != nil {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

func TestAnInterruptEndsTheWaitAndTheDaemon(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, temp, err := start(t, ctx, "hangs")
	if d != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v; want context.Canceled", d, err)
	}
	if left, err := os.ReadDir(temp); len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestAProgramThatIsNotThereIsNamed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := Start(t.Context(), "/nonexistent/taproomd"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/nonexistent/taproomd") {
		t.Errorf("error %v, want the program's path", err)
	}
}
