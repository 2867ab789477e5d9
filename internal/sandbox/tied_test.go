package sandbox

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fromADyingThread calls f on a thread that ends before it returns.
func fromADyingThread(t *testing.T, f func() error) {
	t.Helper()
	var err error
	tid := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			// The main thread does not end; another one serves while it is held.
			inner := make(chan struct{})
			go func() { defer close(inner); runtime.LockOSThread(); err = f(); tid <- unix.Gettid() }()
			<-inner
			runtime.UnlockOSThread()
			return
		}
		err = f()
		tid <- unix.Gettid()
	}()
	id := <-tid
	if err != nil {
		t.Fatal(err)
	}
	for unix.Tgkill(os.Getpid(), id, 0) == nil {
		runtime.Gosched() // until the kernel knows the thread no more
	}
}

func TestATiedChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	fromADyingThread(t, func() error { return StartTied(c, unix.SIGKILL) })
	if _, err := io.WriteString(in, "still here\n"); err != nil {
		t.Error(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "still here\n" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func TestATiedChildIsSignalledWhenTheProcessEnds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), asDaemon+"=parent")
	parent.Stdout, parent.Stderr = w, os.Stderr
	stdin, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := bufio.NewReader(r)
	if said, err := lines.ReadString('\n'); said != "tied\n" || err != nil {
		t.Fatalf("%q, %v", said, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // it was killed
	// The child holds the writing end, too: the pipe ends when it does.
	if rest, err := io.ReadAll(lines); len(rest) != 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	_ = stdin.Close()
}

// parent is a process with a tied child that would wait for ever, and shares its output. It ends when it is killed.
func parent() int {
	c := exec.Command("tail", "-f", "/dev/null")
	c.Stdout = os.Stdout
	if err := StartTied(c, unix.SIGTERM); err != nil {
		return 1
	}
	os.Stdout.WriteString("tied\n")
	_ = c.Wait()
	return 0
}

func TestATiedChildThatCannotBeStartedIsAnError(t *testing.T) {
	c := exec.Command("/nonexistent/program")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := StartTied(c, unix.SIGTERM); err == nil || !strings.Contains(err.Error(), "/nonexistent/program") {
		t.Errorf("%v, want the program's path", err)
	}
	if !c.SysProcAttr.Setpgid {
		t.Error("what the caller asked of the child was forgotten")
	}
}
