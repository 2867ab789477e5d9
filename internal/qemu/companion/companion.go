// Package companion is a program that runs beside one guest's QEMU and serves a device of it over a Unix socket: swtpm,
// virtiofsd. It is started before QEMU and has ended after it; a daemon that is restarted finds it by its pid file. What
// it runs as, what it may open and which arguments it gets are in swtpm.go and virtiofsd.go, which touch nothing.
package companion

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/qemu"
	"taproom/internal/qemu/launch"
	"taproom/internal/qemu/spawn"
)

// SocketFD is the descriptor at which a companion finds the socket that it serves: it listens already.
const SocketFD = spawn.FirstFD

// ErrMissing means that a program that a guest needs is not installed. The message names the package that has it.
var ErrMissing = errors.New("is not installed")

// Spec is a companion that should run.
type Spec struct {
	Program  Program
	Device   string // the alias of the device that it serves; with the guest's run directory it names its files
	RunDir   string // the guest's run directory
	Launcher string // path of taproom-launch
	LogPath  string // its stdout and stderr, appended
	Cgroup   string // the guest's
}

// Program is what is executed, and as whom.
type Program struct {
	Name     string   // as in messages: "swtpm"
	Args     []string // argv; argv[0] is the path
	Env      []string // beside PATH and LC_ALL
	Dir      string   // where it runs; "" is /
	UID, GID uint32   // 0 for one that runs as root and shuts itself in
	Landlock *host.Landlock
	// Connected has it find its end of QEMU's connection at SocketFD, rather than a socket that listens.
	Connected bool
}

// PIDSuffix is what the names of companions' pid files end with.
const PIDSuffix = ".pid"

// PIDFile is where the process of a device's companion is written down.
func PIDFile(runDir, device string) string { return filepath.Join(runDir, device+PIDSuffix) }

// socketOf is the socket that a device's companion serves.
func socketOf(runDir, device string) string { return filepath.Join(runDir, device+".sock") }

// Process is one that was started or adopted.
type Process struct {
	Name   string // of the program; "" for one that was adopted
	Device string
	PID    int

	child   *host.Process
	cancel  context.CancelFunc
	closed  chan struct{}
	watched chan struct{} // the watcher has returned
	exited  chan struct{} // it has ended; exit is set
	exit    string
}

// Start runs a companion and returns QEMU's end of its socket, connected already: what QEMU says waits until the program
// takes it. The socket and the pid file are in the guest's run directory and go with that, the process with the cgroup.
func Start(ctx context.Context, k *host.Kernel, s Spec) (*Process, *os.File, error) {
	fail := func(err error) error { return fmt.Errorf("start %s for %s: %w", s.Program.Name, s.Device, err) }
	socket := socketOf(s.RunDir, s.Device)
	listener, err := k.ListenUnix(socket, 0o600)
	if err != nil {
		return nil, nil, fail(err)
	}
	defer listener.Close() // or QEMU would wait for ever for one that died
	conn, err := dial(ctx, k, socket)
	if err != nil {
		return nil, nil, fail(err)
	}
	served := listener
	if s.Program.Connected {
		if served, err = accept(listener); err != nil {
			return nil, nil, errors.Join(fail(err), conn.Close())
		}
		defer served.Close()
	}
	child, err := start(ctx, k, s, PIDFile(s.RunDir, s.Device), served)
	if err != nil {
		return nil, nil, errors.Join(fail(err), conn.Close())
	}
	p := watch(ctx, child, s.Device)
	p.Name = s.Program.Name
	return p, conn, nil
}

// accept takes the connection that waits.
func accept(listener *os.File) (*os.File, error) {
	fd, _, err := unix.Accept4(int(listener.Fd()), unix.SOCK_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("accept QEMU's connection: %w", err)
	}
	return os.NewFile(uintptr(fd), "connection"), nil
}

// Run runs a program to its end, which has to be a good one. It inherits nothing.
func Run(ctx context.Context, k *host.Kernel, s Spec) error {
	child, err := start(ctx, k, s, "")
	if err != nil {
		return fmt.Errorf("run %s for %s: %w", s.Program.Name, s.Device, err)
	}
	defer child.Close()
	exit, err := child.Wait(ctx)
	if err != nil { // it is not waited for any longer
		return errors.Join(fmt.Errorf("run %s for %s: %w", s.Program.Name, s.Device, err), end(ctx, k, child))
	}
	if exit != (host.Exit{}) {
		return fmt.Errorf("%s for %s: %s; what it said is in %s", s.Program.Name, s.Device, exit, s.LogPath)
	}
	return nil
}

// killedWithin is how long a program that was killed may take to be gone.
const killedWithin = 10 * time.Second

// end kills a program and waits until it is gone: what it has open, and its directory, are free then.
func end(ctx context.Context, k *host.Kernel, child *host.Process) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killedWithin)
	defer cancel()
	if err := k.Signal(&child.PIDFD, unix.SIGKILL); err != nil {
		return err
	}
	_, err := child.Wait(ctx)
	return err
}

