package inside

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/launchtest"
	"taproom/internal/appliance/proto"
)

// run runs the tool.
func (m *machine) run(ctx context.Context, c proto.Command, args ...string) (stdout, stderr string, e proto.Exit, err error) {
	var out, diagnostics bytes.Buffer
	c.Args, c.Stdout, c.Stderr = append([]string{"tool"}, args...), &out, &diagnostics
	e, err = m.agent.Run(ctx, c)
	return out.String(), diagnostics.String(), e, err
}

func programsRunAndEnd(ctx context.Context, t *testing.T, p template) {
	m := p.clone(ctx, t)
	m.agent.Beat = time.Hour // a ping would wake what shall be idle
	const id = "0123456789abcdef0123456789abcdef"
	if _, err := m.agent.Hello(ctx, proto.Greeting{Hostname: "appliance", MachineID: id}); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := m.run(ctx, proto.Command{}, "exit"); !errors.Is(err, unix.ENODEV) {
		t.Errorf("without the disk of tools: %v, want ENODEV", err)
	}
	m.attach(ctx, t, launchtest.Tools(t), toolsSerial, true)
	if _, err := m.agent.Await(ctx, toolsSerial); err != nil {
		t.Fatal(err)
	}
	input := strings.Repeat("input ", 100_000)
	out, diagnostics, e, err := m.run(ctx, proto.Command{Stdin: strings.NewReader(input)}, "cat")
	if err != nil || e != (proto.Exit{}) || out != input || diagnostics != "600000\n" {
		t.Errorf("cat: %d bytes, %q, %+v, %v", len(out), diagnostics, e, err)
	}
	for _, c := range []struct {
		args      []string
		out, errs string
		exit      proto.Exit
	}{
		{[]string{"exit"}, "", "", proto.Exit{Status: 7}},
		{[]string{"die"}, "", "", proto.Exit{Signal: uint32(unix.SIGTERM)}},
		{[]string{"read", "/etc/machine-id"}, id + "\n", "", proto.Exit{}},
		{[]string{"read", "/proc/sys/kernel/hostname"}, "appliance\n", "", proto.Exit{}},
		{[]string{"read", "/nowhere"}, "", "open /nowhere: no such file or directory\n", proto.Exit{Status: 1}},
		{[]string{"daemon"}, "left one behind\n", "", proto.Exit{}},
	} {
		out, errs, e, err := m.run(ctx, proto.Command{}, c.args...)
		if err != nil || out != c.out || errs != c.errs || e != c.exit {
			t.Errorf("%q: %q, %q, %+v, %v; want %q, %q, %+v", c.args, out, errs, e, err, c.out, c.errs, c.exit)
		}
	}
	out, _, _, err = m.run(ctx, proto.Command{Run: proto.Run{Env: []string{"A=b"}, Dir: "/tmp"}}, "env")
	if want := "/tmp PATH=" + searchPath + " HOME=/tmp LC_ALL=C.UTF-8 TERM=dumb A=b\n"; err != nil || out != want {
		t.Errorf("env: %q, %v, want %q", out, err, want)
	}
	if _, _, _, err := m.run(ctx, proto.Command{MaxOutput: 10_000}, "flood"); !errors.Is(err, proto.ErrOutput) {
		t.Errorf("a program that prints too much: %v", err)
	}
	greetingsAreSeen(ctx, t, m)
	idleIsIdle(ctx, t, m)
	imageIsSeenByTools(ctx, t, m)
	givenUp(ctx, t, m)
	if err := m.agent.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// idleIsIdle has a program watch the first process while that waits for it: of a thousand clones, each that woke by itself would be paid
// for a thousand times. Go's watchdog thread, once awake for good, would count some 200.
func idleIsIdle(ctx context.Context, t *testing.T, m *machine) {
	out, errs, e, err := m.run(ctx, proto.Command{}, "idle")
	n, parseErr := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || parseErr != nil || e != (proto.Exit{}) {
		t.Fatalf("idle: %q, %q, %+v, %v", out, errs, e, err)
	}
	t.Logf("the first process woke %d times in two seconds", n)
	const most = 100 // it falls asleep step by step
	if n > most {
		t.Errorf("the first process woke %d times in two seconds in which nothing was asked of it, want %d at most", n, most)
	}
}

// imageIsSeenByTools mounts a disk when the tools are mounted already.
func imageIsSeenByTools(ctx context.Context, t *testing.T, m *machine) {
	m.attach(ctx, t, mkfs(t, 16, image(t)), "D1", false)
	if _, err := m.agent.Mount(ctx, proto.Mount{Device: "serial:D1", At: "/"}); err != nil {
		t.Fatal(err)
	}
	if out, errs, _, err := m.run(ctx, proto.Command{}, "read", "/sysroot/etc/motd"); err != nil || out != "hello" {
		t.Errorf("an image's file: %q, %q, %v", out, errs, err)
	}
	if _, errs, _, err := m.run(ctx, proto.Command{}, "write", "/sysroot/new", "text"); err != nil || errs != "" {
		t.Errorf("write to an image: %q, %v", errs, err)
	}
	if s, err := m.agent.Stat(ctx, proto.Path{Path: "/new"}); err != nil || s.Size != 4 {
		t.Errorf("what a program wrote: %+v, %v", s, err)
	}
}

// givenUp gives up a program that has a child, and sees that both are gone: the tree could not be unmounted otherwise, and their output
// has ended.
func givenUp(ctx context.Context, t *testing.T, m *machine) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := m.agent.Run(ctx, proto.Command{Run: proto.Run{Args: []string{"tool", "sleep"}, Dir: "/sysroot"}, Stdout: w})
		done <- err
	}()
	b := make([]byte, len("asleep"))
	if _, err := io.ReadFull(r, b); err != nil || string(b) != "asleep" {
		t.Fatalf("%q, %v", b, err)
	}
	if err := m.agent.Unmount(ctx, "/"); !errors.Is(err, unix.EBUSY) {
		t.Errorf("unmount where a program is: %v, want EBUSY", err)
	}
	cancel()
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	_ = w.Close()
}
