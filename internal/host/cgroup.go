package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CgroupRoot returns where cgroup v2 is mounted. Beside a v1 hierarchy that is often /sys/fs/cgroup/unified, without
// controllers; it still holds processes together, which is what a guest needs.
func (k *Kernel) CgroupRoot() (string, error) {
	k.Step("cgroup root")
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 2 && f[2] == "cgroup2" {
			return unescapeMount(f[1]), nil
		}
	}
	return "", &Missing{What: "mounted cgroup v2", Config: "mount -t cgroup2 none /sys/fs/cgroup", Err: unix.ENOENT}
}

// unescapeMount undoes the \040 of /proc/mounts.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// MakeCgroup makes the cgroup at path (a directory below CgroupRoot) and those above it. One that exists is fine.
func (k *Kernel) MakeCgroup(path string) error {
	k.Step("cgroup create " + filepath.Base(path))
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("make cgroup: %w", err)
	}
	return nil
}

// CgroupProcs lists the processes in the cgroup; none when it does not exist.
func (k *Kernel) CgroupProcs(path string) ([]int, error) {
	k.Step("cgroup read " + filepath.Base(path))
	b, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the processes of a cgroup: %w", err)
	}
	var pids []int
	for f := range bytes.FieldsSeq(b) {
		pid, err := strconv.Atoi(string(f))
		if err != nil {
			return nil, fmt.Errorf("list the processes of cgroup %s: %w", path, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// gone reports that a cgroup does not exist, or was removed between open and read.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) }

// KillCgroup ends every process in the cgroup and below at once, forks included. A cgroup that does not exist has none.
func (k *Kernel) KillCgroup(path string) error {
	k.Step("cgroup kill " + filepath.Base(path))
	err := os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
	switch {
	case err == nil:
		return nil
	case gone(err):
		if _, serr := os.Stat(path); serr != nil {
			return nil
		}
		return &Missing{What: "cgroup.kill", Config: "Linux 5.14 or later", Err: err}
	}
	return fmt.Errorf("kill cgroup: %w", err)
}

// RemoveCgroup removes the cgroup and those below it once the last process has left; until then it waits for the
// kernel to say so. A process that was killed but not reaped by its parent counts as gone.
func (k *Kernel) RemoveCgroup(ctx context.Context, path string) error {
	if err := k.waitEmpty(ctx, path); err != nil {
		if gone(err) {
			return nil
		}
		return fmt.Errorf("remove cgroup %s: %w", path, err)
	}
	k.Step("cgroup remove " + filepath.Base(path))
	if err := removeTree(path); err != nil {
		return fmt.Errorf("remove cgroup %s: %w", path, err)
	}
	return nil
}

// removeTree removes cgroup directories, deepest first; the files in them go with them.
func removeTree(path string) error {
	entries, err := os.ReadDir(path)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(path); err != nil && !gone(err) {
		return err
	}
	return nil
}

// waitEmpty waits until cgroup.events says "populated 0". The kernel reports a change of that file as IN_MODIFY.
func (k *Kernel) waitEmpty(ctx context.Context, path string) error {
	k.Step("cgroup wait " + filepath.Base(path))
	events := filepath.Join(path, "cgroup.events")
	if over, err := unpopulated(events); over || err != nil { // as a rule, and then nothing needs to be watched
		return err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if errors.Is(err, unix.EMFILE) { // a user has 128 of them (fs.inotify.max_user_instances)
		return pollEmpty(ctx, events)
	}
	if err != nil {
		return err
	}
	watch := os.NewFile(uintptr(fd), "inotify")
	defer watch.Close()
	if _, err := unix.InotifyAddWatch(fd, events, unix.IN_MODIFY|unix.IN_DELETE_SELF); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = watch.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, 4096)
	for {
		if over, err := unpopulated(events); over || err != nil { // after the watch: no change can be missed
			return err
		}
		if _, err := watch.Read(buf); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
	}
}

func unpopulated(events string) (bool, error) {
	b, err := os.ReadFile(events)
	return bytes.Contains(b, []byte("populated 0")), err
}

// pollEmpty is waitEmpty's wait without inotify: it holds a thread, and looks at ctx four times a second.
func pollEmpty(ctx context.Context, events string) error {
	f, err := os.Open(events)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 4096)
	for ctx.Err() == nil {
		n, err := f.ReadAt(buf, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if bytes.Contains(buf[:n], []byte("populated 0")) {
			return nil
		}
		fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}} // a change since it was read
		if _, err := ignoringEINTR(func() (int, error) { return unix.Poll(fds, 250) }); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// CgroupUse is what the processes of a cgroup have used.
type CgroupUse struct {
	CPU, User, System time.Duration
}

// CgroupUse reads cpu.stat, which is there even without the cpu controller.
func (k *Kernel) CgroupUse(path string) (CgroupUse, error) {
	k.Step("cgroup read " + filepath.Base(path))
	b, err := os.ReadFile(filepath.Join(path, "cpu.stat"))
	if err != nil {
		return CgroupUse{}, err
	}
	var u CgroupUse
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		usec, _ := strconv.ParseInt(value, 10, 64)
		d := time.Duration(usec) * time.Microsecond
		switch name {
		case "usage_usec":
			u.CPU = d
		case "user_usec":
			u.User = d
		case "system_usec":
			u.System = d
		}
	}
	return u, nil
}
