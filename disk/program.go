package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	counter "sync/atomic"
	"syscall"

	"taproom/internal/appliance/proto"
)

// RunInside runs a program of the images and waits for its end: it sees the tree of what is mounted and nothing else (chroot), with the kernel's own
// file systems in /proc, /sys, /dev and /run where the tree has folders for them. It takes no tools. Whatever it does, it does in the appliance: what it can
// reach is the images, as they were given to it, and a network where the appliance has one. One that fails is an *ExitError. It is killed,
// with what it has started, when ctx ends.
func (a *Appliance) RunInside(ctx context.Context, c Command) error {
	return a.run(ctx, proto.Run{Args: c.Args, Env: c.Env, Dir: c.Dir, Inside: true}, c)
}

func (a *Appliance) run(ctx context.Context, r proto.Run, c Command) error {
	e, err := a.a.Agent().Run(ctx, proto.Command{Run: r, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, MaxOutput: c.MaxOutput})
	if err == nil && e != (proto.Exit{}) {
		err = &ExitError{Program: r.Args[0], Status: int(e.Status), Signal: syscall.Signal(e.Signal)}
	}
	return err
}

// Terminal is a program on a terminal.
type Terminal struct {
	// Args is the program; none: a shell. It is one of the tools and runs in the tree, or with Inside one of the images, as RunInside has it.
	Args          []string
	Env           []string
	Inside        bool
	Rows, Columns uint16
	// Resized says how large the terminal has become, rows before columns; nil: it stays as large as it is. Shell reads it until it returns.
	Resized <-chan [2]uint16
	// Input is the keyboard. A Read that blocks when the program has ended is not waited for.
	Input  io.Reader
	Output io.Writer
}

// sessions numbers terminals.
type sessions struct{ last counter.Uint32 }

// Shell runs a program on a terminal of its own, and waits for its end. One that fails is an *ExitError.
func (a *Appliance) Shell(ctx context.Context, t Terminal) error {
	r := proto.Run{
		Args: t.Args, Env: t.Env, Tree: "/", Inside: t.Inside, Terminal: true,
		Size: proto.TerminalSize{Session: a.sessions.last.Add(1), Rows: uint32(t.Rows), Columns: uint32(t.Columns)},
	}
	if len(r.Args) == 0 {
		r.Args = []string{"bash", "--norc", "-i"}
		if t.Inside {
			r.Args = []string{"sh", "-i"}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	resized := make(chan struct{})
	go func() {
		defer close(resized)
		for {
			select {
			case <-ctx.Done():
				return
			case size, ok := <-t.Resized:
				if !ok {
					return
				}
				// A terminal that is gone, or not there yet, has no size.
				_ = a.a.Agent().Resize(ctx, proto.TerminalSize{Session: r.Size.Session, Rows: uint32(size[0]), Columns: uint32(size[1])})
			}
		}
	}()
	run := Command{Stdout: t.Output}
	if t.Input != nil {
		run.Stdin = newTyped(t.Input)
	}
	err := a.run(ctx, r, run)
	cancel()
	<-resized
	if errors.Is(err, syscall.ENODEV) {
		return errors.Join(ErrNoTools, err)
	}
	return err
}

// Dmesg writes what the appliance's kernel has said: of disks and file systems that it has trouble with, above all. It takes the tools.
func (a *Appliance) Dmesg(ctx context.Context, w io.Writer) error {
	return a.tool(ctx, "", nil, w, "dmesg", "--notime")
}

// LogOptions say what Log writes.
type LogOptions struct {
	Lines int // the last ones; 0: all
}

// Log writes the log of the system that is mounted: of systemd's journal where the system has one and its own journalctl reads it, else of the first of
// /var/log/syslog and /var/log/messages that is there.
func (a *Appliance) Log(ctx context.Context, o LogOptions, w io.Writer) error {
	if _, err := a.Stat(ctx, "/var/log/journal", true); err == nil {
		args := []string{"journalctl", "--no-pager", "--quiet", "--merge", "--directory=/var/log/journal"}
		if o.Lines > 0 {
			args = append(args, fmt.Sprintf("--lines=%d", o.Lines))
		}
		if err := a.RunInside(ctx, Command{Args: args, Stdout: w}); err == nil || !errors.Is(err, syscall.ENOENT) {
			return err
		}
	}
	for _, at := range []string{"/var/log/syslog", "/var/log/messages"} {
		if _, err := a.Stat(ctx, at, true); err != nil {
			continue
		}
		if o.Lines == 0 {
			return a.CopyOut(ctx, at, w)
		}
		last := tail{lines: o.Lines}
		if err := a.CopyOut(ctx, at, &last); err != nil {
			return err
		}
		return last.to(w)
	}
	return fmt.Errorf("the log of the system: there is none in /var/log/journal that it can read itself, and neither /var/log/syslog nor /var/log/messages: %w", syscall.ENOENT)
}

// tail keeps the last lines of what is written to it, and no more of them than what memory is meant for.
type tail struct {
	lines int
	b     []byte
}

// mostTail bounds what is kept, in bytes.
const mostTail = 16 << 20

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if len(t.b) > 2*mostTail {
		t.b = append([]byte(nil), t.b[len(t.b)-mostTail:]...)
	}
	return len(b), nil
}

// to writes the last lines.
func (t *tail) to(w io.Writer) error {
	at, left := len(t.b), t.lines
	for at > 0 {
		if t.b[at-1] == '\n' && at != len(t.b) {
			if left--; left == 0 {
				break
			}
		}
		at--
	}
	_, err := w.Write(t.b[at:])
	return err
}
