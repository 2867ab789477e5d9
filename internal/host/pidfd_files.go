package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Kept are copies of descriptors that another process has open: what they lead to stays open when it ends.
type Kept []int

// KeepFiles takes copies of those descriptors of a process that lead to a path with the prefix. What cannot be taken, for
// want of descriptors or because the process is ending, is left out: who asks wants to save time and nothing else.
func (k *Kernel) KeepFiles(p *PIDFD, prefix string) Kept {
	k.Step("process files keep")
	dir := fmt.Sprintf("/proc/%d/fd", p.PID)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var kept Kept
	_ = p.control(func(process int) {
		for _, e := range entries {
			to, err := os.Readlink(dir + "/" + e.Name())
			if err != nil || !strings.HasPrefix(to, prefix) {
				continue
			}
			n, _ := strconv.Atoi(e.Name())                             // the kernel writes numbers
			if fd, err := unix.PidfdGetfd(process, n, 0); err == nil { // closed on exec
				kept = append(kept, fd)
			}
		}
	})
	return kept
}

// Close closes the copies side by side: what makes the last one slow, the kernel waits for once and not for each.
func (f Kept) Close() {
	var wg sync.WaitGroup
	for _, fd := range f {
		wg.Go(func() { _ = unix.Close(fd) })
	}
	wg.Wait()
}
