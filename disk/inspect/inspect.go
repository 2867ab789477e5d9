package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// ErrNone says that there is no operating system in a tree.
var ErrNone = errors.New("no operating system is in it")

// Inspect reads which operating system is in a tree, whose root is the system's. Where there is none the error is ErrNone. What cannot be
// read is in the result's Problems; reading stops with an error only where the root folder itself cannot be listed.
func Inspect(fsys fs.FS, o Options) (*System, error) {
	if _, err := fs.ReadDir(fsys, "."); err != nil {
		return nil, fmt.Errorf("list the root folder: %w", err)
	}
	t := &tree{fs: fsys}
	s := &System{}
	switch kind(t) {
	case "linux":
		s.linux(t)
	case "freebsd":
		s.freebsd(t)
	case "windows":
		s.windows(t, o)
	default:
		return nil, ErrNone
	}
	if !o.NoPackages {
		s.packages(t)
	}
	s.Problems = t.problems
	return s, nil
}

// IsRoot reports quickly whether an operating system is in a tree.
func IsRoot(fsys fs.FS) bool { return kind(&tree{fs: fsys}) != "" }

// kind says which kind of system is in a tree, by what every one of its kind has.
func kind(t *tree) string {
	switch {
	case t.exists("bin/freebsd-version"):
		return "freebsd"
	case t.first(releaseFiles...) != "", t.exists(nixProfile), t.exists("etc/fstab") && t.first("sbin/init", "bin/sh", "usr/bin/sh") != "":
		return "linux"
	case t.fold("Windows/System32/config/SOFTWARE") != "":
		return "windows"
	}
	return ""
}

// linux reads what all distributions have.
func (s *System) linux(t *tree) {
	s.OS = "linux"
	s.release(t)
	s.Arch = arch(t)
	s.Hostname = hostname(t)
	s.Init = initSystem(t)
	s.Mounts = fstab(t, "etc/fstab")
	s.BootLoaders = bootLoaders(t)
	s.Kernels = kernels(t)
	s.TimeZone = timeZone(t)
	s.MachineID = t.line("etc/machine-id")
	if s.Init == "systemd" {
		s.Default = defaultUnit(t)
	}
}

// freebsd reads what FreeBSD has.
func (s *System) freebsd(t *tree) {
	s.OS, s.Distribution = "freebsd", "freebsd"
	s.release(t)
	s.Distribution = "freebsd"
	if v := shellValue(t.text("bin/freebsd-version"), "USERLAND_VERSION"); v != "" {
		s.Version = v
	}
	s.Name = cmp.Or(s.Name, "FreeBSD "+s.Version)
	s.Arch = arch(t)
	s.Hostname = shellValue(t.text("etc/rc.conf"), "hostname")
	s.Init = "rc"
	s.Mounts = fstab(t, "etc/fstab")
	if at := t.first("boot/loader.efi", "boot/loader"); at != "" {
		s.BootLoaders = []BootLoader{{Name: "freebsd", Path: "/" + at}}
	}
	if t.exists("boot/kernel/kernel") {
		s.Kernels = []Kernel{{Version: s.Version, Image: "/boot/kernel/kernel", Modules: "/boot/kernel"}}
	}
	s.TimeZone = timeZone(t)
}

// packages reads what is installed.
func (s *System) packages(t *tree) {
	for _, db := range databases {
		at := t.first(db.at...)
		if at == "" || (db.name == "dpkg" && !s.isDebian() && t.exists("var/lib/rpm") && t.first(rpmFiles...) != "") {
			continue
		}
		s.Packaging = db.name
		list, err := db.read(t, at)
		t.problem(at, err)
		s.Packages = append(s.Packages, list...)
		break
	}
	slices.SortFunc(s.Packages, func(a, b Package) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Arch, b.Arch))
	})
}

func (s *System) isDebian() bool {
	return s.Distribution == "debian" || slices.Contains(s.Like, "debian")
}
