package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/spec"
)

const (
	socketName = "control.sock"
	pidName    = "pid.json"
	rootName   = "root"
	// The same of a helper of an earlier build that makes room.
	formerSocketName = "former.sock"
	formerPidName    = "former.json"
	logName          = "log"
	// helloTimeout is how long a helper may take to say who it is before it counts as stuck and is replaced.
	helloTimeout = 5 * time.Second
	// startTimeout is the same for a helper that was just started. Its end is noticed at once, and another start gains nothing:
	// with 15 processes for each processor it takes more than five seconds.
	startTimeout = time.Minute
)

// pidRecord names the helper's process for good.
type pidRecord struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// OpenHelper finds the running helper, or starts one: when there is none, when it does not answer, and when it speaks
// another version. What it serves is kept in the first case and empty in the others. One of another build makes room: a new
// one is started, and the old one goes on serving until each of its networks was set again. ctx bounds opening alone.
func OpenHelper(ctx context.Context, o HelperOptions) (*Helper, error) { return o.open(ctx, true) }

// FindHelper is OpenHelper for reading the served networks: if none are served, since no helper runs, it starts no helper and
// returns nil.
func FindHelper(ctx context.Context, o HelperOptions) (*Helper, error) {
	if _, err := o.Kernel.ReadDir(o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return o.open(ctx, false)
}

// StopHelper ends the running helper, and removes the files and the cgroup of a helper that has ended.
func StopHelper(ctx context.Context, o HelperOptions) error {
	h, err := FindHelper(ctx, o)
	if err != nil {
		return err
	}
	if h != nil {
		return h.Stop(ctx)
	}
	if err := errors.Join(o.Kernel.Remove(o.path(socketName)), o.Kernel.Remove(o.path(pidName))); err != nil || o.Cgroup == "" {
		return err
	}
	return o.Kernel.RemoveCgroup(ctx, o.Cgroup)
}

func (o HelperOptions) open(ctx context.Context, start bool) (*Helper, error) {
	k := o.Kernel
	if start { // a look leaves nothing
		if err := errors.Join(k.Mkdir(o.Dir, 0o700), k.Mkdir(o.path(rootName), 0o555)); err != nil {
			return nil, fmt.Errorf("open the network helper: %w", err)
		}
	}
	if _, err := k.SweepTemp(o.Dir); err != nil { // a daemon may have died while it wrote the pid file
		return nil, fmt.Errorf("open the network helper: %w", err)
	}
	h, err := o.current(ctx)
	if err != nil {
		return nil, err
	}
	f, err := o.former(ctx)
	if err != nil {
		err = fmt.Errorf("find the network helper of an earlier build: %w", err)
		if h != nil {
			err = errors.Join(err, h.Close())
		}
		return nil, err
	}
	if h == nil && (start || f != nil) {
		if h, err = o.start(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("start the network helper: %w", err), f.close())
		}
	}
	if h != nil {
		h.former = f
	}
	return h, nil
}

// current returns the helper that is there; nil where there is none that can be used, or none any more.
func (o HelperOptions) current(ctx context.Context) (*Helper, error) {
	h, err := o.adopt(ctx)
	switch {
	case err == nil && (o.Build == "" || h.hello.Build == o.Build):
		return h, nil
	case err == nil:
		if err := o.retire(ctx, h); err != nil {
			return nil, fmt.Errorf("make room for a network helper of build %s: %w", o.Build, err)
		}
	case ctx.Err() != nil:
		return nil, err
	default:
		if err := o.clear(ctx); err != nil {
			return nil, fmt.Errorf("replace the network helper: %w", err)
		}
	}
	return nil, nil
}

// retire makes the current helper the former one. Should there be one of those already, from an upgrade that was cut short,
// it ends now: its networks are set again right away.
func (o HelperOptions) retire(ctx context.Context, h *Helper) error {
	old, err := o.former(ctx)
	if err == nil {
		err = old.end(ctx)
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return err
	}
	// The pid file first: without its socket a name is of no use, and the next daemon starts over.
	return errors.Join(o.Kernel.Rename(o.path(pidName), o.path(formerPidName)), o.Kernel.Rename(o.path(socketName), o.path(formerSocketName)))
}

