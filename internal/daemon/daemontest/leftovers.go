package daemontest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/engine"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// Leftovers names what a daemon that has removed everything should not have left, and does not remove soon: links and rules
// in its namespace, cgroups, processes, and files of guests and networks below its root. The daemon answers before the kernel has
// done everything, and one that runs writes a file now and then.
func (d *Daemon) Leftovers() []string {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late, cancel := emutest.Context(context.Background())
	defer cancel()
	for ; ; <-again.C {
		if left := d.left(); len(left) == 0 || late.Err() != nil {
			return left
		}
	}
}

// left is what is there now.
func (d *Daemon) left() []string {
	left := append(d.processes(), d.files()...)
	if slice, ok := d.Slice(); ok {
		_ = filepath.WalkDir(slice, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() && path != slice {
				left = append(left, "cgroup "+strings.TrimPrefix(path, slice))
			}
			return nil
		})
	}
	if out := d.OwnRules(); out != "" {
		left = append(left, "rules "+out)
	}
	links, err := d.NS.Kernel().Links()
	if err != nil {
		return append(left, err.Error())
	}
	group := engine.NewIdentity(d.Root).LinkGroup
	for _, l := range links {
		if l.Group == group {
			left = append(left, "link "+l.Name+" "+l.Alias)
		}
	}
	return left
}

// OwnRules are the daemon's rules as text; "" is none.
func (d *Daemon) OwnRules() string {
	if d.Rules != nil {
		return d.Rules()
	}
	return strings.TrimSpace(d.NS.Run("nft", "list", "ruleset"))
}

// Slice is the daemon's part of the cgroup tree.
func (d *Daemon) Slice() (string, bool) {
	root, err := host.New(host.Options{}).CgroupRoot()
	if err != nil {
		return "", false
	}
	path := filepath.Join(root, engine.NewIdentity(d.Root).Slice)
	_, err = os.Stat(path)
	return path, err == nil
}

// processes are those whose command line names the root, the daemon itself excepted.
func (d *Daemon) processes() []string {
	var left []string
	for _, p := range d.Processes() {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		left = append(left, fmt.Sprintf("process %d: %s", p, strings.ReplaceAll(string(b), "\x00", " ")))
	}
	return left
}

// Processes are those that name the daemon's root in their command line, the daemon itself excepted.
func (d *Daemon) Processes() []int {
	if d.user != nil {
		return slices.DeleteFunc(d.user.Processes(), func(pid int) bool { return d.Alive() && pid == d.cmd.Process.Pid })
	}
	var pids []int
	f, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // not a glob: that would list what is in each of them
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || d.cmd != nil && pid == d.cmd.Process.Pid {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/cmdline")
		if err == nil && strings.Contains(string(b), d.Root+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// files are files of guests and networks that are gone, and half-written ones.
func (d *Daemon) files() []string {
	p := d.Paths()
	var left []string
	for _, dir := range []string{p.Guests(), p.Records(), p.ActiveNetworks(), p.Helper(), p.Loopback(), p.Domains(), p.Networks(), p.Pools(), p.ActivePools(), p.Leases()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			left = append(left, "file "+filepath.Join(dir, e.Name()))
		}
	}
	_ = filepath.WalkDir(d.Root, func(path string, e os.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(path), "taproom-tmp") {
			left = append(left, "file "+path)
		}
		return nil
	})
	return left
}

// cleanUp ends whatever is left of a daemon, by pid, and removes its root. A test that left something has failed before.
func (d *Daemon) cleanUp() {
	d.Kill()
	for _, pid := range d.Processes() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	k := host.New(host.Options{})
	defer k.Close()
	if slice, ok := d.Slice(); ok {
		ctx, cancel := emutest.Context(context.Background())
		defer cancel()
		_ = k.KillCgroup(slice)
		if err := k.RemoveCgroup(ctx, slice); err != nil {
			d.T.Errorf("clean up: %v", err)
		}
	}
	d.NS.Shell("nft flush ruleset")
	_ = os.RemoveAll(d.Root)
}
