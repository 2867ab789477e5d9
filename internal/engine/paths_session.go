package engine

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"taproom/internal/host"
)

// OwnPaths is where the daemon of this process's user keeps things: below root, on the machine or, without root, in the
// user's own directories. Ignored says which variables of the environment were of no use.
func OwnPaths(k *host.Kernel, root string) (p Paths, ignored []string, err error) {
	if OwnSession() == nil || root != "" {
		return NewPaths(root), nil, nil
	}
	boot, err := k.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return p, nil, err
	}
	home := "/"
	if u, err := user.Current(); err == nil { // one whom the password file does not know has $HOME at most
		home = u.HomeDir
	}
	p, ignored = UserPaths(os.Getenv, home, strings.TrimSpace(string(boot)))
	name, err := os.Hostname()
	if err != nil {
		return p, nil, err
	}
	// Beside the definitions, which two daemons with different runtime directories would share; and hosts may share a home.
	p.LockFile = filepath.Join(p.Lib, "lock."+name)
	return p, ignored, nil
}

// UserPaths returns the layout of a daemon without root: XDG's base directories, and for the sockets and what does not
// outlive a login the place that libvirt's clients look in. getenv is the daemon's environment, home the user's directory
// by the password file, boot the number of this boot. Ignored says which variables name no absolute path: the standard has
// them passed over.
func UserPaths(getenv func(string) string, home, boot string) (p Paths, ignored []string) {
	absolute := func(name, otherwise string) string {
		v := getenv(name)
		switch {
		case filepath.IsAbs(v):
			return filepath.Clean(v)
		case v != "":
			ignored = append(ignored, fmt.Sprintf("%s=%q is no absolute path and is ignored; %s is used", name, v, otherwise))
		}
		return otherwise
	}
	home = absolute("HOME", home)
	cache := absolute("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	run := absolute("XDG_RUNTIME_DIR", cache)
	p = Paths{
		Config:     filepath.Join(absolute("XDG_CONFIG_HOME", filepath.Join(home, ".config")), program),
		Lib:        filepath.Join(absolute("XDG_STATE_HOME", filepath.Join(home, ".local/state")), program),
		Run:        filepath.Join(run, program),
		LibvirtRun: filepath.Join(run, "libvirt"),
		LibvirtLib: filepath.Join(cache, "libvirt"),
		Cache:      filepath.Join(cache, program),
	}
	p.Log = filepath.Join(p.Cache, "log")
	if run == cache { // which outlives a boot
		p.Run = filepath.Join(p.Run, formerRuns+boot)
	}
	return p, ignored
}

// program is the name of our folder in each base directory.
const program = "taproom"

// formerRuns is what the names of run directories begin with where the system gives users none: the boot follows.
const formerRuns = "run-"
