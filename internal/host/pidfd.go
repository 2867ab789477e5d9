package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// PIDFD is a process that cannot be mistaken for another one that got its number. Close it.
type PIDFD struct {
	PID   int
	Start uint64 // clock ticks after boot (proc_pid_stat(5), field 22)
	file  *os.File
	child *child // nil for a process that this Kernel did not start
}

// StartTime returns when a process started, in clock ticks after boot: with the number it names a process for good.
func (k *Kernel) StartTime(pid int) (uint64, error) {
	k.Step("process stat")
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[22-3], 10, 64)
}

// statFields returns /proc/PID/stat from field 3 (state) on. The command in field 2 may hold spaces and parentheses.
func statFields(pid int) ([]string, error) { return statLine(strconv.Itoa(pid)) }

// statLine is statFields for a process, or for one thread of one (PID/task/TID).
func statLine(who string) ([]string, error) {
	var buf [2048]byte // 52 numbers and a command are never longer; about 300 bytes are usual
	n, err := readProc("/proc/"+who+"/stat", buf[:])
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("process %s: %w", who, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("read the stat line of process %s: %w", who, err)
	}
	line := string(buf[:n])
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 42-2 {
		return nil, fmt.Errorf("process %s: cannot read its stat line %q", who, line)
	}
	return fields, nil
}

// readProc reads a file of /proc, which comes whole with one read, in three system calls. Package os needs ten, since it
// tries to poll the file first, and info of a running guest is asked thousands of times a second.
func readProc(path string, buf []byte) (int, error) {
	fd, err := ignoringEINTR(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return ignoringEINTR(func() (int, error) { return unix.Read(fd, buf) })
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// OpenPID takes hold of the process pid that started at start; ErrGone when it ended, also when the number lives on in
// another process. A start of 0 takes whoever has the number.
func (k *Kernel) OpenPID(pid int, start uint64) (*PIDFD, error) {
	k.Step("process open")
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	p := &PIDFD{PID: pid, file: os.NewFile(uintptr(fd), "pidfd")}
	// Read after the descriptor was taken: if it is the right one now, the descriptor holds the right one.
	if p.Start, err = k.StartTime(pid); err == nil && start != 0 && p.Start != start {
		err = fmt.Errorf("process %d started at %d, not %d: %w", pid, p.Start, start, ErrGone)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	k.holdChild(p)
	return p, nil
}

// Close lets go of the process, once; it does nothing to it. A child without another holder is reaped when it ends.
func (p *PIDFD) Close() error {
	if p.child != nil {
		p.child.release(p)
		p.child = nil
	}
	return p.file.Close()
}

func (p *PIDFD) signal(sig unix.Signal) error {
	var err error
	cerr := p.control(func(fd int) { err = unix.PidfdSendSignal(fd, sig, nil, 0) })
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %d: %w", p.PID, ErrGone)
	}
	return errors.Join(cerr, err)
}

func (p *PIDFD) control(f func(fd int)) error {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
}

// Signal sends a signal to a process and to no other, even if its number was given away meanwhile; ErrGone when it has
// ended and was reaped.
func (k *Kernel) Signal(p *PIDFD, sig unix.Signal) error {
	k.Step("process signal")
	return p.signal(sig)
}

// Exited reports whether the process has ended. A zombie has.
func (p *PIDFD) Exited() (bool, error) {
	var over bool
	var err error
	if cerr := p.control(func(fd int) { over, err = readable(fd, 0) }); cerr != nil {
		return false, cerr
	}
	return over, err
}

// Ending reports whether the process has begun to exit, or has ended. It runs no more code of its own by then, but may take
// seconds to close what it has open.
func (p *PIDFD) Ending() bool {
	const exiting = 0x4 // PF_EXITING of linux/sched.h
	fields, err := statFields(p.PID)
	if errors.Is(err, ErrGone) {
		return true
	}
	if err != nil {
		return false
	}
	start, _ := strconv.ParseUint(fields[22-3], 10, 64) // the kernel writes numbers
	flags, _ := strconv.ParseUint(fields[9-3], 10, 64)
	return start != p.Start || flags&exiting != 0
}

// readable reports whether a descriptor is, or becomes so within some milliseconds.
func readable(fd, within int) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, within)
		if !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
}

// Wait returns when the process has ended, and a child of ours is reaped, or ctx is done. It takes no thread: the runtime's
// poller watches the descriptor. Several may wait at a time.
func (p *PIDFD) Wait(ctx context.Context) error {
	if err := p.ended(ctx); err != nil || p.child == nil {
		return err
	}
	p.child.mu.Lock()
	defer p.child.mu.Unlock()
	var err error
	cerr := p.control(func(fd int) { err = p.child.reap(fd) })
	return errors.Join(cerr, err)
}

// ended is Wait for a process that is not reaped.
func (p *PIDFD) ended(ctx context.Context) error {
	var own int
	var err error
	// A descriptor of its own for each waiter, since a deadline belongs to the file.
	if cerr := p.control(func(fd int) { own, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }); cerr != nil {
		return cerr
	}
	if errors.Is(err, unix.EMFILE) { // an end that nobody notices would be worse than a thread
		return p.waitOnThread(ctx)
	}
	if err != nil {
		return fmt.Errorf("wait for process %d: %w", p.PID, err)
	}
	f := os.NewFile(uintptr(own), "pidfd")
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if err = untilOver(f); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// untilOver returns when the process of a descriptor has ended, or at the descriptor's deadline.
func untilOver(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var perr error
	err = raw.Read(func(fd uintptr) bool {
		var over bool
		over, perr = readable(int(fd), 0)
		return over || perr != nil
	})
	return errors.Join(err, perr)
}

// waitOnThread is Wait without a descriptor of its own: it holds a thread, and looks at ctx four times a second.
func (p *PIDFD) waitOnThread(ctx context.Context) error {
	for ctx.Err() == nil {
		var over bool
		var err error
		cerr := p.control(func(fd int) { over, err = readable(fd, 250) })
		if err := errors.Join(cerr, err); err != nil {
			return fmt.Errorf("wait for process %d: %w", p.PID, err)
		}
		if over {
			return nil
		}
	}
	return ctx.Err()
}
