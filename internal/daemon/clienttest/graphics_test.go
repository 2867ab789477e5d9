package clienttest

import (
	"path/filepath"
	"strconv"
	"testing"

	"taproom/internal/qemu/emutest"
)

// Displays that listen nowhere are reached through the connection to the daemon: descriptors are passed both ways.
func TestPythonOpensDisplaysAndChannels(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("guest.xml", `<domain type='qemu'><name>guest</name><memory unit='MiB'>32</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <graphics type='vnc' passwd='secret'><listen type='none'/></graphics>
    <graphics type='spice'><listen type='none'/></graphics>
    <channel type='unix'><target type='virtio' name='org.example.0'/></channel>
    <channel type='spicevmc'><target type='virtio' name='com.redhat.spice.0'/></channel>
    <video><model type='vga'/></video>
  </devices></domain>`)
	c.do("create", "guest.xml", "--paused")
	script, err := filepath.Abs("testdata/displays.py")
	if err != nil {
		t.Fatal(err)
	}
	out, code := c.run(c.command("/usr/bin/python3", script, c.daemon.URI(), strconv.Itoa(emutest.Seconds())))
	if code != 0 {
		t.Fatalf("python3 (package python3-libvirt): exit %d: %s\nthe daemon said: %s", code, out, c.daemon.Said())
	}
	c.golden("displays.py.golden", c.normal(out))
	c.do("destroy", "guest")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
