package qemu

import (
	"path/filepath"
	"strings"
)

// Installation is an emulator and what it needs to run from where it is.
type Installation struct {
	Binary   string
	Env      []string
	Firmware []string
}

// Beside is a Debian QEMU that was unpacked below dir and not installed: its libraries and modules come from there, its
// firmware too.
func Beside(dir string) Installation {
	lib := filepath.Join(dir, "usr/lib/x86_64-linux-gnu")
	return Installation{
		Binary: filepath.Join(dir, "usr/bin/qemu-system-x86_64"),
		Env: []string{
			"LD_LIBRARY_PATH=" + lib + ":" + filepath.Join(dir, "lib/x86_64-linux-gnu"),
			"QEMU_MODULE_DIR=" + filepath.Join(lib, "qemu"),
		},
		Firmware: []string{filepath.Join(dir, "usr/share/qemu"), filepath.Join(dir, "usr/share/seabios"), filepath.Join(dir, "usr/lib/ipxe/qemu")},
	}
}

// Locate says what an emulator needs, by where it lies. The distribution's finds everything by itself. One at
// DIR/usr/bin was unpacked below DIR, where its libraries, modules and firmware are; a package that is installed lies at
// /usr/bin, and one that was built for another place knows it.
func Locate(binary string) Installation {
	dir, _, unpacked := strings.Cut(binary, "/usr/bin/")
	if !unpacked || dir == "" {
		return Installation{Binary: binary}
	}
	i := Beside(dir)
	i.Binary = binary
	return i
}
