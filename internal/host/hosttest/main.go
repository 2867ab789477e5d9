package hosttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Main runs a package's tests and then fails it when a goroutine or a descriptor is left. It ends the process. (Within
// a test such checks see what tests beside it do.)
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for who has more to do before the process ends: it returns the exit code.
func Run(m *testing.M) int {
	before := descriptors()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintf(os.Stderr, "goroutines left after the tests: %v\n", err)
			code = 1
		}
		if left := missing(descriptors(), before); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "descriptors left after the tests:\n%s\n", strings.Join(left, "\n"))
			code = 1
		}
	}
	return code
}

// descriptors lists what the process has open, without what the runtime opens for itself.
func descriptors() []string {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil
	}
	var open []string
	for _, l := range links {
		to, err := os.Readlink(l)
		if err != nil { // the directory that was just listed
			continue
		}
		switch {
		case to == "anon_inode:[eventpoll]", to == "anon_inode:[eventfd]": // the poller, once it was needed
		case strings.HasPrefix(to, "/sys/fs/cgroup/"): // the runtime watches the CPU limit of its cgroup (Go 1.25)
		default:
			open = append(open, to)
		}
	}
	slices.Sort(open)
	return open
}

// missing returns what is in a and not in b; both are sorted and may hold a thing several times.
func missing(a, b []string) []string {
	var out []string
	for _, s := range a {
		if i, ok := slices.BinarySearch(b, s); ok {
			b = slices.Delete(slices.Clone(b), i, i+1)
			continue
		}
		out = append(out, s)
	}
	return out
}
