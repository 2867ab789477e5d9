package host

import (
	"fmt"
	"os"
	"strconv"
)

// SharesNetwork reports whether a process is in the Kernel's network namespace.
func (k *Kernel) SharesNetwork(pid int) (bool, error) {
	k.Step("netns of process")
	theirs, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return false, fmt.Errorf("look at the network namespace of process %d: %w", pid, err)
	}
	var ours string
	k.InNetNS(func() { ours, err = os.Readlink("/proc/thread-self/ns/net") })
	if err != nil {
		return false, fmt.Errorf("look at our network namespace: %w", err)
	}
	return ours == theirs, nil
}
