package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// cgroupOf is the cgroup of a guest; "" where guests have none.
func (e *Engine) cgroupOf(uuid spec.UUID) string {
	if e.cgroup == "" {
		return ""
	}
	return filepath.Join(e.cgroup, guestCgroup+uuid.String())
}

// processAt takes hold of the process that a pid file names; nil when there is none any more. taproom-launch writes the
// file, and goes on only while the daemon that started it lives: so what a later daemon finds there is all there is.
func (e *Engine) processAt(pidFile string) (*host.PIDFD, error) {
	r, err := qemu.ReadPIDFile(e.k, pidFile)
	if errors.Is(err, qemu.ErrNotRunning) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := e.k.OpenPID(r.PID, r.Start)
	if errors.Is(err, host.ErrGone) {
		return nil, nil
	}
	return p, err
}

// killGuest ends everything that runs of a guest: what is in its cgroup or, without one, its QEMU, which may start nothing.
func (e *Engine) killGuest(uuid spec.UUID, cgroup string) error {
	if cgroup != "" {
		return e.k.KillCgroup(cgroup)
	}
	p, err := e.processAt(e.pidFile(uuid))
	if p == nil || err != nil {
		return err
	}
	defer p.Close()
	if err := e.k.Signal(p, unix.SIGKILL); err != nil && !errors.Is(err, host.ErrGone) {
		return err
	}
	return nil
}

// awaitGone waits until a guest that was killed is gone, and removes its cgroup. It does not wait for ever: a process in
// the middle of a read from a disk that hangs ends when the disk answers.
func (e *Engine) awaitGone(ctx context.Context, rec record) error {
	within := cmp.Or(e.cfg.GoneWithin, goneWithin)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := e.gone(ctx, rec.UUID, rec.Cgroup)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("its QEMU, process %d, was killed and has not ended within %v: it waits for a disk or another device", rec.PID, within)
	}
	return err
}

// gone waits until nothing of a guest runs.
func (e *Engine) gone(ctx context.Context, uuid spec.UUID, cgroup string) error {
	if cgroup != "" {
		return e.k.RemoveCgroup(ctx, cgroup)
	}
	p, err := e.processAt(e.pidFile(uuid))
	if p == nil || err != nil {
		return err
	}
	defer p.Close()
	return p.Wait(ctx)
}
