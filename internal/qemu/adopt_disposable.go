package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"

	"taproom/internal/host"
	"taproom/internal/qemu/qmp"
)

// AdoptDisposable takes over a QEMU that another process started with StartDisposable and gave away: its number and when it
// started, and the connection to its monitor, which qmp.Client's Detach returned there. The connection is the Process's, also when
// it fails; it is ErrNotRunning when QEMU has ended.
func AdoptDisposable(ctx context.Context, k *host.Kernel, pid int, start uint64, monitor net.Conn, words func() string) (*Process, error) {
	if pid <= 1 || start == 0 {
		return nil, refuse(monitor, fmt.Errorf("process %d, started at %d: %w", pid, start, ErrNotRunning))
	}
	fd, err := k.OpenPID(pid, start)
	if errors.Is(err, host.ErrGone) {
		return nil, refuse(monitor, fmt.Errorf("%w: %w", ErrNotRunning, err))
	}
	if err != nil {
		return nil, refuse(monitor, err)
	}
	p := watch(ctx, k, &host.Process{PIDFD: *fd}, words)
	p.qmp.Store(qmp.Resume(k, monitor, fmt.Sprintf("process %d", pid)))
	return p, nil
}
