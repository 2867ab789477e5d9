package qemu

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/qemu/launch"
)

// Confinement is who QEMU runs as and what it may use up. The zero value is refused: it would be root.
type Confinement struct {
	UID, GID uint32
	Limits   []launch.Limit // beside the defaults
	OOMScore *int
	// DieWithParent is for probes. A guest survives the daemon, and an appliance has a leash.
	DieWithParent bool
	NoHugePages   bool
	NoLandlock    bool // for measurements only
}

// defaultLimits apply unless the caller names the same resource. A core file would hold the guest's memory.
func defaultLimits() []launch.Limit {
	return []launch.Limit{{Resource: unix.RLIMIT_CORE}}
}

func (c Confinement) limits() []launch.Limit {
	out := append([]launch.Limit{}, c.Limits...)
	for _, d := range defaultLimits() {
		named := false
		for _, l := range c.Limits {
			named = named || l.Resource == d.Resource
		}
		if !named {
			out = append(out, d)
		}
	}
	return out
}

// ruleset names what QEMU may open: its binary, libraries, modules and firmware, the terminals, random numbers, and what
// the Config names. Everything of the guest beyond that comes as a descriptor.
func ruleset(c *Config, exists func(string) bool) *host.Landlock {
	l := &host.Landlock{
		ReadExec:      some(exists, "/usr", "/lib", "/lib64", "/bin"),
		ReadOnly:      some(exists, "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/random"),
		ReadWrite:     some(exists, "/dev/null", "/dev/ptmx", "/dev/pts"),
		BindTCP:       c.BindTCP,
		ConnectTCP:    c.ConnectTCP,
		AnyTCP:        c.AnyTCP,
		ScopeAbstract: true,
		ScopeSignals:  true,
	}
	l.ReadExec = append(l.ReadExec, some(exists, c.Binary)...)
	if dir := filepath.Dir(c.Binary); filepath.Dir(dir) != "/" { // not / itself, /root, /home or /tmp with all below
		l.ReadExec = append(l.ReadExec, some(exists, dir)...)
	}
	for _, dir := range append(libraryDirs(c.Env), c.Firmware...) {
		l.ReadExec = append(l.ReadExec, some(exists, dir)...)
	}
	l.ReadOnly = append(l.ReadOnly, c.ReadOnly...)
	if c.Resolves {
		l.ReadOnly = append(l.ReadOnly, some(exists, "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf",
			"/etc/services", "/etc/ssl", "/etc/ca-certificates")...)
	}
	l.ReadWrite = append(l.ReadWrite, c.ReadWrite...)
	if c.Accel.Head == "kvm" {
		l.ReadWrite = append(l.ReadWrite, some(exists, kvmPath)...)
	}
	return l
}

// some keeps the paths that exist: a rule for one that does not is an error.
func some(exists func(string) bool, paths ...string) []string {
	var out []string
	for _, p := range paths {
		if exists(p) {
			out = append(out, p)
		}
	}
	return out
}

// libraryDirs are the places from which an emulator beside the distribution's loads its libraries and modules.
func libraryDirs(env []string) []string {
	var dirs []string
	for _, e := range env {
		for _, name := range []string{"LD_LIBRARY_PATH=", "QEMU_MODULE_DIR="} {
			if len(e) > len(name) && e[:len(name)] == name {
				dirs = append(dirs, filepath.SplitList(e[len(name):])...)
			}
		}
	}
	return dirs
}
