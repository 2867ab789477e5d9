package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryRoom is memory that processes of this one's cgroup can have, in bytes: the machine's, or less where a cgroup v2 above
// this process has a limit.
type MemoryRoom struct {
	Total     uint64 // with what is in use
	Available uint64 // without swapping anything out: MemAvailable of the machine (proc_meminfo(5))
}

// MemoryRoom reads how much memory there is and how much of it can still be had.
func (k *Kernel) MemoryRoom() (MemoryRoom, error) {
	k.Step("node memory room")
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return MemoryRoom{}, err
	}
	r := MemoryRoom{Total: meminfo(b, "MemTotal") << 10, Available: meminfo(b, "MemAvailable") << 10}
	if r.Total == 0 || r.Available == 0 {
		return r, errors.New("read /proc/meminfo: it has no MemTotal or no MemAvailable")
	}
	root, err := k.CgroupRoot()
	var missing *Missing
	if errors.As(err, &missing) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return r, err
	}
	for dir := ownCgroup(string(own)); dir != "" && dir != "/"; dir = filepath.Dir(dir) {
		limited, err := cgroupRoom(filepath.Join(root, dir))
		if err != nil {
			return r, fmt.Errorf("read the limit of cgroup %s: %w", dir, err)
		}
		r = r.within(limited)
	}
	return r, nil
}

// within is the smaller of both, by each number. A limit of zero is none.
func (r MemoryRoom) within(limit MemoryRoom) MemoryRoom {
	if limit.Total == 0 {
		return r
	}
	return MemoryRoom{Total: min(r.Total, limit.Total), Available: min(r.Available, limit.Available)}
}

// cgroupRoom is what a cgroup leaves; zero when it has no limit, or no memory controller.
func cgroupRoom(dir string) (MemoryRoom, error) {
	text := map[string]string{}
	for _, name := range []string{"memory.max", "memory.current", "memory.stat"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return MemoryRoom{}, nil
		}
		if err != nil {
			return MemoryRoom{}, err
		}
		text[name] = strings.TrimSpace(string(b))
	}
	return parseCgroupRoom(text["memory.max"], text["memory.current"], text["memory.stat"])
}

// parseCgroupRoom reckons with the cache of files, which the kernel gives up before it ends a process.
func parseCgroupRoom(limit, current, stat string) (MemoryRoom, error) {
	if limit == "max" {
		return MemoryRoom{}, nil
	}
	most, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return MemoryRoom{}, err
	}
	used, err := strconv.ParseUint(current, 10, 64)
	if err != nil {
		return MemoryRoom{}, err
	}
	for line := range strings.Lines(stat) {
		if v, ok := strings.CutPrefix(line, "inactive_file "); ok {
			cache, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
			if err != nil {
				return MemoryRoom{}, err
			}
			used -= min(used, cache)
		}
	}
	return MemoryRoom{Total: max(most, 1), Available: most - min(most, used)}, nil
}
