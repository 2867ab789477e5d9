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

	"taproom/internal/appliance/proto"
)

// windows are the terminals that are open, by the host's numbers.
type windows struct {
	mu   sync.Mutex
	open map[uint32]*os.File
}

// change says how large a terminal has become.
func (w *windows) change(_ context.Context, r *proto.Call) (proto.Message, error) {
	var m proto.TerminalSize
	if err := r.Args(&m); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.open[m.Session]
	if f == nil {
		return nil, fmt.Errorf("there is no terminal %d: %w", m.Session, unix.ENOENT)
	}
	return nil, resize(f, m)
}

func resize(terminal *os.File, m proto.TerminalSize) error {
	size := &unix.Winsize{Row: uint16(min(m.Rows, 1<<16-1)), Col: uint16(min(m.Columns, 1<<16-1))}
	return control(terminal, func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) })
}

// control does something with a file's descriptor and leaves it as it is: Fd would have reads wait in the kernel.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if controlErr := raw.Control(func(fd uintptr) { err = do(int(fd)) }); controlErr != nil {
		return controlErr
	}
	return err
}

// add makes a terminal known until it is removed.
func (w *windows) add(session uint32, f *os.File) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[session] != nil {
		return fmt.Errorf("there is a terminal %d already: %w", session, unix.EEXIST)
	}
	if w.open == nil {
		w.open = map[uint32]*os.File{}
	}
	w.open[session] = f
	return nil
}

func (w *windows) remove(session uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, session)
}

// newTerminal opens both ends of a terminal. Where the kernel's file system for them is not mounted yet, it is.
func newTerminal() (ours, its *os.File, err error) {
	const pts = "/dev/pts"
	if _, err := os.Stat(pts + "/ptmx"); err != nil {
		if err := os.MkdirAll(pts, 0o755); err != nil {
			return nil, nil, err
		}
		if err := unix.Mount("devpts", pts, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "ptmxmode=0666,mode=0620"); err != nil {
			return nil, nil, fmt.Errorf("mount devpts: %w", err)
		}
	}
	fd, err := unix.Open(pts+"/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	ours = os.NewFile(uintptr(fd), pts+"/ptmx") // which the runtime waits for
	var n int
	err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	if err == nil {
		n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
	}
	if err == nil {
		its, err = os.OpenFile(fmt.Sprintf("%s/%d", pts, n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a terminal: %w", err), ours.Close())
	}
	return ours, its, nil
}

// runOnTerminal runs a program to its end, on a terminal of its own. When ctx ends it is killed, with what it has started.
func (p process) runOnTerminal(ctx context.Context, s *system, w proto.TerminalSize, in io.ReadCloser, out io.Writer) (syscall.WaitStatus, error) {
	ours, its, err := newTerminal()
	if err != nil {
		return 0, err
	}
	defer ours.Close()
	defer its.Close()
	if err := errors.Join(resize(ours, w), s.windows.add(w.Session, ours)); err != nil {
		return 0, err
	}
	defer s.windows.remove(w.Session)
	fd := its.Fd()
	pid, ended, err := s.children.start(p.program, p.args, &syscall.ProcAttr{
		Dir: p.folder(), Env: p.env, Files: []uintptr{fd, fd, fd},
		Sys: &syscall.SysProcAttr{Chroot: p.root, Setsid: true, Setctty: true, Ctty: 0},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", p.program, err)
	}
	_ = its.Close()
	kill := func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }
	stop := context.AfterFunc(ctx, kill)
	defer stop()
	var copies sync.WaitGroup
	copies.Go(func() {
		_, _ = io.Copy(plain{ours}, in) // a program need not read all of it
	})
	copies.Go(func() {
		if _, err := io.Copy(plain{out}, ours); err != nil && !errors.Is(err, unix.EIO) && !errors.Is(err, os.ErrDeadlineExceeded) {
			kill() // nobody takes what it prints; EIO is how a terminal ends that nobody has open any more
		}
	})
	status := <-ended
	kill()
	_ = in.Close()
	_ = ours.SetReadDeadline(time.Now().Add(lastWords)) // what it has started may hold the terminal for ever
	_ = ours.SetWriteDeadline(time.Unix(1, 0))
	copies.Wait()
	return status, context.Cause(ctx)
}

// lastWords is how long what a program has started on its terminal may go on to print once the program has ended.
const lastWords = time.Second
