package clienttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/qemu/emutest"
)

// terminal is a program at a terminal of its own, and what is on its screen.
type terminal struct {
	t        *testing.T
	cmd      *exec.Cmd
	master   *os.File
	screen   []byte
	progress emutest.Progress
}

// atTerminal starts a program that wants a terminal.
func (c *clients) atTerminal(cmd *exec.Cmd) *terminal {
	c.t.Helper()
	master, slave, err := openPTY()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	_ = slave.Close()
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = master.Close()
	})
	return &terminal{t: c.t, cmd: cmd, master: master}
}

// openPTY makes a terminal.
func openPTY() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return os.NewFile(uintptr(fd), "/dev/ptmx"), slave, err
}

// types writes to the keyboard.
func (s *terminal) types(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until one of the texts, the first of them first, is on the screen below what was waited for before.
func (s *terminal) shows(texts ...string) (shown string) {
	s.t.Helper()
	defer s.bounded()()
	found := func() bool {
		for _, text := range texts {
			if i := bytes.Index(s.screen, []byte(text)); i >= 0 {
				s.screen, shown = s.screen[i+len(text):], text
				return true
			}
		}
		return false
	}
	for buf := make([]byte, 4096); !found(); {
		n, err := s.master.Read(buf)
		s.screen = append(s.screen, buf[:n]...)
		_, _ = s.progress.Write(buf[:n])
		if err != nil && n == 0 {
			s.t.Fatalf("the terminal does not show %q (%v) but:\n%s", texts, err, s.screen)
		}
	}
	return shown
}

// bounded ends reads of the terminal that take too long, until done is called.
func (s *terminal) bounded() (done func()) {
	_ = s.master.SetReadDeadline(time.Time{})
	late, cancel := emutest.Watch(context.WithoutCancel(s.t.Context()), 1, &s.progress)
	stop := context.AfterFunc(late, func() { _ = s.master.SetReadDeadline(time.Unix(1, 0)) })
	return func() {
		stop()
		cancel()
	}
}

// prompt presses Enter until the guest answers: virsh drops what is typed before its terminal is as it wants it.
func (s *terminal) prompt() {
	s.t.Helper()
	late, cancel := emutest.Context(s.t.Context())
	defer cancel()
	for late.Err() == nil {
		s.types("\r")
		_ = s.master.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		for buf := make([]byte, 4096); ; {
			n, err := s.master.Read(buf)
			s.screen = append(s.screen, buf[:n]...)
			if i := bytes.LastIndex(s.screen, []byte("# ")); i >= 0 && i+2 == len(s.screen) {
				s.screen = nil
				return
			}
			if err != nil {
				break
			}
		}
	}
	s.t.Fatalf("the guest does not answer Enter: %s", s.screen)
}

// ends waits for the program's end and returns its exit code. What it still prints is read: it may wait for that.
func (s *terminal) ends() int {
	s.t.Helper()
	defer s.bounded()()
	rest, _ := io.ReadAll(s.master) // EIO once nobody has the terminal open
	s.screen = append(s.screen, rest...)
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// One console, three clients, one at a time; typed lines come back.
func TestConsolesOfAGuest(t *testing.T) {
	t.Parallel()
	c := serve(t)
	m := c.install()
	m.start()
	m.lease()

	virsh := c.atTerminal(c.virsh("console", "demo"))
	virsh.shows("Connected to domain 'demo'\r\nEscape character is ^]")
	virsh.prompt()
	virsh.types("one two\r")
	virsh.shows("you typed: one two\r\n# ")

	// It is taken.
	out, code := c.run(c.taproom("console", "demo"))
	if want := "taproom: operation failed: Active console session exists for domain 'demo'\n"; code != 1 || out != want {
		t.Errorf("a second console: exit %d: %s, want %s", code, out, want)
	}
	// By force it changes hands.
	own := c.atTerminal(c.taproom("console", "--force", "demo"))
	own.shows("connected to demo; Ctrl-] ends")
	if code := virsh.ends(); code != 0 {
		t.Errorf("virsh whose console was taken: exit %d: %s", code, virsh.screen)
	}
	own.types("three four\r")
	own.shows("you typed: three four\r\n# ")
	own.types("\x1d")
	if code := own.ends(); code != 0 {
		t.Errorf("taproom console after Ctrl-]: exit %d: %s", code, own.screen)
	}

	// Without a terminal what comes in is typed; the guest's end ends it. The daemon may not have seen yet that the one before has gone.
	cmd := c.taproom("console", "--force", "demo")
	cmd.Stdin = strings.NewReader("ip\npoweroff\n")
	out, code = c.run(cmd)
	if code != 0 || !strings.Contains(out, "eth0 52:54:00:00:00:01 192.168.151.11/24") || !strings.Contains(out, "asked at the console: powering off") {
		t.Errorf("taproom console from a pipe: exit %d:\n%s", code, out)
	}
	m.ended()
	again := c.atTerminal(c.virsh("console", "demo"))
	again.shows("error: The domain is not running")
	if code := again.ends(); code != 1 {
		t.Errorf("console of a guest that is off: exit %d: %s", code, again.screen)
	}
	m.uninstall()
}

// taproom is the project's own command line.
func (c *clients) taproom(args ...string) *exec.Cmd {
	return c.command(filepath.Join(c.daemon.Programs(), "taproom"), append([]string{"--root", c.daemon.Root}, args...)...)
}

// uninstall removes what install made, and says so when anything is left.
func (m *machine) uninstall() {
	m.t.Helper()
	if m.running() {
		m.do("destroy", m.name)
	}
	m.do("undefine", m.name)
	m.do("net-destroy", "lab")
	m.do("net-undefine", "lab")
	if left := m.daemon.Leftovers(); left != nil {
		m.t.Errorf("left: %v", left)
	}
}
