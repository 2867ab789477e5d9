package clienttest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// QEMU from 9.1 on takes only a descriptor with O_DIRECT for such a disk. Some filesystems have no such descriptors.
func TestADiskCanGoPastThePageCacheWhereItsFilesystemCan(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("guest.xml", c.fill(`<domain type='qemu'><name>guest</name><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' cache='none'/><source file='ROOT/work/disk.img'/><target dev='vda' bus='virtio'/>
    </disk>
  </devices></domain>`))
	c.do("define", "guest.xml")
	out, code := c.run(c.virsh("start", "guest", "--paused"))
	f, err := os.OpenFile(filepath.Join(c.work, "disk.img"), os.O_RDWR|unix.O_DIRECT, 0)
	switch {
	case err == nil:
		_ = f.Close()
		if code != 0 {
			t.Fatalf("start: exit %d: %s", code, out)
		}
		c.do("destroy", "guest")
	case errors.Is(err, unix.EINVAL):
		if code != 1 || !strings.Contains(out, "disk vda") || !strings.Contains(out, "cannot be used past the page cache") {
			t.Errorf("start: exit %d: %s", code, out)
		}
	default:
		t.Fatal(err)
	}
	c.do("undefine", "guest")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
