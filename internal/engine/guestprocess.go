package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/qemu"
	"taproom/internal/qemu/companion"
	"taproom/internal/spec"
)

// cgroupOf is the cgroup of a guest; "" where guests have none.
func (e *Engine) cgroupOf(uuid spec.UUID) string {
	if e.cgroup == "" {
		return ""
	}
	return filepath.Join(e.cgroup, guestCgroup+uuid.String())
}

// processesOf takes hold of what runs of a guest by the pid files in its directory: QEMU's, and those of the programs beside
// it. What starts after the daemon that wrote down the guest has ended does not go on, so these are all.
func (e *Engine) processesOf(uuid spec.UUID) (all []*host.PIDFD, err error) {
	dir := e.paths.Guest(uuid.String())
	entries, err := e.k.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if name := entry.Name(); name == pidName || strings.HasSuffix(name, companion.PIDSuffix) {
			p, perr := e.processAt(filepath.Join(dir, name))
			if err = errors.Join(err, perr); p != nil {
				all = append(all, p)
			}
		}
	}
	return all, err
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

// killGuest ends everything that runs of a guest: what is in its cgroup or, without one, what its pid files name, none of
// which may start anything.
func (e *Engine) killGuest(uuid spec.UUID, cgroup string) error {
	if cgroup != "" {
		return e.k.KillCgroup(cgroup)
	}
	all, err := e.processesOf(uuid)
	for _, p := range all {
		if serr := e.k.Signal(p, unix.SIGKILL); !errors.Is(serr, host.ErrGone) {
			err = errors.Join(err, serr)
		}
		err = errors.Join(err, p.Close())
	}
	return err
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
	all, err := e.processesOf(uuid)
	for _, p := range all {
		err = errors.Join(err, p.Wait(ctx), p.Close())
	}
	return err
}
