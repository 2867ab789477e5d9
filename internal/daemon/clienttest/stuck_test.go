package clienttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const silentGuest = `<domain type='qemu'><name>%s</name><uuid>00000000-0000-4000-8000-00000000000%d</uuid><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='ROOT/work/disk%d.img'/><target dev='vda' bus='virtio'/></disk>
    <memballoon model='none'/>
  </devices></domain>`

// A QEMU that answers nothing costs a client seconds, and its own counters; it ends when it is told to.
func TestAGuestThatIsStuckKeepsNothingOfTheOthersFromClients(t *testing.T) {
	t.Parallel()
	c := serve(t)
	for i, name := range []string{"awake", "stuck"} {
		c.disk(fmt.Sprintf("disk%d.img", i+1))
		c.write(name+".xml", c.fill(fmt.Sprintf(silentGuest, name, i+1, i+1)))
		c.do("create", name+".xml", "--paused")
	}
	b, err := os.ReadFile(filepath.Join(c.daemon.Paths().Guest("00000000-0000-4000-8000-000000000002"), "pid"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.FieldsFunc(string(b), func(r rune) bool { return r < '0' || r > '9' })
	if len(fields) == 0 {
		t.Fatalf("no process in %q", b)
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGCONT) })
	c.tell("stuck.live")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
