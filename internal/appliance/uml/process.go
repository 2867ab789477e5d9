package uml

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/qemu/launch"
	"taproom/internal/qemu/spawn"
)

// Spec is a guest that should run. It is Start's, also when that fails.
type Spec struct {
	Launcher string // path of taproom-launch
	Config   Config // its FDs are set here
	UID, GID uint32 // whom it runs as, and nobody else does; never 0
	Cgroup   string // directory of the cgroup v2 that it is born in; "" stays in the caller's

	Line   *os.File // the guest's end of the line to the agent
	Tools  *os.File // the disk of tools; nil for none
	Leash  *os.File // the reading end of a pipe: the host's kernel ends the guest when the last writing end closes
	Output *os.File // what the guest's kernel prints
}

// Process is a guest that was started. Its methods may be called at the same time.
type Process struct {
	k        *host.Kernel
	child    *host.Process
	plug     net.Conn
	executed time.Time
	cancel   context.CancelFunc
	exited   chan struct{}
	watched  chan struct{}
	exit     host.Exit               // once exited is closed
	waitFor  func(*host.PIDFD) error // until a process is gone, at most programsEnd

	plugging sync.Mutex
	stuck    error // an answer did not come: the next one would be taken for another's
}

// Start runs a guest and returns when its kernel was executed. Wait for its agent. A host that cannot confine it is a *NotConfinedError.
func Start(ctx context.Context, k *host.Kernel, s Spec) (*Process, error) {
	defer s.Close()
	if s.UID == 0 || s.GID == 0 {
		return nil, errors.New("start User-Mode Linux: refused to run it as root")
	}
	ours, theirs, err := k.SocketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	plug, err := net.FileConn(ours)
	_ = ours.Close() // FileConn takes a copy
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, k, s, theirs)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start User-Mode Linux: %w", err), plug.Close())
	}
	p.plug = plug
	return p, nil
}

// Close closes what is passed: Start does.
func (s Spec) Close() {
	for _, f := range []*os.File{s.Line, s.Tools, s.Leash, s.Output} {
		_ = f.Close() // of nil it is an error and no more
	}
}

func start(ctx context.Context, k *host.Kernel, s Spec, plug *os.File) (*Process, error) {
	files := []*os.File{s.Line, plug}
	c := s.Config
	c.FDs = Inherited{Line: spawn.FirstFD, Plug: spawn.FirstFD + 1}
	if s.Tools != nil {
		c.FDs.Tools = spawn.FirstFD + len(files)
		files = append(files, s.Tools)
	}
	child, status, err := spawn.Start(k, spawn.Command{
		Launcher: s.Launcher, Files: files, Leash: s.Leash, Log: s.Output, Cgroup: s.Cgroup,
		Spec: launch.Spec{
			Path: c.Kernel, Args: c.Args(), UID: s.UID, GID: s.GID, Umask: 0o077, NoHugePages: true, NoRandomize: true,
			Limits:   []launch.Limit{{Resource: unix.RLIMIT_CORE}}, // a core file would hold the guest's memory
			Landlock: ruleset(c), Syscalls: syscalls(),
		},
	})
	if err != nil {
		return nil, err
	}
	defer status.Close()
	p := watch(ctx, k, child)
	report, err := spawn.Report(ctx, status)
	if err == nil {
		err = confined(report)
	}
	if err != nil {
		return nil, errors.Join(err, p.End())
	}
	p.executed = time.Now()
	return p, nil
}

// watch notices the end of a process. ctx gives only its values: the process outlives the request.
func watch(ctx context.Context, k *host.Kernel, child *host.Process) *Process {
	ever := context.WithoutCancel(ctx)
	ctx, cancel := context.WithCancel(ever)
	p := &Process{k: k, child: child, cancel: cancel, exited: make(chan struct{}), watched: make(chan struct{})}
	p.waitFor = func(other *host.PIDFD) error {
		ctx, cancel := context.WithTimeout(ever, programsEnd)
		defer cancel()
		if err := other.Wait(ctx); err != nil {
			return fmt.Errorf("wait for a program of User-Mode Linux (process %d): %w", other.PID, err)
		}
		return nil
	}
	go func() {
		defer close(p.watched)
		exit, err := child.Wait(ctx)
		if err == nil || errors.Is(err, unix.ECHILD) {
			p.exit = exit
			close(p.exited)
		}
	}()
	return p
}

