package clienttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// tiny is a guest that boots nothing, with a user NIC and a display.
const tiny = `<domain type='qemu'>
  <name>tiny</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <interface type='user'><model type='virtio'/></interface>
    <graphics type='vnc' autoport='yes'/>
  </devices>
</domain>`

// program runs taproomd itself as the user, in the daemon's namespace. Done gets how it ended.
func (c *clients) program(args ...string) (said *strings.Builder, done <-chan error) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(c.daemon.Root, "bin/taproomd"), args...)
	said = &strings.Builder{}
	cmd.Stdout, cmd.Stderr, cmd.Dir = said, said, c.work
	c.daemon.User().Be(cmd)
	if err := c.daemon.NS.Start(cmd); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1)
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		ended <- cmd.Wait()
	}()
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-waited
	})
	return said, ended
}

// serving waits until virsh finds a daemon.
func (c *clients) serving() {
	c.t.Helper()
	late, cancel := emutest.Context(c.t.Context())
	defer cancel()
	for {
		out, code := c.run(c.virsh("uri"))
		switch {
		case code == 0:
			return
		case late.Err() != nil:
			c.t.Fatalf("no daemon serves: %s", out)
		}
	}
}

func TestASecondDaemonOfAUserIsRefused(t *testing.T) {
	t.Parallel()
	c := serveSession(t)
	said, done := c.program()
	if err := <-done; err == nil || !strings.Contains(said.String(), "another process serves it: ") || !strings.Contains(said.String(), strconv.Itoa(c.daemon.PID())) {
		t.Errorf("%v: %s", err, said)
	}
	// One that was started where no login had set the runtime directory would share the definitions.
	u := c.daemon.User()
	u.Env = u.Env[:1]
	said, done = c.program()
	want := fmt.Sprintf("is held by process %d, a daemon that is just starting or ending, or one that serves this user from another XDG_RUNTIME_DIR", c.daemon.PID())
	if err := <-done; err == nil || !strings.Contains(said.String(), want) {
		t.Errorf("%v: %s, want %q", err, said, want)
	}
}

