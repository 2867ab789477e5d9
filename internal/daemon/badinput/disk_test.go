package badinput

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	must(w.t, os.WriteFile(at("secret"), nil, 0o600))
	w.put("images/private/deep/vmlinuz", "")
	must(w.t, os.Chmod(at("private"), 0o700))
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
		{"firmware's file unreadable", func() error {
			return w.start(fwcfg(at("secret")))
		}, virterr.SystemError, "cannot start domain 'broken': fw_cfg opt/x: ROOT/images/secret: QEMU's user UID may not read it: chmod o+r ROOT/images/secret"},
		{"firmware's file unreachable", func() error {
			return w.start(fwcfg(at("private/deep/vmlinuz")))
		}, virterr.SystemError, "cannot start domain 'broken': fw_cfg opt/x: ROOT/images/private/deep/vmlinuz: QEMU's user UID may not enter ROOT/images/private: chmod o+x ROOT/images/private, or put the file elsewhere"},
	}...)
}

func TestOneImageIsWrittenByOneGuest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.images()
	must(t, w.create(guest("holder", disk(at("raw"), "raw", ""))))
	w.refuse(t, []bad{
		{"image of another", func() error { return w.start(guest("broken", disk(at("raw"), "raw", ""))) }, virterr.InternalError, "internal error: cannot start domain 'broken': QEMU ended before it was ready: /usr/bin/qemu-system-x86_64: exit status 1; it said: TIME qemu-system-x86_64: -device {\"driver\":\"virtio-blk-pci\",\"drive\":\"vda-format\",\"id\":\"virtio-disk0\",\"bootindex\":1,\"bus\":\"pci.0\",\"addr\":\"0x2\"}: Failed to get \"write\" lock; Is another process using the image [ROOT/images/raw]?; all it said is in ROOT/var/lib/taproom/log/broken.log"},
		{"same image twice", func() error {
			twice := disk(at("base.qcow2"), "qcow2", "")
			return w.start(guest("broken", twice+strings.ReplaceAll(twice, "vda", "vdb")))
		}, virterr.InternalError, "internal error: cannot start domain 'broken': QEMU ended before it was ready: /usr/bin/qemu-system-x86_64: exit status 1; it said: TIME qemu-system-x86_64: -blockdev {\"node-name\":\"vdb-format\",\"read-only\":false,\"driver\":\"qcow2\",\"file\":\"vdb-storage\",\"backing\":null}: Failed to get \"write\" lock; Is another process using the image [ROOT/images/base.qcow2]?; all it said is in ROOT/var/lib/taproom/log/broken.log"},
	}...)
	d, err := w.c.Domain(t.Context(), "holder")
	must(t, err)
	must(t, w.c.DestroyDomain(t.Context(), d))
	must(t, w.start(guest("broken", disk(at("raw"), "raw", ""))))
	must(t, w.start(guest("broken", disk(at("base.qcow2"), "raw", "")))) // who says raw means raw
}

func TestDisksOnFileSystemsThatRefuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.images()
	w.NS.Shell("mount --bind " + at("") + " " + at("") + " && mount -o remount,ro,bind " + at(""))
	w.refuse(t, []bad{
		{"read-only", func() error { return w.start(guest("broken", disk(at("raw"), "raw", ""))) }, virterr.SystemError, "cannot start domain 'broken': disk vda: ROOT/images/raw: read-only file system; mount its file system writable, or add <readonly/> to the disk"},
		{"log on read-only", func() error {
			return w.start(guest("broken", `<serial type='file'><source path='`+at("log")+`'/></serial>`))
		}, virterr.SystemError, "cannot start domain 'broken': serial0: ROOT/images/log: read-only file system; mount its file system writable"},
	}...)
	must(t, w.start(guest("broken", disk(at("raw"), "raw", "<readonly/>"))))
}

func TestCharacterDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.images()
	serial := func(kind, path, more string) func() error {
		return func() error {
			return w.start(guest("broken", fmt.Sprintf(`<serial type='%s'><source path='%s'%s/></serial>`, kind, path, more)))
		}
	}
	w.refuse(t, []bad{
		{"log into a folder", serial("file", at("folder"), ""), virterr.SystemError, "cannot start domain 'broken': serial0: ROOT/images/folder: is a directory; name a file"},
		{"log into a FIFO", serial("file", at("fifo"), ""), virterr.SystemError, "cannot start domain 'broken': serial0: ROOT/images/fifo: is not a regular file; name one"},
		{"log where no folder is", serial("file", "/nowhere/deep/log", ""), virterr.SystemError, "cannot start domain 'broken': serial0: /nowhere/deep/log: no such file or directory; create it, or correct the path in the document"},
		{"listen where a file is", serial("unix", at("file"), " mode='bind'"), virterr.SystemError, "cannot start domain 'broken': serial0: ROOT/images/file: listen on ROOT/images/file: something that is not a socket is there; move it away"},
		{"listen where somebody does", serial("unix", at("socket"), " mode='bind'"), virterr.SystemError, "cannot start domain 'broken': serial0: ROOT/images/socket: listen on ROOT/images/socket: another process serves it; stop that process, or choose another directory"},
		{"connect to nobody", serial("unix", at("gone"), " mode='connect'"), virterr.SystemError, "cannot start domain 'broken': serial0: ROOT/images/gone: no such file or directory; create it, or correct the path in the document"},
		{"path too long", serial("unix", at(strings.Repeat("x", 120)), " mode='bind'"), virterr.XMLError, "XML error: domain 'broken': invalid serial0: socket path ROOT/images/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is longer than 107 bytes"},
		{"random numbers from a folder", func() error {
			return w.start(guest("broken", `<rng model='virtio'><backend model='random'>`+at("folder")+`</backend></rng>`))
		}, virterr.SystemError, "cannot start domain 'broken': rng0: ROOT/images/folder: is not a regular file; name one"},
	}...)
	before := w.state()
	must(t, serial("unix", at("own"), " mode='bind'")())
	w.unchanged(t, before)
}

func booting(kernel, initrd string) string {
	if initrd != "" {
		initrd = "<initrd>" + initrd + "</initrd>"
	}
	return fmt.Sprintf(`<domain type='qemu'><name>broken</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type><kernel>%s</kernel>%s</os></domain>`, kernel, initrd)
}

// fwcfg is a guest whose QEMU reads a file by its name.
func fwcfg(file string) string {
	return fmt.Sprintf(`<domain type='qemu'><name>broken</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><sysinfo type='fwcfg'><entry name='opt/x' file='%s'/></sysinfo></domain>`, file)
}
