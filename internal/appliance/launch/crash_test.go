package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/build"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// roleEnv makes the test binary play a part of a crash, and crashEnv says which crash.
const (
	roleEnv  = "TAPROOM_TEST_ROLE"
	crashEnv = "TAPROOM_TEST_CRASH"
)

func TestMain(m *testing.M) {
	daemontest.Serve()
	switch os.Getenv(roleEnv) {
	case "warden":
		warden()
	case "victim":
		victim()
	case "user":
		asUser()
	default:
		hosttest.Main(m)
	}
}

// crash is a caller that is killed.
type crash struct {
	Files           build.Files
	Launcher, Cache string
	UML             bool // it is a process of User-Mode Linux
	Image           string
	Libvirt         string        // of the daemon that has the appliance; "": it is a clone
	Step            int64         // the call to the host that it does not come to; 0: it comes to the end of its work
	After           time.Duration // or so long after it has begun to launch; 0: never
}

// victim launches an appliance, gives it a disk, and is killed.
func victim() {
	var c crash
	if err := json.Unmarshal([]byte(os.Getenv(crashEnv)), &c); err != nil {
		die(err)
	}
	var steps atomic.Int64
	k := host.New(host.Options{Hook: func(string) {
		if steps.Add(1) == c.Step {
			die(nil)
		}
	}})
	s := Spec{Kernel: k, Files: c.Files, Launcher: c.Launcher, CacheDir: c.Cache, Way: WayTemplate, Accelerator: "tcg"}
	switch {
	case c.Libvirt != "":
		s.Way, s.Libvirt = WayLibvirt, c.Libvirt
	case c.UML:
		s.Way, s.Accelerator = WayUML, ""
	}
	l, err := Open(context.Background(), s)
	if err != nil {
		die(err)
	}
	if c.After > 0 {
		time.AfterFunc(c.After, func() { die(nil) })
	}
	a, err := l.Launch(context.Background())
	if err == nil {
		_, err = a.Attach(context.Background(), Disk{Path: c.Image})
	}
	if err != nil {
		die(err)
	}
	fmt.Println("steps", steps.Load())
	die(nil)
}

// die ends this process as kill -9 does.
func die(err error) {
	if err != nil {
		fmt.Println(err)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {} // the signal is on its way
}

// warden runs a victim and ends when nothing is left that the victim has started: it inherits what loses its parent.
func warden() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), roleEnv+"=victim")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		_, err := unix.Wait4(-1, nil, 0, nil)
		if err != nil && !errors.Is(err, unix.EINTR) { // ECHILD: nobody is left
			return
		}
	}
}

// crashes runs one and returns how many steps its victim came to.
func (c crash) run(t *testing.T) (steps int64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := emutest.Watch(t.Context(), 4, nil) // a boot, and the end of everything
	defer cancel()
	w := exec.CommandContext(ctx, self)
	w.Env = append(os.Environ(), roleEnv+"=warden", crashEnv+"="+string(doc))
	w.Cancel = func() error {
		t.Errorf("killed at step %d or after %v, it has left %s", c.Step, c.After, endChildren(w.Process.Pid))
		return w.Process.Kill()
	}
	out, err := w.CombinedOutput()
	if err != nil {
		t.Errorf("killed at step %d or after %v: %v: %s", c.Step, c.After, err, out)
	}
	if n, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "steps "); ok {
		steps, _ = strconv.ParseInt(n, 10, 64)
	} else if len(out) > 0 {
		t.Errorf("the victim said: %s", out)
	}
	return steps
}

// endChildren kills the children of a process and says who they were.
func endChildren(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	var who []string
	for _, child := range strings.Fields(string(b)) {
		line, _ := os.ReadFile("/proc/" + child + "/cmdline")
		who = append(who, child+": "+strings.ReplaceAll(string(line[:min(len(line), 100)]), "\x00", " "))
		if n, err := strconv.Atoi(child); err == nil {
			_ = unix.Kill(n, unix.SIGKILL)
		}
	}
	return strings.Join(who, "; ")
}

// leavesNothing kills callers at calls to the host and at other times.
func leavesNothing(t *testing.T, s Spec) {
	c := crash{Files: s.Files, Launcher: s.Launcher, Cache: s.CacheDir, UML: s.Way == WayUML, Image: ext4(t)}
	steps := c.run(t)
	if steps < 10 {
		t.Fatalf("a whole run has %d steps", steps)
	}
	every, times := steps/6, 3
	if os.Getenv("TAPROOM_LONG") != "" {
		every, times = 1, 100
	}
	for c.Step = 1; c.Step <= steps; c.Step += every {
		c.run(t)
	}
	c.Step = 0
	for n := range times {
		c.After = time.Duration(n+1) * 200 * time.Millisecond / time.Duration(times)
		c.run(t)
	}
}
