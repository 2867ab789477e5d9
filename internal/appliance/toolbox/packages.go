package toolbox

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"taproom/internal/appliance/debian"
)

// packages are what the tools come from. What they depend on comes with them.
func packages() []string {
	return []string{
		// A shell and what scripts use
		"bash", "dash", "libc-bin", "coreutils", "findutils", "grep", "sed", "mawk", "diffutils", "file", "attr", "acl",
		// Archives
		"tar", "cpio", "rsync", "gzip", "bzip2", "xz-utils", "zstd", "lz4", "squashfs-tools", "erofs-utils", "xorriso",
		// Disks and partitions
		"util-linux", "util-linux-extra", "mount", "fdisk", "gdisk", "parted", "lvm2", "thin-provisioning-tools", "cryptsetup-bin", "mdadm",
		// File systems
		"e2fsprogs", "xfsprogs", "btrfs-progs", "dosfstools", "exfatprogs", "ntfs-3g", "f2fs-tools", "udftools", "zerofree",
	}
}

// unneeded are packages that come along for their own installation, for services, or for scripts that are left out.
func unneeded(name string) bool {
	for _, prefix := range []string{
		"python3", "libpython3", "perl", "libperl", "libicu", "media-types", "libsqlite3", "libgdbm", "libdb5", "libsemanage", "gcc-",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, "-perl") || slices.Contains([]string{
		"adduser", "base-files", "debconf", "debianutils", "dpkg", "init-system-helpers", "lsb-base", "passwd", "systemd", "sysvinit-utils",
		"udev", "usrmerge",
	}, name)
}

// dropped are what is not needed of the packages that are, as patterns of paths: documentation, translations, what other
// programs read, and tools whose libraries or interpreters are left out.
func dropped() []string {
	return []string{
		"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian", "usr/share/bash-completion", "usr/share/bug",
		"usr/share/doc-base", "usr/share/initramfs-tools", "usr/share/menu", "usr/share/pixmaps", "usr/share/applications", "usr/share/zsh",
		"usr/share/perl*", "usr/share/debianutils", "usr/share/gdb", "usr/share/common-licenses", "usr/share/polkit-1", "usr/share/python*",
		"usr/include", "usr/lib/systemd", "usr/lib/udev", "usr/lib/init", "usr/lib/*/perl*", "usr/lib/*/security", "usr/lib/tmpfiles.d", "usr/lib/sysusers.d",
		"usr/share/initramfs-tools", "usr/lib/*/audit", "usr/lib/valgrind", "usr/lib/modules-load.d", "usr/sbin/xfs_scrub*", "usr/sbin/e2scrub*",
		"etc/init.d", "etc/cron*", "etc/default", "etc/logcheck", "etc/pam.d", "etc/security", "etc/systemd", "etc/initramfs-tools", "etc/logrotate.d",
		"etc/xdg", "etc/python*", "etc/perl", "etc/skel", "etc/selinux", "etc/alternatives", "etc/kernel", "etc/ld.so.conf.d", "var",
	}
}

// item is one package of a version, as apt would download it.
type item struct {
	debian.Package
	file string
}

// parseURIs reads what `apt-get --print-uris install` says: 'URI' FILE SIZE HASH, a line for each package. A file is called
// NAME_VERSION_ARCHITECTURE.deb, with what an URI cannot hold escaped.
func parseURIs(out []byte) ([]item, error) {
	var list []item
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) < 3 || !strings.HasSuffix(fields[1], ".deb") {
			return nil, fmt.Errorf("apt says %q, want the address, the file and the size of a package", bytes.TrimSpace(line))
		}
		parts := strings.Split(fields[1], "_")
		if len(parts) != 3 {
			return nil, fmt.Errorf("apt would download %q, want NAME_VERSION_ARCHITECTURE.deb", fields[1])
		}
		version, err := url.PathUnescape(parts[1])
		if err != nil {
			return nil, fmt.Errorf("apt would download %q: %w", fields[1], err)
		}
		if !unneeded(parts[0]) {
			list = append(list, item{debian.Package{Name: parts[0], Version: version}, fields[1]})
		}
	}
	slices.SortFunc(list, func(a, b item) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
