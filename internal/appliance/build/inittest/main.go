// Inittest is a first process for tests: it says on the console what its kernel can do, and ends the machine.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
)

// report is what the tests read: of the things that were asked for, those that this kernel lacks.
type report struct {
	Up      string            // since the kernel began, in seconds
	Release string            // of the kernel
	Lacks   []string          // file systems, ciphers, device files
	Disks   map[string]string // by serial number, the first bytes
	Ports   []string          // of virtio consoles
}

func main() {
	if filepath.Base(os.Args[0]) == "modprobe" {
		os.Exit(pid1.Modprobe(os.Args[1:]))
	}
	for _, m := range [][2]string{{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}} {
		_ = unix.Mount(m[0], m[1], m[0], 0, "") // the kernel has mounted /dev already
	}
	up, _, _ := strings.Cut(pid1.ReadText("/proc/uptime"), " ")
	l, err := pid1.OpenLoader(pid1.ModuleDir)
	if err == nil {
		l.BootModules()
	}
	r := report{Up: up, Release: pid1.ReadText("/proc/sys/kernel/osrelease"), Disks: disks()}
	for _, port := range pid1.ReadNames("/sys/class/virtio-ports") {
		r.Ports = append(r.Ports, pid1.ReadText(filepath.Join("/sys/class/virtio-ports", port, "name")))
	}
	for word := range strings.FieldsSeq(pid1.ReadText("/proc/cmdline")) {
		if list, ok := strings.CutPrefix(word, "inittest="); ok {
			r.Lacks = lacking(strings.Split(list, "+"))
		}
	}
	b, _ := json.Marshal(r)
	fmt.Printf("REPORT %s\n", b)
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
}

func disks() map[string]string {
	found := map[string]string{}
	for _, name := range pid1.ReadNames("/sys/block") {
		serial := pid1.Serial(filepath.Join("/sys/block", name))
		f, err := os.Open(filepath.Join("/dev", name))
		if err != nil || serial == "" {
			continue
		}
		head := make([]byte, 16)
		_, _ = f.Read(head)
		found[serial] = strings.TrimRight(string(head), "\x00")
		_ = f.Close()
	}
	return found
}

// lacking returns what of a list of KIND:NAME there is not, each with the reason.
func lacking(list []string) []string {
	nodes()
	return slices.DeleteFunc(list, func(what string) bool {
		kind, name, _ := strings.Cut(what, ":")
		var err error
		switch kind {
		case "fs": // of something that is no such file system; without a driver it is ENODEV
			if err = unix.Mount("/dev/null", "/mnt", name, unix.MS_RDONLY, ""); !errors.Is(err, unix.ENODEV) {
				err = nil
			}
		case "skcipher", "hash":
			err = cipher(kind, name)
		case "dev":
			var f *os.File
			if f, err = os.Open("/dev/" + name); err == nil {
				err = f.Close()
			}
		}
		return err == nil
	})
}

func cipher(kind, name string) error {
	fd, err := unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Bind(fd, &unix.SockaddrALG{Type: kind, Name: name})
}

// nodes makes the device files that load a module when they are opened.
func nodes() {
	for line := range strings.Lines(pid1.ReadText(filepath.Join(pid1.ModuleDir, "modules.devname"))) {
		var module, path string
		var kind rune
		var major, minor uint32
		if n, _ := fmt.Sscanf(line, "%s %s %c%d:%d", &module, &path, &kind, &major, &minor); n == 5 {
			_ = os.MkdirAll(filepath.Dir(filepath.Join("/dev", path)), 0o755)
			_ = unix.Mknod(filepath.Join("/dev", path), unix.S_IFCHR|0o600, int(unix.Mkdev(major, minor)))
		}
	}
}
