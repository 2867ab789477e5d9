package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"taproom/internal/host"
	"taproom/internal/qemu/launch"
	"taproom/internal/qemu/qmp"
)

// ReadPIDFile returns which process a pid file names. A missing, empty or half-written file is ErrNotRunning: it is
// written before QEMU is executed, so then there is no QEMU.
func ReadPIDFile(k *host.Kernel, path string) (launch.PIDRecord, error) {
	const most = 4096
	b, err := k.ReadFileLimit(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return launch.PIDRecord{}, fmt.Errorf("%s: %w", path, ErrNotRunning)
	}
	if err != nil {
		return launch.PIDRecord{}, fmt.Errorf("read a pid file: %w", err)
	}
	var r launch.PIDRecord
	if err := json.Unmarshal(b, &r); err != nil || r.PID <= 1 || r.Start == 0 {
		return launch.PIDRecord{}, fmt.Errorf("%s holds %q: %w", path, b, ErrNotRunning)
	}
	return r, nil
}

// Adopt takes hold of a QEMU that another process started and that may have ended meanwhile: then, and also when its
// number belongs to another process by now, the error is ErrNotRunning. It talks to nobody; Connect opens the monitor.
func Adopt(ctx context.Context, k *host.Kernel, pidFile, logPath string) (*Process, error) {
	r, err := ReadPIDFile(k, pidFile)
	if err != nil {
		return nil, err
	}
	fd, err := k.OpenPID(r.PID, r.Start)
	if errors.Is(err, host.ErrGone) {
		return nil, fmt.Errorf("%s: %w: %w", pidFile, ErrNotRunning, err)
	}
	if err != nil {
		return nil, err
	}
	over, err := fd.Exited()
	if err == nil && over {
		err = fmt.Errorf("%s: process %d has ended: %w", pidFile, r.PID, ErrNotRunning)
	}
	if err != nil {
		return nil, errors.Join(err, fd.Close())
	}
	return watch(ctx, k, &host.Process{PIDFD: *fd}, tailOf(k, logPath, 0)), nil
}

// Connect opens the monitor of an adopted process, or opens it again after the connection was lost. A QEMU that does
// not answer within ctx stays adopted, and Signal still works.
func (p *Process) Connect(ctx context.Context, path string) error {
	c, err := qmp.Dial(ctx, p.k, path)
	if err != nil {
		return fmt.Errorf("process %d: %w", p.PID(), err)
	}
	if old := p.qmp.Swap(c); old != nil {
		return old.Close()
	}
	return nil
}
