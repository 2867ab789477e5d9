package state

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// bridgePorts is how many ports the kernel gives a bridge (BR_MAX_PORTS of net/bridge/br_private.h, less the one that is
// nobody's).
const bridgePorts = 1023

// FullError says that a bridge takes no more ports.
type FullError struct {
	Bridge string
	Err    error // what the kernel said
}

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("bridge %s is full: it has %d ports, and Linux gives a bridge no more; plug the NIC into another bridge, or unplug what is not needed (bridge link show master %s)",
		e.Bridge, bridgePorts, e.Bridge)
}

// Unwrap returns what the kernel said.
func (e *FullError) Unwrap() error { return e.Err }

// full makes a FullError of the kernel's word for it.
func full(bridge string, err error) error {
	if errors.Is(err, unix.EXFULL) {
		return &FullError{Bridge: bridge, Err: err}
	}
	return err
}
