package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ProcessSpec is a program to start. It inherits nothing but what is named here.
type ProcessSpec struct {
	Path   string   // the binary
	Args   []string // argv, with argv[0]
	Env    []string // the whole environment; nil is empty
	Dir    string   // working directory; "" is /
	Stdin  *os.File // nil is /dev/null
	Stdout *os.File
	Stderr *os.File
	Files  []*os.File // become descriptors 3, 4, …
	Cgroup string     // directory of a cgroup v2 it starts in; "" stays in the caller's
	// NetNS starts it in the Kernel's network namespace rather than the process's own.
	NetNS bool
}

// Process is a child that was started, or a process that was found. Close it after Wait, or to leave it alone; closing does not
// end it.
type Process struct {
	PIDFD
}

// Start runs a program in a session of its own. It returns once exec has succeeded or failed.
func (k *Kernel) Start(s ProcessSpec) (*Process, error) {
	k.Step("process start " + filepath.Base(s.Path))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	std := []*os.File{s.Stdin, s.Stdout, s.Stderr}
	for i, f := range std {
		if f == nil {
			std[i] = null
		}
	}
	fds := make([]uintptr, 0, 3+len(s.Files))
	for _, f := range append(std, s.Files...) {
		fds = append(fds, rawFD(f))
	}
	pidfd := -1
	sys := &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	if s.Cgroup != "" {
		dir, err := os.OpenFile(s.Cgroup, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("start %s: its cgroup: %w", s.Path, err)
		}
		defer dir.Close()
		sys.UseCgroupFD, sys.CgroupFD = true, int(dir.Fd())
	}
	dir := s.Dir
	if dir == "" {
		dir = "/"
	}
	env := s.Env
	if env == nil {
		env = []string{}
	}
	// What our own parent left open without close-on-exec must not travel further. Before Linux 5.11 it does.
	_ = unix.CloseRange(3, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
	var pid int
	fork := func() {
		pid, err = syscall.ForkExec(s.Path, s.Args, &syscall.ProcAttr{Dir: dir, Env: env, Files: fds, Sys: sys})
	}
	if s.NetNS {
		k.InNetNS(fork)
	} else {
		fork()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	p, err := k.adopt(pid, pidfd)
	if err != nil { // it runs, and nobody would know of it; it is not reaped yet, so its number is its own
		_ = unix.Kill(pid, unix.SIGKILL)
		_, werr := ignoringEINTR(func() (int, error) { return unix.Wait4(pid, nil, 0, nil) })
		return nil, errors.Join(fmt.Errorf("start %s: %w", s.Path, err), werr)
	}
	return p, nil
}

// rawFD returns f's descriptor and, unlike f.Fd, leaves it in the poller.
func rawFD(f *os.File) uintptr {
	fd := ^uintptr(0)
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(n uintptr) { fd = n })
	}
	return fd
}

// adopt makes a Process of a child that was just forked. It is not reaped yet, so its number is its own.
func (k *Kernel) adopt(pid, pidfd int) (*Process, error) {
	if pidfd < 0 { // clone without CLONE_PIDFD: before Linux 5.2
		p, err := k.OpenPID(pid, 0)
		if err != nil {
			return nil, err
		}
		k.bear(p)
		return &Process{PIDFD: *p}, nil
	}
	if err := unix.SetNonblock(pidfd, true); err != nil {
		return nil, err
	}
	p := &Process{PIDFD{PID: pid, file: os.NewFile(uintptr(pidfd), "pidfd")}}
	start, err := k.StartTime(pid)
	if err != nil {
		p.Close()
		return nil, err
	}
	p.Start = start
	k.bear(&p.PIDFD)
	return p, nil
}

// Wait waits until the process has ended and returns its exit; ECHILD for a process that is not a child. A child is reaped.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	if err := p.PIDFD.Wait(ctx); err != nil {
		return Exit{}, err
	}
	if c := p.child; c != nil {
		return c.wait(&p.PIDFD)
	}
	var exit Exit
	var err error
	cerr := p.control(func(fd int) { exit, _, err = waitid(fd, 0) })
	if err := errors.Join(cerr, err); err != nil {
		return Exit{}, fmt.Errorf("reap process %d: %w", p.PID, err)
	}
	return exit, nil
}

// siginfoChild is siginfo_t as waitid fills it in on 64-bit Linux.
type siginfoChild struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// Exit is how a process ended.
type Exit struct {
	Code   int         // what it returned; -1 when a signal ended it
	Signal unix.Signal // the signal that ended it
}

// String says it in words.
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("ended by signal %d (%s)", e.Signal, unix.SignalName(e.Signal))
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
