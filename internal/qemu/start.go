package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/qemu/launch"
	"taproom/internal/qemu/qmp"
	"taproom/internal/qemu/spawn"
)

// StartSpec is a QEMU that should run.
type StartSpec struct {
	Launcher string // path of taproom-launch
	Config   *Config
	Files    map[string]*os.File // what the Config's names stand for, without the monitor's socket; the caller keeps them
	Confinement

	QMPPath string // where the monitor's socket is made, mode 0600; it is removed again when the start fails
	PIDFile string // "" for none
	LogPath string // QEMU's stdout and stderr, appended
	Cgroup  string // directory of the cgroup v2 that QEMU is born in; "" stays in the caller's
}

// Start runs QEMU and returns when its monitor answers; ctx bounds the wait. The guest's CPUs are stopped. An error is a
// *StartError unless the host refused something before any process existed; either way no process, socket or pid file is
// left. The cgroup and the log are the caller's.
func Start(ctx context.Context, k *host.Kernel, s StartSpec) (*Process, error) {
	if s.UID == 0 || s.GID == 0 {
		return nil, &StartError{Binary: s.Config.Binary, Guest: s.Config.Name, Reason: ErrRoot}
	}
	st := &starting{k: k, spec: s, files: map[string]*os.File{}}
	defer st.closeFiles()
	p, err := st.run(ctx)
	if err != nil {
		return nil, errors.Join(err, st.undo())
	}
	return p, nil
}

// starting is what exists on the way to a Process. Each file is closed in this process when the start is over.
type starting struct {
	k    *host.Kernel
	spec StartSpec

	argv  []string
	names []string

	files    map[string]*os.File // ours: socket, status, log, …
	life     *os.File            // our end of the process's lifeline
	conn     net.Conn
	logStart int64
	report   launch.Report
	made     []string // paths that a failed start removes
}

func (st *starting) closeFiles() {
	for _, f := range st.files {
		_ = f.Close()
	}
}

func (st *starting) undo() error {
	if st.conn != nil {
		_ = st.conn.Close()
	}
	if st.life != nil {
		_ = st.life.Close()
	}
	var errs []error
	for _, path := range st.made {
		if err := st.k.Remove(path); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (st *starting) run(ctx context.Context) (*Process, error) {
	if err := st.prepare(ctx); err != nil {
		return nil, err
	}
	child, err := st.fork()
	if err != nil {
		return nil, err
	}
	p := watch(ctx, st.k, child, tailOf(st.k, st.spec.LogPath, st.logStart))
	p.holdLife(st.life)
	st.life = nil // the process owns it
	if err := st.handOver(ctx); err != nil {
		return nil, st.giveUp(ctx, p, err)
	}
	p.executed = time.Now()
	conn := st.conn
	st.conn = nil // the client owns it
	client, err := qmp.New(ctx, st.k, conn, st.spec.QMPPath)
	if err != nil {
		return nil, st.giveUp(ctx, p, err)
	}
	p.qmp.Store(client)
	p.landlock, p.noLandlock = st.report.Landlock, st.report.NoLandlock
	return p, nil
}

// prepare makes everything that must exist before the process. The connection to the monitor is one of it: the socket
// listens already, so QEMU finds it in its queue and the greeting comes without polling.
func (st *starting) prepare(ctx context.Context) error {
	c := *st.spec.Config
	c.QMP = "qmp"
	var err error
	if st.argv, st.names, err = c.Args(spawn.FirstFD + 1); err != nil { // behind the lifeline
		return err
	}
	if st.life, st.files["lifeline"], err = os.Pipe(); err != nil {
		return err
	}
	if st.files["qmp"], err = st.k.ListenUnix(st.spec.QMPPath, 0o600); err != nil {
		return fmt.Errorf("make QEMU's monitor socket: %w", err)
	}
	st.made = append(st.made, st.spec.QMPPath)
	if st.conn, err = st.k.DialUnix(ctx, st.spec.QMPPath); err != nil {
		return err
	}
	if st.files["log"], err = st.k.OpenFile(st.spec.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return fmt.Errorf("open QEMU's log: %w", err)
	}
	if st.logStart, err = st.files["log"].Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("open QEMU's log: %w", err)
	}
	if st.spec.PIDFile != "" {
		if st.files["pid"], err = st.k.OpenFile(st.spec.PIDFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
			return fmt.Errorf("open QEMU's pid file: %w", err)
		}
		st.made = append(st.made, st.spec.PIDFile)
	}
	return nil
}

// fork starts taproom-launch with QEMU's descriptors.
func (st *starting) fork() (*host.Process, error) {
	files := append(make([]*os.File, 0, len(st.names)+1), st.files["lifeline"])
	for _, name := range st.names {
		f := st.spec.Files[name]
		if name == "qmp" {
			f = st.files["qmp"]
		}
		if f == nil {
			return nil, fmt.Errorf("start guest %q: its command line needs the file %q and nobody opened it", st.spec.Config.Name, name)
		}
		files = append(files, f)
	}
	spec, err := st.launchSpec()
	if err != nil {
		return nil, fmt.Errorf("start guest %q: %w", st.spec.Config.Name, err)
	}
	child, status, err := spawn.Start(st.k, spawn.Command{
		Launcher: st.spec.Launcher, Spec: spec, Files: files, PIDFile: st.files["pid"], Log: st.files["log"], Cgroup: st.spec.Cgroup,
	})
	if err != nil {
		return nil, fmt.Errorf("start guest %q: %w", st.spec.Config.Name, err)
	}
	st.files["status"] = status
	return child, nil
}

func (st *starting) launchSpec() (launch.Spec, error) {
	s := st.spec
	l := launch.Spec{
		Path: s.Config.Binary, Args: append([]string{s.Config.Binary}, st.argv...),
		Env: append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}, s.Config.Env...),
		UID: s.UID, GID: s.GID, Umask: 0o077, Limits: s.limits(), OOMScore: s.OOMScore,
		DieWithParent: s.DieWithParent, NoHugePages: s.NoHugePages,
	}
	if !s.NoLandlock {
		l.Landlock = ruleset(s.Config, func(path string) bool { _, err := os.Stat(path); return err == nil })
	}
	if s.Config.Accel.Head == "kvm" && os.Geteuid() == 0 {
		var err error
		if l.Groups, err = deviceGroups(st.k, kvmPath); err != nil {
			return l, err
		}
	}
	return l, nil
}

