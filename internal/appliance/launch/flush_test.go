package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// blockDevice is an image as a block device of the host, which counts how often it was told to bring everything to its disk.
func blockDevice(t *testing.T) string {
	t.Helper()
	if err := loopDevices(); err != nil {
		t.Skipf("no loop devices, which take a kernel with them: run `make test` as root: %v", err)
	}
	image := ext4(t)
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Fatalf("losetup (in Debian: util-linux): %v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { tool(t, "losetup", "-d", device) })
	return device
}

// loopDevices opens one that is free.
func loopDevices() error {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer control.Close()
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
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
