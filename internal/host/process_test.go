package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func start(t *testing.T, k *host.Kernel, s host.ProcessSpec) *host.Process {
	t.Helper()
	p, err := k.Start(s)
	must(t, err)
	t.Cleanup(func() {
		_ = k.Signal(&p.PIDFD, unix.SIGKILL)
		_, _ = p.Wait(context.Background())
		p.Close()
	})
	return p
}

func TestAStartedProcessHasOnlyWhatItWasGiven(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	script := `echo "$HOME|$A|$(pwd)|$(cut -d' ' -f6 /proc/$$/stat) $$" >&4`
	p := start(t, k, host.ProcessSpec{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"A=b", "PATH=" + os.Getenv("PATH")}, Files: []*os.File{r, w}})
	must(t, w.Close())
	out, err := io.ReadAll(r)
	must(t, err)
	want := fmt.Sprintf("|b|/|%d %d\n", p.PID, p.PID)
	if string(out) != want {
		t.Errorf("environment, directory, session: got %q, want %q", out, want)
	}
	exit, err := p.Wait(t.Context())
	if err != nil || exit != (host.Exit{}) {
		t.Errorf("ended with %v, %v", exit, err)
	}
	if err := k.Signal(&p.PIDFD, unix.SIGTERM); !errors.Is(err, host.ErrGone) {
		t.Errorf("signal after the end: %v, want ErrGone", err)
	}
}

func TestNoDescriptorIsInheritedUnnamed(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	leaky, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // without O_CLOEXEC, as a parent's shell leaves them
	must(t, err)
	defer unix.Close(leaky)
	p := start(t, k, host.ProcessSpec{Path: "/bin/ls", Args: []string{"ls", "/proc/self/fd"}, Stdout: w, Files: []*os.File{r}})
	must(t, w.Close())
	out, err := io.ReadAll(r)
	if want := "0\n1\n2\n3\n4\n"; string(out) != want || err != nil { // 4 is the directory that ls lists
		t.Errorf("descriptors %q, %v, want %q", out, err, want)
	}
	_, err = p.Wait(t.Context())
	must(t, err)
}

// outOfDescriptors makes a test play a daemon whose descriptors are used up.
const outOfDescriptors = "TAPROOM_TEST_OUT_OF_DESCRIPTORS"

// byItself runs the calling test in a process of its own, where limits and children are its alone; there it returns false.
func byItself(t *testing.T, change ...func(*exec.Cmd)) bool {
	t.Helper()
	if os.Getenv(outOfDescriptors) != "" {
		return false
	}
	self, err := os.Executable()
	must(t, err)
	c := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), outOfDescriptors+"=1")
	for _, f := range change {
		f(c)
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// useUpDescriptors makes every further one EMFILE, until back is called.
func useUpDescriptors(t *testing.T) (back func()) {
	t.Helper()
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: was.Max}))
	return func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) }
}

func TestTheEndOfAProcessIsNoticedWithoutDescriptors(t *testing.T) {
	t.Parallel()
	if byItself(t) {
		return
	}
	var pipe [2]int // package os would make it one that does not block, also for cat
	must(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	r, w := os.NewFile(uintptr(pipe[0]), "r"), os.NewFile(uintptr(pipe[1]), "w")
	p := start(t, host.New(host.Options{}), host.ProcessSpec{Path: "/bin/cat", Args: []string{"cat"}, Stdin: r})
	back := useUpDescriptors(t)
	defer back()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if exit, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waited no longer than allowed: %v, %v", exit, err)
	}
	must(t, r.Close())
	must(t, w.Close())
	if exit, err := p.Wait(t.Context()); err != nil || exit != (host.Exit{}) {
		t.Errorf("ended with %v, %v", exit, err)
	}
}

func TestAProcessThatCannotBeWatchedIsNotLeftRunning(t *testing.T) {
	t.Parallel()
	if byItself(t) {
		return
	}
	var back func()
	k := host.New(host.Options{Hook: func(call string) {
		if call == "process stat" {
			back = useUpDescriptors(t)
		}
	}})
	_, err := k.Start(host.ProcessSpec{Path: "/bin/sleep", Args: []string{"sleep", "600"}})
	back()
	if !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), "start /bin/sleep") {
		t.Errorf("start: %v, want EMFILE", err)
	}
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("a child is left (%d, %v)", pid, err)
	}
}

func TestExitsAreToldApart(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	for script, want := range map[string]string{"exit 7": "exit status 7", "kill -9 $$": "ended by signal 9 (SIGKILL)"} {
		p := start(t, k, host.ProcessSpec{Path: "/bin/sh", Args: []string{"sh", "-c", script}})
		if exit, err := p.Wait(t.Context()); err != nil || exit.String() != want {
			t.Errorf("%s: %v, %v, want %s", script, exit, err, want)
		}
	}
	if _, err := k.Start(host.ProcessSpec{Path: "/nonexistent", Args: []string{"x"}}); !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("a binary that is not there: %v", err)
	}
}

