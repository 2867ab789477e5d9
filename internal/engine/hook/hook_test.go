package hook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// hooks has programs in a folder of its own, by name.
func hooks(t *testing.T, programs map[string]string) *Hooks {
	t.Helper()
	k := host.New(host.Options{})
	t.Cleanup(k.Close)
	h := &Hooks{Kernel: k, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
	for name, text := range programs {
		path := filepath.Join(h.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, "#!/bin/sh\n"+text)
	}
	return h
}

// write writes a file that will be executed. What another test forks meanwhile would have it open for writing until it is
// executed itself, and the kernel executes no such file.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := hosttest.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

var call = Call{Kind: QEMU, Object: "guest one", Operation: "prepare", Phase: "begin", Document: []byte("<domain/>\n")}

func TestWithoutProgramsNothingRuns(t *testing.T) {
	t.Parallel()
	h := hooks(t, map[string]string{"network": "exit 1"})
	if err := os.WriteFile(filepath.Join(h.Dir, "qemu"), []byte("not to be run"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := h.Run(t.Context(), call)
	if err != nil || string(out) != "<domain/>\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestProgramsRunInOrderWithWhatTheyAreToldOf(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	tell := func(name string) string {
		return `echo "` + name + ` $# <$1> <$2> <$3> <$4> $(cat)" >> ` + log + "\n"
	}
	h := hooks(t, map[string]string{"qemu": tell("qemu"), "qemu.d/20-b": tell("b"), "qemu.d/10-a": tell("a") + "echo '<changed/>'"})
	out, err := h.Run(t.Context(), call)
	if err != nil || string(out) != "<changed/>\n" {
		t.Errorf("%q, %v", out, err)
	}
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	const args = "4 <guest one> <prepare> <begin> <->"
	if want := "qemu " + args + " <domain/>\na " + args + " <domain/>\nb " + args + " <changed/>\n"; string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAProgramThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	h := hooks(t, map[string]string{"qemu": "echo not today >&2; exit 3", "qemu.d/never": "echo ran"})
	_, err := h.Run(t.Context(), call)
	var failed *Error
	if !errors.As(err, &failed) || failed.Exit.Code != 3 || !strings.HasSuffix(err.Error(), "guest one prepare begin -`: exit status 3: not today") {
		t.Errorf("%v", err)
	}
	h = hooks(t, map[string]string{"qemu": "kill -9 $$"})
	if _, err = h.Run(t.Context(), call); !errors.As(err, &failed) || !strings.Contains(err.Error(), "SIGKILL") {
		t.Errorf("%v", err)
	}
}

func TestAProgramThatTakesTooLongIsKilled(t *testing.T) {
	t.Parallel()
	h := hooks(t, map[string]string{"qemu": "sleep 1000"})
	h.Within = time.Millisecond
	_, err := h.Run(t.Context(), call)
	var failed *Error
	if !errors.As(err, &failed) || failed.Late != time.Millisecond || !strings.Contains(err.Error(), "killed after 1ms") {
		t.Fatalf("%v", err)
	}
}

// Whoever gives up is not kept waiting, and what a program started ends with it.
func TestAProgramIsKilledWithWhatItStarted(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	h := hooks(t, map[string]string{"qemu": "sleep 1000 & echo $! > " + mark + ".new; mv " + mark + ".new " + mark + "; wait"})
	h.Within = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	why, done := errors.New("no longer wanted"), make(chan error, 1)
	go func() {
		_, err := h.Run(ctx, call)
		done <- err
	}()
	var pid []byte
	wait(t, "the program has started another one", func() bool {
		var err error
		pid, err = os.ReadFile(mark)
		return err == nil
	})
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	wait(t, "what it started is gone", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); !done(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("after a minute it is not so that %s", what)
		}
	}
}

// What a program leaves behind has its output open, and nobody waits for it.
func TestWhatAProgramLeavesBehindIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	h := hooks(t, map[string]string{"qemu": "sleep 1000 & echo $! > " + mark})
	h.Within = time.Hour
	if _, err := h.Run(t.Context(), call); err != nil {
		t.Error(err)
	}
	pid, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err == nil {
		err = syscall.Kill(n, syscall.SIGKILL)
	}
	if err != nil {
		t.Error(err)
	}
}
