package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// PSS is a process's share of memory in bytes: its own pages, and of each that it shares its part. ErrGone when it has ended.
// The kernel walks all its mappings for that, which takes milliseconds.
func (k *Kernel) PSS(pid int) (uint64, error) {
	b, err := k.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return 0, fmt.Errorf("measure the memory of process %d: %w", pid, err)
	}
	n, err := pssOf(b)
	if err != nil {
		return 0, fmt.Errorf("measure the memory of process %d: %w", pid, err)
	}
	return n, nil
}

// pssOf reads a smaps_rollup.
func pssOf(b []byte) (uint64, error) {
	for line := range bytes.Lines(b) {
		value, ok := strings.CutPrefix(string(line), "Pss:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 54)
		return kb << 10, err
	}
	return 0, errors.New("it has none: it is ending, or a thread of the kernel")
}
