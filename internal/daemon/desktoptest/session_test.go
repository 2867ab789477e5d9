package desktoptest

import (
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/daemon/daemontest"
)

// A user without root installs guests in a session: from an image, and with a disk that is made in the user's own pool.
func TestVirtInstallInstallsInASession(t *testing.T) {
	t.Parallel()
	if os.Getenv(envDesktop) == "" {
		t.Skip("needs the desktop's clients: make desktop")
	}
	d := &desk{t: t, daemon: daemontest.PrepareSession(t)}
	if err := d.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	d.work = d.daemon.User().Home()
	image := d.write("web.img", "")
	uid := int(d.daemon.User().ID)
	if err := os.Truncate(image, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(image, uid, uid); err != nil {
		t.Fatal(err)
	}
	common := []string{"--connect", "qemu:///session", "--memory", "64", "--osinfo", "detect=on,require=off", "--virt-type", "qemu", "--noautoconsole"}
	d.do("virt-install", append(common, "--name", "web", "--import", "--disk", image)...)
	d.do("virt-install", append(common, "--name", "made", "--pxe", "--disk", "size=1")...)
	d.has(d.virsh("list", "--name"), "web", "made")
	d.has(d.virsh("dumpxml", "web"), "<interface type='user'>", image)
	d.has(d.virsh("pool-dumpxml", "default"), "<path>"+filepath.Join(d.work, ".local/share/libvirt/images")+"</path>")
	for _, guest := range []string{"web", "made"} {
		d.virsh("destroy", guest)
		d.virsh("undefine", guest)
	}
	for _, pool := range []string{"default", filepath.Base(d.work)} {
		d.virsh("pool-destroy", pool)
		d.virsh("pool-undefine", pool)
	}
	if left := d.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
