package engine

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/engine/job"
	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/network/alloc"
	"taproom/internal/network/state"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
)

// startError gives a failed start libvirt's number, and says what can be done where the cause does not.
func (e *Engine) startError(d *domain, err error) error {
	var (
		preempted *job.Preempted
		known     *virterr.Error
		need      *guest.NeedError
		failed    *qemu.StartError
		errno     unix.Errno
	)
	cannot := func(code virterr.Code, err error, remedy string) error {
		return virterr.New(code, "cannot start domain '%s': %w%s", d.label, err, remedy)
	}
	switch {
	case errors.As(err, &preempted):
		return virterr.New(virterr.OperationAborted, "start of domain '%s' was %w", d.label, preempted)
	case errors.As(err, &known):
		return err
	case errors.As(err, &need):
		return cannot(virterr.SystemError, need, "")
	case errors.As(err, &failed) && errors.Is(failed.Reason, qemu.ErrBinary):
		return cannot(virterr.ConfigUnsupported, failed, "; "+anotherEmulator)
	case errors.As(err, &failed) && errors.Is(err, context.DeadlineExceeded):
		return cannot(virterr.OperationTimeout, failed, "; where the host is that slow, raise qemu_ready_seconds in taproomd.toml")
	case errors.As(err, &failed) && failed.Stderr != "":
		return cannot(virterr.InternalError, failed, "; all it said is in "+e.places(d).log)
	case errors.Is(err, state.ErrForeign), errors.Is(err, host.ErrTaken), errors.Is(err, alloc.ErrExhausted):
		return cannot(virterr.OperationFailed, err, "")
	case errors.As(err, &errno):
		return cannot(virterr.SystemError, err, remedy(err))
	}
	return cannot(virterr.InternalError, err, "")
}

const anotherEmulator = "install qemu-system-x86, or name another one in <emulator>"

// endWithin is how long a QEMU that hung up may take to be gone.
const endWithin = time.Second

// settleError says of a monitor that fell silent what became of its QEMU.
func (s *starting) settleError(ctx context.Context, err error) error {
	failed := &qemu.StartError{Binary: s.running.rec.Emulator, Guest: s.d.label, Reason: qemu.ErrSilent, Err: err}
	var conn *qmp.ConnError
	var silent *qmp.NoReplyError
	switch {
	case errors.As(err, &silent):
	case errors.As(err, &conn):
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
		if exit, werr := s.running.proc.Wait(ctx); werr == nil {
			failed.Reason, failed.Exit, failed.Err = qemu.ErrDied, exit.String(), nil
		}
	default: // it refused something
		return err
	}
	failed.Stderr = s.running.lastWords()
	return failed
}