func dial(ctx context.Context, k *host.Kernel, path string) (*os.File, error) {
	c, err := k.DialUnix(ctx, path)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	filer, ok := c.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("connection to %s has no descriptor", path)
	}
	return filer.File()
}

// start executes the program; it returns once that has succeeded or failed.
func start(ctx context.Context, k *host.Kernel, s Spec, pidPath string, files ...*os.File) (*host.Process, error) {
	log, err := k.OpenFile(s.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open its log: %w", err)
	}
	defer log.Close()
	var pid *os.File
	if pidPath != "" {
		if pid, err = k.OpenFile(pidPath, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
			return nil, fmt.Errorf("open its pid file: %w", err)
		}
		defer pid.Close()
	}
	p := s.Program
	child, status, err := spawn.Start(k, spawn.Command{
		Launcher: s.Launcher, Files: files, PIDFile: pid, Log: log, Dir: p.Dir, Cgroup: s.Cgroup,
		Spec: launch.Spec{
			Path: p.Args[0], Args: p.Args, Env: append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"}, p.Env...),
			UID: p.UID, GID: p.GID, Root: p.UID == 0, Umask: 0o077, Limits: []launch.Limit{{Resource: unix.RLIMIT_CORE}}, Landlock: p.Landlock,
		},
	})
	if err != nil {
		return nil, err
	}
	defer status.Close()
	_, err = spawn.Report(ctx, status)
	if err == nil {
		return child, nil
	}
	if errors.Is(err, fs.ErrNotExist) { // it was there when it was looked for
		err = fmt.Errorf("%s: %w", p.Args[0], err)
	}
	_ = k.Signal(&child.PIDFD, unix.SIGKILL)
	_, werr := child.Wait(context.WithoutCancel(ctx))
	return nil, errors.Join(err, werr, child.Close())
}

// Adopt takes hold of a companion that an earlier daemon started, and that may have ended meanwhile.
func Adopt(ctx context.Context, k *host.Kernel, runDir, device string) (*Process, error) {
	r, err := qemu.ReadPIDFile(k, PIDFile(runDir, device))
	var fd *host.PIDFD
	if err == nil {
		fd, err = k.OpenPID(r.PID, r.Start)
	}
	switch {
	case errors.Is(err, host.ErrGone), errors.Is(err, qemu.ErrNotRunning):
		return ended(device), nil
	case err != nil:
		return nil, fmt.Errorf("take over what serves %s: %w", device, err)
	}
	return watch(ctx, &host.Process{PIDFD: *fd}, device), nil
}

// watch takes over a process and notices its end. ctx gives only its values: the process outlives the request.
func watch(ctx context.Context, child *host.Process, device string) *Process {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until Close
	p := &Process{
		Device: device, PID: child.PID, child: child,
		closed: make(chan struct{}), watched: make(chan struct{}), exited: make(chan struct{}),
	}
	p.cancel = sync.OnceFunc(func() { cancel(); close(p.closed) })
	go func() {
		defer close(p.watched)
		exit, err := child.Wait(ctx)
		switch {
		case err == nil:
			p.exit = exit.String()
		case errors.Is(err, unix.ECHILD): // ended, and its status went to another parent
			p.exit = "ended"
		default: // Close
			return
		}
		close(p.exited)
	}()
	return p
}

// ended is one that was gone when it was looked for.
func ended(device string) *Process {
	p := &Process{Device: device, exit: "ended", watched: make(chan struct{}), exited: make(chan struct{}), closed: make(chan struct{})}
	p.cancel = sync.OnceFunc(func() { close(p.closed) })
	close(p.watched)
	close(p.exited)
	return p
}

// End is for one whose device was unplugged: it ends by itself, since QEMU hung up, and is killed when it has not within that
// time. What Start made in the run directory is removed.
func (p *Process) End(ctx context.Context, k *host.Kernel, runDir string, within time.Duration) error {
	fail := func(err error) error { return fmt.Errorf("end what serves %s: %w", p.Device, err) }
	select {
	case <-p.exited:
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	case <-time.After(within):
		if err := k.Signal(&p.child.PIDFD, unix.SIGKILL); err != nil && !errors.Is(err, host.ErrGone) {
			return fail(err)
		}
		select {
		case <-p.exited:
		case <-time.After(killedWithin):
			return fail(errors.New("it was killed, and is not gone"))
		}
	}
	return errors.Join(p.Close(), k.RemoveSocket(socketOf(runDir, p.Device)), k.Remove(PIDFile(runDir, p.Device)))
}

// Exited is closed when the process has ended; Close does not close it.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Closed is closed by Close.
func (p *Process) Closed() <-chan struct{} { return p.closed }

// How says how it ended; only once Exited is closed.
func (p *Process) How() string { return p.exit }

// Close lets go of it; one that runs goes on running.
func (p *Process) Close() error {
	p.cancel()
	<-p.watched
	if p.child == nil {
		return nil
	}
	return p.child.Close()
}
