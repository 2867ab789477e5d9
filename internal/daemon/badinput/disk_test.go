package badinput

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
)

// images makes what the tests of disks name, below the root.
func (w *world) images() func(name string) string {
	dir := filepath.Join(w.Root, "images")
	at := func(name string) string { return filepath.Join(dir, name) }
	w.put("images/raw", string(make([]byte, 1<<20)))
	w.put("images/short.qcow2", "QFI\xfb\x00\x00")
	w.put("images/file", "not a directory")
	must(w.t, os.Mkdir(at("folder"), 0o755))
	must(w.t, unix.Mkfifo(at("fifo"), 0o644))
	must(w.t, os.Symlink(at("gone"), at("dangling")))
	must(w.t, os.Symlink(at("loop"), at("loop")))
	l, err := net.Listen("unix", at("socket"))
	must(w.t, err)
	w.t.Cleanup(func() { l.Close() })
	w.qemuImg("create", "-q", "-f", "qcow2", at("base.qcow2"), "1M")
	w.qemuImg("create", "-q", "-f", "qcow2", "-b", at("base.qcow2"), "-F", "qcow2", at("backed.qcow2"))
	w.qemuImg("create", "-q", "-f", "qcow2", "-b", "/etc/shadow", "-F", "raw", "-u", at("stealing.qcow2"), "1M")
	w.qemuImg("create", "-q", "-f", "qcow2", "-o", "data_file="+at("data"), at("external.qcow2"), "1M")
	return at
}

func (w *world) qemuImg(args ...string) {
	w.t.Helper()
	if out, err := exec.Command("qemu-img", args...).CombinedOutput(); err != nil {
		w.t.Fatalf("qemu-img %q: %v: %s", args, err, out)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDisks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.images()
	with := func(path, format, more string) func() error {
		return func() error { return w.start(guest("broken", disk(path, format, more))) }
	}
	w.refuse(t, []bad{
		{"missing", with("/nowhere/disk.img", "raw", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: /nowhere/disk.img: no such file or directory; create it, or correct the path in the document"},
		{"folder", with(at("folder"), "raw", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/folder: is not a regular file; name an image file, or a block device with type='block'"},
		{"fifo", with(at("fifo"), "raw", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/fifo: is not a regular file; name an image file, or a block device with type='block'"},
		{"socket", with(at("socket"), "raw", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/socket: is not a regular file; name an image file, or a block device with type='block'"},
		{"dangling", with(at("dangling"), "raw", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/dangling: is a link to ROOT/images/gone: no such file or directory; create it, or correct the path in the document"},
		{"loop", with(at("loop"), "raw", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/loop: too many levels of symbolic links; correct the path in the document, or the links"},
		{"below a file", with(at("file/disk"), "raw", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/file/disk: not a directory; correct the path in the document"},
		{"character device", with("/dev/null", "raw", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: /dev/null: is not a regular file; name an image file, or a block device with type='block'"},
		{"raw as qcow2", with(at("raw"), "qcow2", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/raw: is not a qcow2 image; name its format in <driver type=>"},
		{"truncated qcow2", with(at("short.qcow2"), "qcow2", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/short.qcow2: is not a qcow2 image; name its format in <driver type=>"},
		{"undeclared backing", with(at("backed.qcow2"), "qcow2", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/backed.qcow2: names a backing image that the document does not declare; add <backingStore> with its path and format"},
		{"stealing", with(at("stealing.qcow2"), "qcow2", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/stealing.qcow2: names a backing image that the document does not declare; add <backingStore> with its path and format"},
		{"external", with(at("external.qcow2"), "qcow2", ""), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/external.qcow2: keeps its data in an external file, which is not followed; convert it with qemu-img convert"},
		{"declared backing missing", with(at("backed.qcow2"), "qcow2", fmt.Sprintf(`<backingStore type='file'><format type='qcow2'/><source file='%s'/></backingStore>`, at("gone"))), virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/gone: no such file or directory; create it, or correct the path in the document"},
		{"file as block device", func() error {
			return w.start(guest("broken", fmt.Sprintf(`<disk type='block' device='disk'><driver name='qemu' type='raw'/><source dev='%s'/><target dev='vda' bus='virtio'/></disk>`, at("raw"))))
		}, virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/raw: is not a block device; use type='file' for an image file"},
		{"kernel missing", func() error { return w.start(booting("/nowhere/vmlinuz", "")) }, virterr.SystemError, "cannot start domain 'broken': kernel: /nowhere/vmlinuz: no such file or directory; create it, or correct the path in the document"},
		{"kernel is a folder", func() error { return w.start(booting(at("folder"), "")) }, virterr.SystemError, "cannot start domain 'broken': kernel: ROOT/images/folder: is not a regular file; name one"},
		{"kernel is a FIFO", func() error { return w.start(booting(at("fifo"), "")) }, virterr.SystemError, "cannot start domain 'broken': kernel: ROOT/images/fifo: is not a regular file; name one"},
		{"initrd missing", func() error { return w.start(booting(at("raw"), at("gone"))) }, virterr.SystemError, "cannot start domain 'broken': initrd: ROOT/images/gone: no such file or directory; create it, or correct the path in the document"},
		{"kernel unreadable", func() error {
			must(t, os.WriteFile(at("secret"), nil, 0o600))
			return w.start(booting(at("secret"), ""))
		}, virterr.SystemError, "cannot start domain 'broken': kernel: ROOT/images/secret: QEMU's user UID may not read it: chmod o+r ROOT/images/secret"},
		{"kernel unreachable", func() error {
			must(t, os.MkdirAll(at("private/deep"), 0o700))
			must(t, os.WriteFile(at("private/deep/vmlinuz"), nil, 0o644))
			return w.start(booting(at("private/deep/vmlinuz"), ""))
		}, virterr.SystemError, "cannot start domain 'broken': kernel: ROOT/images/private/deep/vmlinuz: QEMU's user UID may not enter ROOT/images/private: chmod o+x ROOT/images/private, or put the file elsewhere"},
	}...)
}

func booting(kernel, initrd string) string {
	if initrd != "" {
		initrd = "<initrd>" + initrd + "</initrd>"
	}
	return fmt.Sprintf(`<domain type='qemu'><name>broken</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type><kernel>%s</kernel>%s</os></domain>`, kernel, initrd)
}
