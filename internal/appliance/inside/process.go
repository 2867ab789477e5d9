package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a program to run.
type process struct {
	program   string
	args, env []string
	dir, root string
}

// folder is where it runs.
func (p process) folder() string {
	if p.dir == "" {
		return "/"
	}
	return p.dir
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
	pid, ended, err := c.start(p.program, p.args, &syscall.ProcAttr{
		Dir: p.folder(), Env: p.env, Files: []uintptr{inside[0].Fd(), inside[1].Fd(), inside[2].Fd()},
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
