package desktoptest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/server"
	"taproom/internal/qemu/emutest"
)

// iso makes a CD with the files of a folder.
func (d *desk) iso(name string, files map[string]string) string {
	d.t.Helper()
	dir := filepath.Join(d.work, name+".d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	for f, from := range files {
		b, err := os.ReadFile(from)
		if err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), b, 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
	path := filepath.Join(d.work, name+".iso")
	d.do("genisoimage", "-quiet", "-R", "-J", "-V", "TAPROOM", "-o", path, dir)
	return path
}

// image makes an empty disk.
func (d *desk) image(name string) string {
	d.t.Helper()
	path := filepath.Join(d.work, "images", name)
	d.do("qemu-img", "create", "-q", "-f", "qcow2", path, "64M")
	return path
}

func TestVirtInstallImportsAnImage(t *testing.T) {
	t.Parallel()
	d := sit(t)
	path := d.image("there.qcow2")
	d.install("--name", "guest", "--import", "--disk", path, "--osinfo", "debian11", "--network", "network=default")
	d.has(d.virsh("domstate", "guest"), "running")
	d.has(d.virsh("dumpxml", "guest"), `id="http://debian.org/debian/11"`, "<source file='"+path+"'", "<driver name='qemu' type='qcow2'",
		"<source network='default'", "org.qemu.guest_agent.0")
	// An image that is elsewhere: a pool of its folder is made, as with libvirt.
	if err := os.Mkdir(filepath.Join(d.work, "elsewhere"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.image("moved.qcow2"), filepath.Join(d.work, "elsewhere/moved.qcow2")); err != nil {
		t.Fatal(err)
	}
	d.install("--name", "second", "--import", "--disk", filepath.Join(d.work, "elsewhere/moved.qcow2"), "--osinfo", "generic")
	d.has(d.virsh("pool-list", "--autostart"), "elsewhere")
	// One image is one guest's.
	out, code := d.run("virt-install", "--name", "third", "--memory", "64", "--import", "--disk", path, "--osinfo", "generic", "--virt-type", "qemu")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	d.has(out, "is already in use by other guests ['guest']")
	d.end()
}

func TestVirtInstallMakesADisk(t *testing.T) {
	t.Parallel()
	d := sit(t)
	d.install("--name", "guest", "--import", "--disk", "size=1", "--osinfo", "linux2022")
	d.has(d.virsh("domblklist", "guest"), d.work+"/images/guest.qcow2")
	d.has(d.virsh("vol-dumpxml", "guest.qcow2", "default"), "<capacity unit='bytes'>1073741824<", "<format type='qcow2'/>")
	d.has(d.do("qemu-img", "check", "-U", "-f", "qcow2", filepath.Join(d.work, "images/guest.qcow2")), "No errors were found")
	d.install("--name", "raw", "--import", "--disk", "size=0.01,format=raw,bus=sata", "--osinfo", "generic")
	d.has(d.virsh("vol-info", "raw.img", "default"), "10.24 MiB")
	// More than there is room for is an error, and leaves nothing.
	out, code := d.run("virt-install", "--noautoconsole", "--virt-type", "qemu", "--memory", "64", "--name", "huge", "--import",
		"--disk", "size=10000000,format=raw,sparse=no", "--osinfo", "generic")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	d.has(out, "There is not enough free space on the storage pool to create the volume.")
	if out := d.virsh("vol-list", "default") + d.virsh("list", "--all"); strings.Contains(out, "huge") {
		t.Errorf("left:\n%s", out)
	}
	d.end()
}

func TestVirtInstallBootsACD(t *testing.T) {
	t.Parallel()
	d := sit(t)
	cd := d.iso("cd", map[string]string{"readme": "/etc/os-release"})
	out := d.install("--name", "guest", "--cdrom", cd, "--disk", "size=1", "--osinfo", "win10", "--features", "hyperv.relaxed.state=on", "--wait", "0")
	d.has(out, "Installation may be in progress")
	// What is run has the CD first; what is kept boots the disk.
	d.has(d.virsh("dumpxml", "guest"), "<boot dev='cdrom'/>", "<source file='"+cd+"'", "device='cdrom'", "<hyperv")
	if kept := d.virsh("dumpxml", "guest", "--inactive"); strings.Contains(kept, "<boot dev='cdrom'/>") || !strings.Contains(kept, "<boot dev='hd'/>") {
		t.Errorf("kept:\n%s", kept)
	}
	d.end()
}

// linux is a kernel that QEMU takes, and that does nothing.
func linux(t *testing.T) string {
	t.Helper()
	b := make([]byte, 64<<10)
	copy(b[0x1f1:], []byte{1}) // one sector of setup code
	copy(b[0x1fe:], "\x55\xaa")
	copy(b[0x202:], "HdrS\x06\x02")     // boot protocol 2.6
	b[0x211] = 1                        // loaded high
	copy(b[0x22c:], "\xff\xff\xff\x7f") // where an initrd may end
	path := filepath.Join(t.TempDir(), "linux")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVirtInstallBootsAKernelFromAnInstallTree(t *testing.T) {
	t.Parallel()
	d := sit(t)
	tree := d.iso("tree", map[string]string{"linux": linux(t), "initrd.gz": "/etc/os-release"})
	// A location without a tree is refused by virt-install itself, and says what a location is.
	out, code := d.run("virt-install", "--noautoconsole", "--virt-type", "qemu", "--memory", "64", "--name", "none", "--location", tree, "--disk", "none", "--osinfo", "generic")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	d.has(out, "Could not find an installable distribution", "The location must be the root directory of an install tree.")
	// Where the kernel is named it is handed over as a file of this machine.
	d.has(d.install("--name", "guest", "--disk", "none", "--osinfo", "generic", "--location", tree+",kernel=linux,initrd=initrd.gz",
		"--extra-args", "console=ttyS0", "--wait", "0"), "Retrieving 'linux'", "Installation may be in progress")
	d.has(d.virsh("dumpxml", "guest"), "<kernel>/var/lib/libvirt/boot/", "<initrd>", "<cmdline>console=ttyS0</cmdline>")
	if kept := d.virsh("dumpxml", "guest", "--inactive"); strings.Contains(kept, "<kernel>") {
		t.Errorf("kept:\n%s", kept)
	}
	d.end()
}

func TestVirtInstallFollowsItsOptions(t *testing.T) {
	t.Parallel()
	d := sit(t)
	d.has(d.install("--name", "dry", "--import", "--disk", "size=1", "--osinfo", "fedora36", "--dry-run"), "Dry run completed successfully")
	if out := d.virsh("list", "--all", "--name") + d.virsh("vol-list", "default"); strings.Contains(out, "dry") {
		t.Errorf("a dry run made:\n%s", out)
	}
	d.install("--name", "transient", "--import", "--disk", "none", "--osinfo", "generic", "--transient")
	d.has(d.virsh("dominfo", "transient"), "Persistent:     no")
	d.virsh("destroy", "transient")
	d.install("--name", "uefi", "--import", "--disk", "none", "--osinfo", "debian11", "--boot", "uefi")
	d.has(d.virsh("dumpxml", "uefi"), "<loader readonly='yes'", "<nvram")
	d.has(d.virsh("domstate", "uefi"), "running")
	d.end()
}

// --wait ends when the guest does.
func TestVirtInstallWaits(t *testing.T) {
	t.Parallel()
	d := sit(t)
	cmd := d.command("virt-install", "--noautoconsole", "--virt-type", "qemu", "--memory", "64", "--name", "guest", "--import", "--disk", "none",
		"--osinfo", "generic", "--wait")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	running := d.await(func(state int32) bool { return state == server.DomainRunning })
	if err := d.daemon.NS.Start(cmd); err != nil {
		t.Fatal(err)
	}
	running("guest")
	d.virsh("destroy", "guest")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, out.String())
	}
	d.has(out.String(), "Domain creation completed.")
	d.end()
}