// PID is the number of the process that is the guest's kernel.
func (p *Process) PID() int { return p.child.PID }

// Executed is when taproom-launch became the guest's kernel.
func (p *Process) Executed() time.Time { return p.executed }

// Exited is closed when the guest's kernel has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// How says how it ended, once Exited is closed.
func (p *Process) How() string { return p.exit.String() }

// programsEnd is how long a program may take to go that was killed: it may wait for the host's disk.
const programsEnd = time.Minute

// End kills it, waits until it is gone, and lets go of it. The kernel of the host kills what it traced, the guest's programs, with it.
func (p *Process) End() error {
	programs := p.programs()
	err := p.k.Signal(&p.child.PIDFD, unix.SIGKILL)
	if errors.Is(err, host.ErrGone) {
		err = nil
	}
	killed := err == nil
	if killed {
		<-p.exited
	}
	for _, program := range programs { // they share the guest's descriptors: what it had open is closed when they are gone
		if killed {
			err = errors.Join(err, p.waitFor(program))
		}
		err = errors.Join(err, program.Close())
	}
	p.cancel()
	<-p.watched
	if p.plug != nil {
		err = errors.Join(err, p.plug.Close())
	}
	return errors.Join(err, p.child.Close())
}

// ErrRefused says that the guest's kernel did not do what it was told, and is as it was.
var ErrRefused = errors.New("User-Mode Linux refuses")

// programs takes hold of the processes that run for the guest. When it has ended its number may be another's, and so the children.
func (p *Process) programs() []*host.PIDFD {
	select {
	case <-p.exited:
		return nil
	default:
	}
	children, _ := p.k.Children(p.PID()) // one that is gone has none
	var out []*host.PIDFD
	for _, pid := range children {
		if program, err := p.k.OpenPID(pid, 0); err == nil { // one that is gone needs no waiting
			out = append(out, program)
		}
	}
	return out
}

// Plug gives the guest a disk, with one file, or an overlay's two. The files stay the caller's.
func (p *Process) Plug(ctx context.Context, d Disk, files ...*os.File) error {
	return p.ask(ctx, d.Command(), files...)
}

// Unplug takes it away again. A disk that is in use stays, which is an error.
func (p *Process) Unplug(ctx context.Context, d Disk) error { return p.ask(ctx, d.Removal()) }

// ask sends a command and waits for the answer.
func (p *Process) ask(ctx context.Context, command string, files ...*os.File) error {
	p.plugging.Lock()
	defer p.plugging.Unlock()
	if p.stuck != nil {
		return p.stuck
	}
	if ctx.Err() != nil { // nothing was sent
		return fmt.Errorf("tell User-Mode Linux of a disk: %w", context.Cause(ctx))
	}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = p.plug.SetDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() { // it may have ended behind the answer: the next one has its own time
			<-over
			_ = p.plug.SetDeadline(time.Time{})
		}
	}()
	err := p.send(command, files)
	var answer [32]byte
	n := 0
	if err == nil {
		n, err = p.plug.Read(answer[:])
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		p.stuck = fmt.Errorf("tell User-Mode Linux of a disk: %w", err)
		return p.stuck
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(answer[:n])))
	if err != nil || code > 0 {
		return fmt.Errorf("tell User-Mode Linux of a disk: it answered %q", answer[:n])
	}
	if code < 0 {
		return fmt.Errorf("%w: %w", ErrRefused, unix.Errno(-code))
	}
	return nil
}

func (p *Process) send(command string, files []*os.File) error {
	if len(files) == 0 {
		_, err := p.plug.Write([]byte(command))
		return err
	}
	return p.k.SendFiles(p.plug, []byte(command), files...)
}