// Without XDG_RUNTIME_DIR, and with one that is no absolute path, libvirt's clients look in ~/.cache.
func TestASessionWithoutARuntimeDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, daemon, warning string }{
		{"unset", "", ""},
		{"relative", "XDG_RUNTIME_DIR=run/user", `XDG_RUNTIME_DIR=\"run/user\" is no absolute path and is ignored`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := prepareSession(t)
			u := s.daemon.User()
			u.Env = u.Env[:1]
			start := func() {
				t.Helper()
				home := u.Env
				if c.daemon != "" {
					u.Env = append([]string{c.daemon}, home...)
				}
				if err := s.daemon.Start(); err != nil {
					t.Fatal(err)
				}
				u.Env = home
			}
			start()
			if !strings.Contains(s.daemon.Said(), c.warning) {
				t.Errorf("it said %q, want %q", s.daemon.Said(), c.warning)
			}
			if _, err := os.Stat(filepath.Join(u.Home(), ".cache/libvirt/libvirt-sock")); err != nil {
				t.Error(err)
			}
			old := filepath.Join(u.Home(), ".cache/taproom/run-before/records")
			for _, dir := range []string{filepath.Dir(old), old} {
				if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, int(u.ID), int(u.ID))); err != nil {
					t.Fatal(err)
				}
			}
			s.write("tiny.xml", tiny)
			s.do("create", "tiny.xml")
			s.daemon.Kill()
			start()
			if got := strings.TrimSpace(s.do("list", "--name")); got != "tiny" {
				t.Errorf("guests %q after the daemon was killed", got)
			}
			if _, err := os.Stat(filepath.Dir(old)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the run directory of an earlier boot: %v", err)
			}
			s.do("destroy", "tiny")
			if left := s.daemon.Leftovers(); left != nil {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// virsh starts a daemon by itself where LIBVIRTD_PATH names the folder of one, and takes what it knows by that name.
func TestVirshStartsASessionsDaemonByItself(t *testing.T) {
	t.Parallel()
	c := prepareSession(t)
	dir := filepath.Join(c.daemon.Root, "bin")
	if err := os.Symlink("taproomd", filepath.Join(dir, "libvirtd")); err != nil {
		t.Fatal(err)
	}
	c.daemon.User().Env = append(c.daemon.User().Env, "LIBVIRTD_PATH="+dir)
	cmd := c.virsh("uri")
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := c.daemon.NS.Start(cmd); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if b, _ := os.ReadFile(out.Name()); err != nil || strings.TrimSpace(string(b)) != "qemu:///session" {
		t.Errorf("%v: %s", err, b)
	}
	pids := c.daemon.User().Processes()
	if len(pids) != 1 {
		t.Fatalf("the user's processes are %v", pids)
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pids[0]))
	if !strings.Contains(string(line), "--timeout=120") {
		t.Errorf("virsh started %q", line)
	}
	p, err := c.daemon.NS.Kernel().OpenPID(pids[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := unix.Kill(pids[0], unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A daemon with --timeout stays while a guest runs, and ends after the last one.
func TestASessionsDaemonEndsWhenNobodyNeedsIt(t *testing.T) {
	t.Parallel()
	c := prepareSession(t)
	said, done := c.program("--timeout", "1")
	c.serving()
	c.write("tiny.xml", tiny)
	c.do("create", "tiny.xml")
	select {
	case err := <-done:
		t.Fatalf("it ended while a guest ran: %v: %s", err, said)
	case <-time.After(2500 * time.Millisecond):
	}
	c.do("destroy", "tiny")
	late, cancel := emutest.Context(t.Context())
	defer cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("it ended badly: %v: %s", err, said)
		}
	case <-late.Done():
		t.Error("it does not end")
	}
	if entries, _ := filepath.Glob(filepath.Join(c.daemon.Paths().LibvirtRun, "*")); len(entries) > 0 {
		t.Errorf("sockets that it left: %v", entries)
	}
}

// Root's daemon and those of two users serve one machine, and see nothing of each other.
func TestDaemonsOfSeveralUsersShareAMachine(t *testing.T) {
	t.Parallel()
	root, ann, bob := serve(t), prepareSession(t), prepareSession(t)
	all := []*clients{root, ann, bob}
	for _, c := range all[1:] {
		c.daemon.NS = root.daemon.NS
		if err := c.daemon.Start(); err != nil {
			t.Fatal(err)
		}
	}
	displays := map[string]int{}
	for i, c := range all {
		c.write("tiny.xml", tiny)
		c.do("create", "tiny.xml")
		displays[strings.TrimSpace(c.do("vncdisplay", "tiny"))] = i
	}
	if len(displays) != len(all) {
		t.Errorf("displays %v: each guest needs one of its own", displays)
	}
	// Another user gets in neither by the session's socket nor by the folder it is in.
	cmd := bob.virsh("-c", "qemu+unix:///session?socket="+ann.daemon.Socket(), "list")
	if out, code := bob.run(cmd); code == 0 || !strings.Contains(out, "Permission denied") {
		t.Errorf("exit %d: %s", code, out)
	}
	ann.daemon.Kill()
	if err := ann.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ann.do("destroy", "tiny")
	for i, want := range []string{"tiny", "", "tiny"} {
		if got := strings.TrimSpace(all[i].do("list", "--name")); got != want {
			t.Errorf("daemon %d lists %q, want %q", i, got, want)
		}
	}
	for _, c := range []*clients{bob, root} {
		c.do("destroy", "tiny")
	}
	for i, c := range all {
		if left := c.daemon.Leftovers(); left != nil {
			t.Errorf("daemon %d left: %v", i, left)
		}
	}
}

// A guest whose record was lost is found by its pid file, and can be ended.
func TestAGuestOfASessionThatNoRecordNamesCanBeEnded(t *testing.T) {
	t.Parallel()
	c := serveSession(t)
	c.write("tiny.xml", tiny)
	c.do("define", "tiny.xml")
	c.do("start", "tiny")
	c.daemon.Kill()
	if err := os.RemoveAll(c.daemon.Paths().Records()); err != nil {
		t.Fatal(err)
	}
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.daemon.Said(), "domain 'tiny' runs on as process ") {
		t.Errorf("it said %s", c.daemon.Said())
	}
	if out, code := c.run(c.virsh("start", "tiny")); code == 0 || !strings.Contains(out, "runs on as process") {
		t.Errorf("exit %d: %s", code, out)
	}
	c.do("destroy", "tiny")
	c.do("start", "tiny")
	c.do("destroy", "tiny")
	c.do("undefine", "tiny")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// Where the service manager gave the daemon a part of the cgroup tree, each guest has a cgroup in it; a daemon that was
// given none takes such a guest over all the same.
func TestASessionUsesTheCgroupThatItWasGiven(t *testing.T) {
	t.Parallel()
	c := prepareSession(t)
	k := c.daemon.NS.Kernel()
	tree, err := k.CgroupRoot()
	hosttest.Needs(t, err, hosttest.Lift{})
	uid := int(c.daemon.User().ID)
	given := filepath.Join(tree, fmt.Sprintf("taproom-test-%d", uid))
	if err := os.Mkdir(given, 0o755); err != nil {
		t.Fatalf("%v: run it where root may make cgroups", err)
	}
	t.Cleanup(func() {
		ctx, cancel := emutest.Context(context.Background()) // the test's has ended
		defer cancel()
		if err := errors.Join(k.KillCgroup(given), k.RemoveCgroup(ctx, given)); err != nil {
			t.Error(err)
		}
	})
	for _, path := range []string{given, filepath.Join(given, "cgroup.procs")} {
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(given)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	within := func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	}
	if err := c.daemon.Start(daemontest.Option(within)); err != nil {
		t.Fatal(err)
	}
	c.write("tiny.xml", tiny)
	c.do("define", "tiny.xml")
	for _, next := range [][]daemontest.Option{{within}, nil} {
		c.do("start", "tiny")
		c.daemon.Kill()
		if pids := inCgroups(t, k, given); len(pids) != 1 {
			t.Errorf("processes %v in the cgroups below the given one, want the guest's", pids)
		}
		if err := c.daemon.Start(next...); err != nil {
			t.Fatal(err)
		}
		c.do("destroy", "tiny")
		if next == nil {
			break
		}
	}
	c.do("undefine", "tiny")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
	if guests, _ := filepath.Glob(filepath.Join(given, "*/guest-*")); len(guests) > 0 {
		t.Errorf("left: %v", guests)
	}
}

// inCgroups are the processes of guests' cgroups below a given one.
func inCgroups(t *testing.T, k *host.Kernel, given string) (pids []int) {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(given, "*/guest-*"))
	for _, dir := range dirs {
		more, err := k.CgroupProcs(dir)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, more...)
	}
	return pids
}
