package host

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// UserRuns reports whether a process that we can see has this real user: one that runs, or that nobody has waited for yet. None
// can hide from that without a capability, whatever it does to itself.
func (k *Kernel) UserRuns(uid uint32) (bool, error) {
	k.Step("user look up")
	_, err := unix.Getpriority(unix.PRIO_USER, int(int32(uid)))
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for processes of user %d: %w", uid, err)
	}
	return true, nil
}
