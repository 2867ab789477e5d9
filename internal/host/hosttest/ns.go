package hosttest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// NS is a network namespace on a locked thread of its own. The thread dies with it.
type NS struct {
	t      testing.TB
	tid    int
	work   chan func()
	dead   chan struct{} // closed when the thread's goroutine has ended
	kernel *host.Kernel
	keep   []string // leftovers the test declared
}

// NewNS makes a namespace for a test: lo up, /sys of its own. When the test ends, what is left in it fails the test.
func NewNS(t testing.TB) *NS {
	t.Helper()
	ns, err := newNS(t)
	if err != nil {
		t.Fatalf("new network namespace: %v (run as root, or through `make test`)", err)
	}
	t.Cleanup(ns.close)
	return ns
}

func newNS(t testing.TB) (*NS, error) {
	ns := &NS{t: t, work: make(chan func()), dead: make(chan struct{})}
	ready := make(chan error)
	go ns.thread(ready)
	if err := <-ready; err != nil {
		<-ns.dead
		return nil, err
	}
	ns.kernel = host.New(host.Options{Run: ns.Do})
	return ns, nil
}

// thread runs the namespace's goroutine.
func (ns *NS) thread(ready chan<- error) {
	defer close(ns.dead)
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		ns.serve(ready)
		return
	}
	// The runtime cannot end the main thread, and /proc/self would show this namespace to everybody: hold the main
	// thread while another one serves.
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		ns.serve(ready)
	}()
	<-done
	runtime.UnlockOSThread()
}

// serve runs what Do sends. Its goroutine never unlocks the thread, so the runtime ends the thread with it.
func (ns *NS) serve(ready chan<- error) {
	ns.tid = unix.Gettid()
	err := enter()
	ready <- err
	if err != nil {
		return
	}
	for f := range ns.work {
		f()
	}
}

// enter moves the calling thread into new network and mount namespaces.
func enter() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS | unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// /sys shows the network namespace it was mounted in; the cgroups below the old one must stay reachable.
	cgroups, err := unix.Open("/sys/fs/cgroup", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(cgroups)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	if err == nil {
		from := fmt.Sprintf("/proc/thread-self/fd/%d", cgroups)
		if err := unix.Mount(from, "/sys/fs/cgroup", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("keep /sys/fs/cgroup: %w", err)
		}
	}
	return linkUp("lo")
}

// linkUp brings a link of the calling thread's namespace up without help of the code under test.
func linkUp(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("bring %s up: %w", name, err)
	}
	return nil
}

// Kernel returns the door to this namespace.
func (ns *NS) Kernel() *host.Kernel { return ns.kernel }

// KernelWith returns another door to this namespace, whose calls announce themselves to hook. Close it.
func (ns *NS) KernelWith(hook func(call string)) *host.Kernel {
	return host.New(host.Options{Run: ns.Do, Hook: hook})
}

// Do runs f on the namespace's thread. A panic or t.FailNow in f ends the caller, as if it had run there.
func (ns *NS) Do(f func()) {
	if unix.Gettid() == ns.tid { // already inside
		f()
		return
	}
	done := make(chan any, 1)
	finished := false
	job := func() {
		defer func() { done <- recover() }()
		f()
		finished = true
	}
	select {
	case ns.work <- job:
	case <-ns.dead:
		panic("network namespace used after it was closed")
	}
	p := <-done
	switch {
	case p != nil:
		panic(p)
	case !finished: // f called t.FailNow, which has ended the thread
		<-ns.dead
		runtime.Goexit()
	}
}

// Run runs a program inside and returns what it printed; a failure fails the test.
func (ns *NS) Run(name string, args ...string) string {
	ns.t.Helper()
	out, err := ns.Try(name, args...)
	if err != nil {
		ns.t.Fatal(err)
	}
	return out
}

// Try runs a program inside and returns what it printed on its standard output; the error holds the rest.
func (ns *NS) Try(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	var out, msg bytes.Buffer
	c.Stdout, c.Stderr = &out, &msg
	if err := ns.Start(c); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if err := c.Wait(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(msg.String()))
	}
	return out.String(), nil
}

// Start starts a command inside; the caller waits for it. The child's namespaces are those of the thread that forks it.
func (ns *NS) Start(c *exec.Cmd) error {
	var err error
	ns.Do(func() { err = c.Start() })
	return err
}

// StartTied starts a command as Start does, which the kernel kills when the tests end, however they do: it is a child of the
// namespace's thread (prctl(2), PR_SET_PDEATHSIG), which lives as long as the namespace.
func (ns *NS) StartTied(c *exec.Cmd) error {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &unix.SysProcAttr{}
	}
	c.SysProcAttr.Pdeathsig = unix.SIGKILL
	return ns.Start(c)
}

// Shell runs a script with `sh -e` inside and returns what it printed.
func (ns *NS) Shell(script string) string {
	ns.t.Helper()
	return ns.Run("sh", "-e", "-c", script)
}

// passing is how long something may be left over that goes by itself, on a machine that is busy.
const passing = 30 * time.Second

func (ns *NS) close() {
	select {
	case <-ns.dead: // a FailNow inside ended it: nothing left to check
		ns.kernel.Close()
		return
	default:
	}
	left, err := ns.leftovers()
	// A tap goes with its last holder, which may be a program that another test is just starting: it has every descriptor
	// until it is executed.
	for limit := time.Now().Add(passing); err == nil && len(left) > 0 && time.Now().Before(limit); {
		<-time.After(10 * time.Millisecond)
		left, err = ns.leftovers()
	}
	err = errors.Join(err, ns.empty())
	ns.kernel.Close()
	close(ns.work)
	<-ns.dead
	if len(left) > 0 {
		ns.t.Errorf("left over in the network namespace:\n%s", strings.Join(left, "\n"))
	}
	if err != nil {
		ns.t.Errorf("look at what is left over: %v", err)
	}
}