// handOver lets go of the child's ends and reads what taproom-launch reports. Its end closes with exec.
func (st *starting) handOver(ctx context.Context) error {
	status := st.files["status"]
	for name, f := range st.files {
		if name != "status" {
			_ = f.Close()
			delete(st.files, name)
		}
	}
	var err error
	st.report, err = spawn.Report(ctx, status)
	return err
}

// endWithin is how long a QEMU that hung up may take to be gone.
const endWithin = time.Second

// giveUp ends the process and says why there is none. It waits for the end regardless of ctx: after SIGKILL that is
// the kernel's business alone.
func (st *starting) giveUp(ctx context.Context, p *Process, cause error) error {
	e := &StartError{Binary: st.spec.Config.Binary, Guest: st.spec.Config.Name, Reason: ErrDied, Err: cause}
	var failed *spawn.Failed
	switch {
	case errors.As(cause, &failed) && failed.Stage == launch.StageExec:
		e.Reason, e.Err = ErrBinary, whyNot(st.k, e.Binary, st.spec.UID, st.spec.GID, cause)
	case errors.As(cause, &failed):
		e.Reason = ErrConfine
	case ctx.Err() != nil:
		e.Reason = ErrSilent
	case !errors.Is(cause, qmp.ErrPeerClosed) && !errors.Is(cause, qmp.ErrTruncated):
		e.Reason = ErrSilent // it talks, but not QMP
	default:
		ctx, cancel := context.WithTimeout(ctx, endWithin)
		_, err := p.Wait(ctx)
		cancel()
		if err != nil {
			e.Reason = ErrSilent // it hung up, and lives
		}
	}
	if errors.Is(e.Reason, ErrDied) {
		e.Err = nil // "connection closed" is how we noticed, not why
	}
	_ = p.Signal(unix.SIGKILL) // one that is gone needs none
	<-p.Exited()
	if failed == nil { // it was executed
		e.Exit = p.exit.String()
		e.Stderr = p.LogTail()
	}
	return errors.Join(e, p.Close())
}
