package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// searchPath is where programs are looked for, and what they get as PATH.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// run runs a program of the tools.
func (s *system) run(ctx context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.Run
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	if len(m.Args) == 0 {
		return nil, fmt.Errorf("no program is named: %w", unix.EINVAL)
	}
	if err := s.mountTools(); err != nil {
		return nil, err
	}
	program, err := lookPath(toolsRoot, m.Args[0])
	if err != nil {
		return nil, err
	}
	p := process{
		program: program, args: m.Args, dir: m.Dir, root: toolsRoot,
		env: append([]string{"PATH=" + searchPath, "HOME=/tmp", "LC_ALL=C.UTF-8", "TERM=dumb"}, m.Env...),
	}
	status, err := p.run(ctx, &s.children, r.In(), r.Out(proto.StreamOut), r.Out(proto.StreamErr))
	if err != nil {
		return nil, err
	}
	e := &proto.Exit{Status: uint32(max(status.ExitStatus(), 0))}
	if status.Signaled() {
		e.Signal = uint32(status.Signal())
	}
	return e, nil
}

// lookPath finds a program as a shell would.
func lookPath(root, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range strings.Split(searchPath, ":") {
		f, err := tree{root}.find(path.Join(dir, name), true)
		if err == nil {
			_ = f.Close()
			return path.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("the tools have no program %s: %w", name, unix.ENOENT)
}

// children hears how processes end. As the first process it inherits those whose parents are gone, and they are reaped with the others:
// one goroutine waits for any child, for as long as there is one that was started here.
type children struct {
	mu      sync.Mutex
	waiting map[int]chan syscall.WaitStatus
	reaping bool
}

// start starts a process. Its status is sent when it has ended.
func (c *children) start(program string, args []string, attr *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	c.mu.Lock() // held until the process is known here, or it might have ended before
	defer c.mu.Unlock()
	pid, err := syscall.ForkExec(program, args, attr)
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	if c.waiting == nil {
		c.waiting = map[int]chan syscall.WaitStatus{}
	}
	c.waiting[pid] = ended
	if !c.reaping {
		c.reaping = true
		go c.reap()
	}
	return pid, ended, nil
}

// reap ends when nobody waits for a process any more. Daemons that are left then are reaped with the next program.
func (c *children) reap() {
	for {
		_ = c.one() // that there is no child is seen below
		c.mu.Lock()
		if len(c.waiting) == 0 {
			c.reaping = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// one waits for any child, and tells whoever waits for it.
func (c *children) one() error {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, 0, nil)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ended := c.waiting[pid]; ended != nil {
		ended <- status
		delete(c.waiting, pid)
	}
	return nil
}

// endAll kills every process but this one, and returns when all of them are gone.
func (c *children) endAll() {
	_ = syscall.Kill(-1, syscall.SIGKILL) // fails when there is none
	for {
		if err := c.one(); errors.Is(err, syscall.ECHILD) {
			return
		}
	}
}

// process is a program to run.
type process struct {
	program   string
	args, env []string
	dir, root string
}

// run runs it to its end. It is a group of processes of its own, which is killed when ctx ends, and whose rest is killed when the
// program has ended; what went on to become a daemon, with a group of its own, is left alone.
func (p process) run(ctx context.Context, c *children, in io.ReadCloser, out, diagnostics io.Writer) (syscall.WaitStatus, error) {
	var inside, outside [3]*os.File // the program's ends of three pipes, and ours
	defer func() {
		for i := range inside {
			_ = inside[i].Close()
			_ = outside[i].Close()
		}
	}()
	for i := range inside {
		r, w, err := os.Pipe()
		if err != nil {
			return 0, err
		}
		inside[i], outside[i] = w, r
		if i == 0 {
			inside[i], outside[i] = r, w
		}
	}
	dir := p.dir
	if dir == "" {
		dir = "/"
	}
	pid, ended, err := c.start(p.program, p.args, &syscall.ProcAttr{
		Dir: dir, Env: p.env, Files: []uintptr{inside[0].Fd(), inside[1].Fd(), inside[2].Fd()},
		Sys: &syscall.SysProcAttr{Chroot: p.root, Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", p.program, err)
	}
	for _, f := range inside {
		_ = f.Close() // the program's alone now
	}
	kill := func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }
	stop := context.AfterFunc(ctx, kill)
	defer stop()
	var copies sync.WaitGroup
	copies.Go(func() {
		_, _ = io.Copy(plain{outside[0]}, in) // a program need not read all of it
		_ = outside[0].Close()
	})
	for i, w := range []io.Writer{out, diagnostics} {
		copies.Go(func() {
			if err := drain(w, outside[i+1]); err != nil {
				kill() // nobody takes what it prints
			}
		})
	}
	status := <-ended
	kill()
	past := time.Unix(1, 0)
	_ = in.Close()
	for _, f := range outside {
		_ = f.SetDeadline(past) // a daemon may hold the other ends for ever
	}
	copies.Wait()
	return status, context.Cause(ctx)
}

// drain gives to w what a program prints, until nobody can print any more, or the pipe's deadline has passed, which says that
// the program has ended: what it printed is in the pipe then, and still counts.
func drain(w io.Writer, pipe *os.File) error {
	_, err := io.Copy(plain{w}, pipe)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	raw, err := pipe.SyscallConn()
	if err == nil {
		err = pipe.SetReadDeadline(time.Time{})
	}
	const pipeSize = 64 << 10 // the kernel's, which nobody has changed
	b := make([]byte, pipeSize)
	for got := 0; err == nil && got < pipeSize; {
		n := 0
		err = raw.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), b[:pipeSize-got]) // no waiting: an error means that there is no more
			return true
		})
		if n <= 0 || err != nil {
			break
		}
		got += n
		_, err = w.Write(b[:n])
	}
	return err
}

// plain hides what else a file can do: without splice and its pipes.
type plain struct{ io.Writer }
