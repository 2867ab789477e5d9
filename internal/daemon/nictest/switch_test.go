package nictest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/ovsdb/ovstest"
)

// With the kernel's datapath the kernel finishes what a guest leaves to it, and its taps have a master that is none of ours.
func TestTheKernelsDatapathOfOpenVSwitchCarriesTheTrafficOfGuests(t *testing.T) {
	t.Parallel()
	hosttest.Needs(t, ovstest.KernelDatapath(), hosttest.Lift{Module: "openvswitch"})
	try(t, []nic{{attachment: openVSwitch(9, "system"), model: "virtio"}})
}

// withSwitch runs an Open vSwitch, which the daemon will use.
func (m *machine) withSwitch() {
	m.Helper()
	sw := ovstest.Start(m.T, m.daemon.NS)
	sw.AwaitProcessors() // for bridges of the kernel's datapath
	m.shell = "export OVS_RUNDIR=" + filepath.Dir(sw.Socket) + "; "
	dir := m.daemon.Paths().Config
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "taproomd.toml"), []byte(fmt.Sprintf("ovs_socket = %q\novs_timeout_seconds = 60\n", sw.Socket)), 0o644)
	}
	if err != nil {
		m.Fatal(err)
	}
}
