package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// DelegatedCgroup returns the cgroup v2 that this process is in, where it may make cgroups below it and start processes
// in them: where somebody, a service manager mostly, has given it to the process's user. It is "" where nobody has.
func (k *Kernel) DelegatedCgroup() (string, error) {
	root, err := k.CgroupRoot()
	var missing *Missing
	if errors.As(err, &missing) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	k.Step("cgroup own")
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("find the own cgroup: %w", err)
	}
	own := ownCgroup(string(b))
	path := filepath.Join(root, own)
	for _, file := range []string{path, filepath.Join(path, "cgroup.procs")} { // to make one below; to put a child there
		if own == "" || unix.Access(file, unix.W_OK) != nil {
			return "", nil
		}
	}
	return path, nil
}

// ownCgroup finds the line of cgroup v2 in /proc/PID/cgroup: "0::/user.slice/…". It is "" where there is none, or where
// it lies outside of what this process can see.
func ownCgroup(lines string) string {
	for line := range strings.Lines(lines) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if ok && !strings.HasPrefix(path, "/..") {
			return path
		}
	}
	return ""
}