// await listens from now on; what it returns waits until a domain is there and in a state that is wanted.
func (d *desk) await(want func(state int32) bool) (wait func(domain string)) {
	d.t.Helper()
	c := d.daemon.Client()
	events, stop, err := c.Lifecycle(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return func(domain string) {
		d.t.Helper()
		var progress emutest.Progress
		late, cancel := emutest.Watch(d.t.Context(), 1, &progress)
		defer cancel()
		for {
			dom, err := c.Domain(d.t.Context(), domain)
			if err == nil {
				state, err := c.DomainState(d.t.Context(), dom)
				if err == nil && want(state.State) {
					break
				}
			}
			select {
			case e := <-events:
				progress.Event(fmt.Sprintf("the daemon's event %+v", e))
			case <-late.Done():
				d.t.Fatalf("domain %s does not get there: %v; %v; the daemon said: %s", domain, err, context.Cause(late), d.daemon.Said())
			}
		}
		if err := stop(d.t.Context()); err != nil {
			d.t.Error(err)
		}
	}
}

// The documents that virt-install makes for systems old and new are taken, and mean the same after a round through the
// daemon.
func TestWhatVirtInstallWritesSurvivesARoundTrip(t *testing.T) {
	t.Parallel()
	d := sit(t)
	for _, os := range []string{
		"debian11", "debian7", "ubuntu22.04", "fedora36", "rhel6.0", "rhel9.1", "opensuse15.4", "alpinelinux3.16", "archlinux",
		"win11", "win10", "win2k22", "win7", "winxp", "freebsd13.1", "openbsd4.5", "generic", "linux2020", "macosx10.7", "msdos6.22",
	} {
		xml := d.install("--name", "x", "--import", "--disk", "none", "--osinfo", os, "--print-xml")
		if i := strings.Index(xml, "<domain"); i > 0 {
			xml = xml[i:] // warnings come before
		}
		d.write("x.xml", xml)
		if out, code := d.run("virsh", "define", "x.xml"); code != 0 {
			t.Errorf("%s: %s\n%s", os, out, xml)
			continue
		}
		first := d.virsh("dumpxml", "x", "--inactive")
		d.write("y.xml", first)
		d.virsh("define", "y.xml")
		if second := d.virsh("dumpxml", "x", "--inactive"); first != second {
			t.Errorf("%s: first\n%s\nthen\n%s", os, first, second)
		}
		d.has(first, "machine=", "<emulator>")
		if _, code := d.run("virsh", "undefine", "x", "--nvram"); code != 0 {
			t.Errorf("%s cannot be undefined", os)
		}
	}
	d.end()
}
