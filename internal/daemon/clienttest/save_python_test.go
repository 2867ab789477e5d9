package clienttest

import (
	"os"
	"path/filepath"
	"testing"
)

// lightGuest runs nothing but firmware.
const lightGuest = `<domain type='qemu'><name>light</name><uuid>00000000-0000-4000-8000-000000000003</uuid><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='ROOT/work/disk1.img'/><target dev='vda' bus='virtio'/></disk>
    <graphics type='vnc' autoport='yes' passwd='secret'/>
    <memballoon model='virtio'/>
  </devices></domain>`

func TestGuestsAreSavedAndRestoredWithThePythonBindings(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.disk("disk1.img")
	c.disk("disk2.img")
	c.write("light.xml", c.fill(lightGuest))
	if err := os.Mkdir(filepath.Join(c.work, "images"), 0o755); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/save.py")
	if err != nil {
		t.Fatal(err)
	}
	out, code := c.run(c.command("/usr/bin/python3", script, c.daemon.URI()))
	if code != 0 {
		t.Fatalf("python3 (package python3-libvirt): exit %d: %s\nthe daemon said: %s", code, out, c.daemon.Said())
	}
	c.golden("save.py.golden", c.normal(out))
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
