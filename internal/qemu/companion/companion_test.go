package companion

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/launch"
)

// asLauncher makes the test binary play taproom-launch: it is started with one argument, the number of a descriptor.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && !strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, launch.Main(os.Args[1:]))
		os.Exit(1)
	}
	hosttest.Main(m)
}

const uid = 61236

// shell is a companion that runs a script; the socket that it serves is its descriptor 3.
func shell(t *testing.T, script string) Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return Spec{
		Program: Program{Name: "sh", Args: []string{"/bin/sh", "-c", script}, UID: uid, GID: uid},
		Device:  "dev0", RunDir: dir, Launcher: self, LogPath: filepath.Join(dir, "log"),
	}
}

// listens is a program that reads one connection's first line and says it.
const listens = `exec python3 -c "
import socket
c, _ = socket.socket(fileno=3).accept()
print(c.makefile().readline(), end='', flush=True)
c.makefile('w').write('hello')
"`

func TestACompanionServesTheSocketThatItWasGiven(t *testing.T) {
	t.Parallel()
	k, s := host.New(host.Options{}), shell(t, listens)
	p, conn, err := Start(t.Context(), k, s)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.WriteString("from QEMU\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(conn).ReadString(0); got != "hello" {
		t.Errorf("it answered %q, %v", got, err)
	}
	<-p.Exited()
	if p.How() != "exit status 0" {
		t.Errorf("it %s", p.How())
	}
	if log, err := os.ReadFile(s.LogPath); err != nil || string(log) != "from QEMU\n" {
		t.Errorf("it said %q, %v", log, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A companion that dies must not leave QEMU waiting for an answer.
func TestTheConnectionBreaksWithTheCompanion(t *testing.T) {
	t.Parallel()
	p, conn, err := Start(t.Context(), host.New(host.Options{}), shell(t, "exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
	if p.How() != "exit status 3" {
		t.Errorf("it %s", p.How())
	}
	if err := errors.Join(conn.Close(), p.Close()); err != nil {
		t.Error(err)
	}
}

func TestAnotherDaemonAdoptsACompanionAndNoticesItsEnd(t *testing.T) {
	t.Parallel()
	k, s := host.New(host.Options{}), shell(t, "exec sleep 1000")
	first, conn, err := Start(t.Context(), k, s)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	second, err := Adopt(t.Context(), k, s.RunDir, s.Device)
	if err != nil || second.PID != first.PID {
		t.Fatalf("adopted %+v, %v; want process %d", second, err, first.PID)
	}
	select {
	case <-second.Exited():
		t.Error("it is taken to have ended")
	default:
	}
	if err := unix.Kill(first.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-second.Exited()
	<-first.Exited()
	third, err := Adopt(t.Context(), k, s.RunDir, s.Device)
	if err != nil {
		t.Fatal(err)
	}
	<-third.Exited()
	for _, p := range []*Process{first, second, third} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		<-p.Closed()
	}
}

// One whose device was unplugged ends when QEMU hangs up, one that does not is killed, and one that had ended is just tidied up
// after; of none there is a file left, so that a device of the same name can come.
func TestACompanionEndsWithItsDevice(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ script, how string }{
		"ends by itself": {`exec python3 -c "import socket; socket.socket(fileno=3).accept()[0].recv(1)"`, "exit status 0"}, "does not": {"exec sleep 1000", "ended by signal 9 (SIGKILL)"}, "has ended": {"exit 3", "exit status 3"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			k, s := host.New(host.Options{}), shell(t, c.script)
			p, conn, err := Start(t.Context(), k, s)
			if err != nil {
				t.Fatal(err)
			}
			if what == "has ended" {
				<-p.Exited()
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			within := time.Minute
			if what == "does not" {
				within = 0
			}
			if err := p.End(t.Context(), k, s.RunDir, within); err != nil {
				t.Error(err)
			}
			if p.How() != c.how {
				t.Errorf("it %s, want %s", p.How(), c.how)
			}
			if left, err := filepath.Glob(filepath.Join(s.RunDir, s.Device+"*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func TestWhatCannotBeExecutedIsReported(t *testing.T) {
	t.Parallel()
	s := shell(t, "")
	s.Program.Args[0] = "/none"
	_, _, err := Start(t.Context(), host.New(host.Options{}), s)
	if err == nil || !strings.HasPrefix(err.Error(), "start sh for dev0: ") || !strings.Contains(err.Error(), "/none") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramThatIsRunHasToEndWell(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	if err := Run(t.Context(), k, shell(t, "pwd; id -u")); err != nil {
		t.Error(err)
	}
	s := shell(t, "exit 4")
	if err := Run(t.Context(), k, s); err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), s.LogPath) {
		t.Errorf("got %v", err)
	}
}

// Whoever gives up a program finds nothing of it: its files may be removed, and it runs nowhere.
func TestAProgramThatIsNotWaitedForIsGone(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	s := shell(t, "trap '' TERM; echo $$; while :; do sleep 1; done")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- Run(ctx, k, s) }()
	pid := 0
	for deadline := time.Now().Add(time.Minute); pid == 0; {
		b, _ := os.ReadFile(s.LogPath)
		if line, _, ok := strings.Cut(string(b), "\n"); ok {
			pid, _ = strconv.Atoi(line)
		}
		if time.Now().After(deadline) {
			t.Fatalf("it has not said its number: %q", b)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was not waited for", err)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("process %d is there still: %v", pid, err)
	}
}
