package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Children are the numbers of the processes that the first thread of a process has started and that have not been waited for.
// ErrGone when it has ended itself.
func (k *Kernel) Children(pid int) ([]int, error) {
	name := strconv.Itoa(pid)
	b, err := k.ReadFile("/proc/" + name + "/task/" + name + "/children")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("list the children of process %d: %w", pid, err)
	}
	var out []int
	for _, word := range strings.Fields(string(b)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("list the children of process %d: %w", pid, err)
		}
		out = append(out, n)
	}
	return out, nil
}