func TestAProcessIsAdoptedByNumberAndStartTimeOnly(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	p := start(t, k, host.ProcessSpec{Path: "/bin/sleep", Args: []string{"sleep", "100"}})
	if _, err := k.OpenPID(p.PID, p.Start+1); !errors.Is(err, host.ErrGone) {
		t.Errorf("another start time: %v, want ErrGone", err)
	}
	a, err := k.OpenPID(p.PID, p.Start)
	must(t, err)
	defer a.Close()
	if over, err := a.Exited(); over || err != nil {
		t.Errorf("before the end: exited %v, %v", over, err)
	}
	if a.Ending() {
		t.Error("before the end: ending")
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 2)
	go func() { waited <- a.Wait(ctx) }()
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait: %v", err)
	}
	for range 2 {
		go func() { waited <- a.Wait(t.Context()) }()
	}
	must(t, k.Signal(a, unix.SIGKILL))
	must(t, errors.Join(<-waited, <-waited))
	if over, err := a.Exited(); !over || err != nil {
		t.Errorf("after the end: exited %v, %v", over, err)
	}
	if !a.Ending() { // nobody has reaped it
		t.Error("after the end: not ending")
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != unix.SIGKILL {
		t.Errorf("reaped with %v, %v", exit, err)
	}
	if _, err := k.OpenPID(p.PID, p.Start); !errors.Is(err, host.ErrGone) {
		t.Errorf("after it was reaped: %v, want ErrGone", err)
	}
	if _, err := k.ProcStat(p.PID, p.Start); !errors.Is(err, host.ErrGone) {
		t.Errorf("its statistics: %v, want ErrGone", err)
	}
}

// Each user has 128 inotify instances, and some have none left.
func TestACgroupIsWaitedForWithoutInotify(t *testing.T) {
	t.Parallel()
	ids := []syscall.SysProcIDMap{{Size: 1}}
	if byItself(t, func(c *exec.Cmd) { // the limit is one of a user namespace
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids}
	}) {
		return
	}
	must(t, os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0))
	if fd, err := unix.InotifyInit(); !errors.Is(err, unix.EMFILE) {
		t.Fatalf("inotify: %d, %v", fd, err)
	}
	k := host.New(host.Options{})
	root, err := k.CgroupRoot()
	hosttest.Needs(t, err, hosttest.Lift{})
	group := filepath.Join(root, fmt.Sprintf("taproom-test-inotify-%d", os.Getpid()))
	must(t, k.MakeCgroup(group))
	t.Cleanup(func() { _ = unix.Rmdir(group) }) // where it was not removed
	p := start(t, k, host.ProcessSpec{Path: "/bin/sleep", Args: []string{"sleep", "100"}, Cgroup: group})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.RemoveCgroup(ctx, group); !errors.Is(err, context.Canceled) {
		t.Errorf("waited no longer than allowed: %v", err)
	}
	removed := make(chan error)
	go func() { removed <- k.RemoveCgroup(t.Context(), group) }()
	must(t, k.Signal(&p.PIDFD, unix.SIGKILL))
	must(t, <-removed)
	if _, err := os.Stat(group); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup is still there: %v", err)
	}
}

func TestACgroupIsKilledWholeAndRemovedOnceEmpty(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	root, err := k.CgroupRoot()
	must(t, err)
	top := filepath.Join(root, fmt.Sprintf("taproom-test-%d-cgroup", os.Getpid()))
	group := filepath.Join(top, "guest-1")
	must(t, k.MakeCgroup(group))
	must(t, k.MakeCgroup(group))
	t.Cleanup(func() { _ = os.Remove(group); _ = os.Remove(top) })
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	p := start(t, k, host.ProcessSpec{Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 100 & echo $!; wait"}, Stdout: w, Env: []string{"PATH=/bin:/usr/bin"}, Cgroup: group})
	must(t, w.Close())
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pids, err := k.CgroupProcs(group)
	if err != nil || len(pids) != 2 || pids[0] != p.PID {
		t.Errorf("in the cgroup: %v, %v, want %d and its child", pids, err, p.PID)
	}
	ctx, cancel := context.WithCancel(t.Context())
	removed := make(chan error)
	go func() { removed <- k.RemoveCgroup(ctx, top) }()
	cancel()
	if err := <-removed; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled removal of a populated cgroup: %v", err)
	}
	if _, err := k.CgroupUse(group); err != nil {
		t.Error(err)
	}
	go func() { removed <- k.RemoveCgroup(t.Context(), top) }()
	must(t, k.KillCgroup(group))
	must(t, <-removed)
	if _, err := os.Stat(top); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	must(t, k.RemoveCgroup(t.Context(), top))
	must(t, k.KillCgroup(group))
	if pids, err := k.CgroupProcs(group); len(pids) != 0 || err != nil {
		t.Errorf("processes of a cgroup that is gone: %v, %v", pids, err)
	}
}

func TestAProcessStartsInTheKernelsNamespaceWhenAsked(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	inside := strings.TrimSpace(ns.Run("readlink", "/proc/self/ns/net"))
	for want, asked := range map[string]bool{inside: true, readlink(t, "/proc/self/ns/net"): false} {
		r, w, err := os.Pipe()
		must(t, err)
		p := start(t, ns.Kernel(), host.ProcessSpec{Path: "/usr/bin/readlink", Args: []string{"readlink", "/proc/self/ns/net"}, Stdout: w, NetNS: asked})
		must(t, w.Close())
		out, err := io.ReadAll(r)
		must(t, errors.Join(err, r.Close()))
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("NetNS %v: started in %s, want %s", asked, got, want)
		}
		_, err = p.Wait(t.Context())
		must(t, err)
	}
}

func readlink(t *testing.T, path string) string {
	t.Helper()
	s, err := os.Readlink(path)
	must(t, err)
	return s
}
