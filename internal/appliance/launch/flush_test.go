package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// blockDevice is an image as a block device of the host, which counts how often it was told to bring everything to its disk.
func blockDevice(t *testing.T) string {
	t.Helper()
	image := ext4(t)
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device: %v: %s (in Debian: util-linux; it takes root and a kernel with loop devices)", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { tool(t, "losetup", "-d", device) })
	return device
}

// flushes is how often that was, and had an end.
func flushes(t *testing.T, device string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	const field = 15 // Documentation/block/stat.rst
	all := strings.Fields(string(b))
	if len(all) <= field {
		t.Fatalf("the kernel counts %d things of a block device: %s", len(all), b)
	}
	n, err := strconv.Atoi(all[field])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// flushesReach syncs in guests, and looks for what becomes of that on the host.
func flushesReach(t *testing.T, l *Launcher) {
	for access, reaches := range map[Access]bool{Write: true, Scratch: false, Discard: false} {
		device := blockDevice(t)
		a := launched(t, l)
		mounted(t, a, Disk{Path: device, Format: "raw", Access: access})
		if err := writes(a, t, "/new", "text"); err != nil {
			t.Fatal(err)
		}
		before := flushes(t, device)
		if err := a.Agent().Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := flushes(t, device) - before; n > 0 != reaches {
			t.Errorf("access %d: a sync in the guest made the host's disk flush %d times", access, n)
		}
		if access == Write && !strings.Contains(tool(t, "debugfs", "-R", "cat /new", device), "text") {
			t.Error("what was synced is not on the device")
		}
		closed(t, a)
	}
}