// former returns the helper of an earlier build, if one is left.
func (o HelperOptions) former(ctx context.Context) (*former, error) {
	k := o.Kernel
	f := &former{gone: func() error {
		return errors.Join(k.Remove(o.path(formerSocketName)), k.Remove(o.path(formerPidName)))
	}}
	c, err := dialControl(k, o.path(formerSocketName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		b, rerr := k.ReadFileLimit(o.path(formerPidName), 4096)
		var r pidRecord
		if rerr == nil && json.Unmarshal(b, &r) == nil && r.Start > 0 {
			f.process, err = k.OpenPID(r.PID, r.Start)
		} else {
			err = errors.Join(errors.New("its pid file cannot be read"), rerr)
		}
		if err == nil {
			f.wire = newWire(k, c, func(Event) {})
			return f, nil
		}
		c.Close()
	}
	if ctx.Err() != nil {
		return nil, err
	}
	return nil, f.gone() // it ended by itself
}

// adopt connects to the helper that is there. Its word alone does not say which process it is: that comes from the pid
// file, or, when a daemon died before it wrote one, from the cgroup. A helper that neither knows is told to quit.
func (o HelperOptions) adopt(ctx context.Context) (*Helper, error) {
	h, err := o.connect(ctx, helloTimeout)
	if err != nil {
		return nil, err
	}
	h.adopted = true
	if h.process, err = o.identify(h.hello.PID); err != nil {
		_, qerr := h.wire.call(ctx, Request{Op: OpQuit})
		h.wire.close()
		return nil, errors.Join(err, qerr)
	}
	h.wait = h.process.Wait
	return h.begin(ctx, o.record(h.process))
}

func (o HelperOptions) identify(claim int) (*host.PIDFD, error) {
	b, err := o.Kernel.ReadFileLimit(o.path(pidName), 4096)
	var r pidRecord
	if err == nil && json.Unmarshal(b, &r) == nil && r.PID == claim && r.Start > 0 {
		return o.Kernel.OpenPID(r.PID, r.Start)
	}
	if o.Cgroup != "" {
		pids, err := o.Kernel.CgroupProcs(o.Cgroup)
		if err == nil && slices.Contains(pids, claim) {
			return o.Kernel.OpenPID(claim, 0)
		}
	}
	return nil, fmt.Errorf("the network helper says it is process %d, which nothing confirms", claim)
}

// start starts a helper and connects to it.
func (o HelperOptions) start(ctx context.Context) (*Helper, error) {
	k := o.Kernel
	if o.Cgroup != "" {
		if err := k.MakeCgroup(o.Cgroup); err != nil {
			return nil, err
		}
	}
	log, err := k.OpenFile(o.path(logName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	listener, err := listenControl(k, o.path(socketName))
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	p, err := k.Start(host.ProcessSpec{
		Path: o.Program,
		Args: []string{"taproom-vnet", "-uid", strconv.Itoa(o.UID), "-gid", strconv.Itoa(o.GID), "-root", o.path(rootName), fmt.Sprintf("-connects=%t", o.Connects)},
		// With many networks most of the heap is there to stay: collecting it earlier than at twice its size costs little,
		// and keeps it small.
		Env:    []string{"GOTRACEBACK=single", "GOMAXPROCS=2", "GOGC=30"},
		Stderr: log, Files: []*os.File{listener}, Cgroup: o.Cgroup,
		NetNS: true, // where the resolvers are that it asks
	})
	if err != nil {
		return nil, err
	}
	if err := o.record(&p.PIDFD); err != nil {
		_, eerr := o.end(ctx, p)
		return nil, errors.Join(err, eerr)
	}
	listener.Close() // ours: with it open, a connection to a helper that has ended would wait for ever
	h, err := o.connect(ctx, startTimeout)
	if err != nil {
		exit, eerr := o.end(ctx, p)
		return nil, errors.Join(fmt.Errorf("%w (%s); it said: %q", err, exit, o.said()), eerr)
	}
	h.process = &p.PIDFD
	h.wait = func(ctx context.Context) error { _, err := p.Wait(ctx); return err } // reaps: it is our child
	return h.begin(ctx, nil)
}

// end ends a helper that was started and is of no use. It may have ended by itself.
func (o HelperOptions) end(ctx context.Context, p *host.Process) (exit host.Exit, err error) {
	err = o.Kernel.Signal(&p.PIDFD, unix.SIGKILL)
	if err == nil || errors.Is(err, host.ErrGone) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), helloTimeout)
		defer cancel()
		exit, err = p.Wait(ctx)
	}
	return exit, errors.Join(err, p.Close())
}

// said returns the beginning of a helper's output. A trace of Go's runtime is longer, and gives the cause in its first lines.
func (o HelperOptions) said() string {
	f, err := o.Kernel.OpenFile(o.path(logName), os.O_RDONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 1024)
	n, _ := f.ReadAt(b, 0) // io.EOF where it is shorter
	return strings.TrimSpace(string(b[:n]))
}

// connect says hello and nothing more.
func (o HelperOptions) connect(ctx context.Context, within time.Duration) (*Helper, error) {
	c, err := dialControl(o.Kernel, o.path(socketName))
	if err != nil {
		return nil, err
	}
	h := &Helper{
		o: o, k: o.Kernel, events: make(chan Event, eventQueue), compact: make(chan spec.UUID, eventQueue),
		over: make(chan struct{}), lost: make(chan struct{}),
	}
	h.wire = newWire(o.Kernel, c, h.deliver)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r, err := h.wire.call(ctx, Request{Op: OpHello})
	if err == nil && (r.Hello == nil || r.Hello.Version != WireVersion) {
		err = fmt.Errorf("the network helper does not speak version %d", WireVersion)
	}
	if err != nil {
		h.wire.close()
		return nil, err
	}
	h.hello = *r.Hello
	return h, nil
}

// record writes the pid file.
func (o HelperOptions) record(p *host.PIDFD) error {
	b, err := json.Marshal(pidRecord{p.PID, p.Start})
	if err != nil {
		return err
	}
	return o.Kernel.WriteFile(o.path(pidName), b, 0o600, false)
}

// clear ends whatever is left of an earlier helper: the process the pid file names, and all in the cgroup.
func (o HelperOptions) clear(ctx context.Context) error {
	k := o.Kernel
	b, err := k.ReadFileLimit(o.path(pidName), 4096)
	var r pidRecord
	if err == nil && json.Unmarshal(b, &r) == nil && r.PID > 0 && r.Start > 0 {
		err = o.kill(ctx, r)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, host.ErrGone) {
		return err
	}
	if o.Cgroup != "" {
		// A cgroup that was once killed kills what clone3 starts in it (seen on Linux 6.18), so the next helper gets a
		// new one.
		if err := errors.Join(k.KillCgroup(o.Cgroup), k.RemoveCgroup(ctx, o.Cgroup)); err != nil {
			return err
		}
	}
	return nil
}

func (o HelperOptions) kill(ctx context.Context, r pidRecord) error {
	p, err := o.Kernel.OpenPID(r.PID, r.Start)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := o.Kernel.Signal(p, unix.SIGKILL); err != nil {
		return err
	}
	return p.Wait(ctx)
}
