package launch

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// echoer is a program on a leash that says what it hears.
type echoer struct {
	cmd  *exec.Cmd
	in   *os.File
	out  *bufio.Scanner
	held *os.File // the writing end of its leash
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// startEchoer runs it, by the calling thread.
func startEchoer(t *testing.T) *echoer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	leash, held := pipe(t)
	inTheirs, in := pipe(t)
	out, outTheirs := pipe(t)
	status, statusTheirs := pipe(t)
	s := shell(`while read -r line; do echo "$line"; done`)
	s.Keep, s.Leash, s.StatusFD, s.Parent = 1, firstKept, firstKept+2, os.Getpid()
	doc, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, strconv.Itoa(firstKept+1))
	c.Env = []string{asLauncher + "=1"}
	c.Stdin, c.Stdout = inTheirs, outTheirs
	c.ExtraFiles = []*os.File{leash, temp(t, string(doc)), statusTheirs}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{leash, inTheirs, outTheirs, statusTheirs} {
		f.Close()
	}
	e := &echoer{cmd: c, in: in, out: bufio.NewScanner(out), held: held}
	e.hears(t, "started")
	status.Close()
	return e
}

// hears checks that the program lives.
func (e *echoer) hears(t *testing.T, word string) {
	t.Helper()
	if _, err := e.in.WriteString(word + "\n"); err != nil {
		t.Fatalf("tell the program %q: %v", word, err)
	}
	if !e.out.Scan() || e.out.Text() != word {
		t.Fatalf("the program said %q to %q (%v)", e.out.Text(), word, e.out.Err())
	}
}

// killed waits for the program's end and checks that the kernel ended it.
func (e *echoer) killed(t *testing.T) {
	t.Helper()
	err := e.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("the program ended with %v, want SIGKILL", err)
	}
}

func TestTheLastEndOfTheLeashIsTheProgramsEnd(t *testing.T) {
	t.Parallel()
	e := startEchoer(t)
	other, err := unix.FcntlInt(e.held.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	e.held.Close() // the kernel signals before close returns
	e.hears(t, "one end is left")
	if err := unix.Close(other); err != nil {
		t.Fatal(err)
	}
	e.killed(t)
}

// A death signal would end it here.
func TestAProgramOnALeashOutlivesTheThreadThatStartedIt(t *testing.T) {
	t.Parallel()
	var e *echoer
	over := make(chan struct{})
	go func() {
		defer close(over)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		e = startEchoer(t)
	}()
	<-over
	if e == nil {
		return // it has failed
	}
	e.hears(t, "the thread is gone")
	e.held.Close()
	e.killed(t)
}

func TestAProgramWhoseLeashNobodyHoldsIsNotRun(t *testing.T) {
	t.Parallel()
	leash, held := pipe(t)
	held.Close()
	s := shell("echo ran")
	s.Leash = firstKept
	got := run(t, s, leash)
	want := []Report{{NoLandlock: "not asked for", Stage: StageConfine, Failure: "whoever started it is gone"}}
	if d := cmp.Diff(want, got.reports); d != "" || got.code == 0 || got.output == "ran\n" {
		t.Errorf("exit %d, output %q, reports (-want +got):\n%s", got.code, got.output, d)
	}
}

func TestALeashIsOneOfTheDescriptorsThatAreKept(t *testing.T) {
	t.Parallel()
	s := shell("echo ran")
	s.Leash = firstKept + 1
	leash, _ := pipe(t)
	got := run(t, s, leash)
	want := []Report{{
		NoLandlock: "not asked for", Stage: StageConfine, Failure: "descriptor 4 is none of those that it keeps and cannot be its leash",
	}}
	if d := cmp.Diff(want, got.reports); d != "" {
		t.Errorf("output %q, reports (-want +got):\n%s", got.output, d)
	}
}
