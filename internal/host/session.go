package host

import (
	"errors"

	"golang.org/x/sys/unix"
)

// KillSession kills a child that was started by Start, and with it every process of its session's first group: what it
// started and did not move away. The child is not reaped yet, so the number is its own.
func (k *Kernel) KillSession(p *Process) error {
	k.Step("process kill session")
	err := unix.Kill(-p.PID, unix.SIGKILL)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
