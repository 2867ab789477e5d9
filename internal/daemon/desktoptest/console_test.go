package desktoptest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/qemu/emutest"
)

// console is `virsh console` at a terminal of its own, and what is on its screen since it was last looked at.
type console struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	screen []byte

	chunks   chan []byte // read from the screen and not looked at
	reader   sync.WaitGroup
	progress *emutest.Progress
}

// console opens the guest's serial console.
func (d *desk) console(guest string) *console {
	d.t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		d.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		d.t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer slave.Close()
	c := &console{t: d.t, cmd: d.command("virsh", "console", guest), master: master, chunks: make(chan []byte, 1<<16), progress: &d.progress}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := d.daemon.NS.Start(c.cmd); err != nil {
		d.t.Fatal(err)
	}
	c.reader.Go(func() { c.reads(c.progress) })
	d.t.Cleanup(c.leave)
	c.shows("Connected to domain")
	return c
}

// types writes to the keyboard.
func (c *console) types(text string) {
	c.t.Helper()
	if _, err := c.master.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
}

// reads passes on what comes to the screen, until virsh has ended.
func (c *console) reads(progress *emutest.Progress) {
	defer close(c.chunks)
	for buf := make([]byte, 4096); ; {
		n, err := c.master.Read(buf)
		_, _ = progress.Write(buf[:n])
		c.chunks <- bytes.Clone(buf[:n])
		if err != nil {
			return
		}
	}
}

// more waits for more on the screen.
func (c *console) more(late <-chan struct{}) error {
	select {
	case b, ok := <-c.chunks:
		if !ok {
			return io.EOF
		}
		c.screen = append(c.screen, b...)
		return nil
	case <-late:
		return os.ErrDeadlineExceeded
	}
}

// shows waits until a text is on the screen below what was waited for before.
func (c *console) shows(text string) {
	c.t.Helper()
	late, cancel := c.bounded()
	defer cancel()
	for {
		if i := bytes.Index(c.screen, []byte(text)); i >= 0 {
			c.screen = c.screen[i+len(text):]
			return
		}
		if err := c.more(late.Done()); err != nil {
			c.t.Fatalf("the console does not show %q (%v; %v) but:\n%s", text, err, context.Cause(late), c.screen)
		}
	}
}

// bounded ends a wait for the console that takes too long.
func (c *console) bounded() (late context.Context, cancel context.CancelFunc) {
	return emutest.Watch(context.WithoutCancel(c.t.Context()), whole, c.progress)
}

// login gives root's password and waits for a shell.
func (c *console) login() {
	c.t.Helper()
	c.types("root\r")
	c.shows("Password: ")
	c.types("taproom\r")
	c.shows("root@debian:~# ")
}

// prompt presses Enter until the shell answers: virsh drops what is typed before its terminal is as it wants it.
func (c *console) prompt() {
	c.t.Helper()
	for range 100 {
		c.types("\r")
		pause, cancel := context.WithTimeout(c.t.Context(), time.Second) // wait: then Enter is pressed again
		err := error(nil)
		for err == nil && !bytes.HasSuffix(c.screen, []byte("root@debian:~# ")) {
			err = c.more(pause.Done())
		}
		cancel()
		if err == nil {
			c.screen = nil
			return
		}
	}
	c.t.Fatalf("the shell does not answer Enter: %s", c.screen)
}

// marker begins and ends what a command prints. What is typed, and echoed, does not hold it.
var marker = regexp.MustCompile(`(?s)<<<\r?\n(.*?)\r?\n?>>>`)

// sh runs a command in the guest's shell and returns what it prints.
func (c *console) sh(command string) string {
	c.t.Helper()
	c.types("echo '<''<<'; " + command + "; echo '>''>>'\r")
	c.screen = nil
	late, cancel := c.bounded()
	defer cancel()
	for {
		if m := marker.FindSubmatch(c.screen); m != nil {
			c.shows("# ")
			return strings.TrimSpace(string(m[1]))
		}
		if err := c.more(late.Done()); err != nil {
			c.t.Fatalf("the guest does not answer %q (%v; %v) but:\n%s", command, err, context.Cause(late), c.screen)
		}
	}
}

// leave ends virsh.
func (c *console) leave() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.master.Close()
	c.reader.Wait()
}
