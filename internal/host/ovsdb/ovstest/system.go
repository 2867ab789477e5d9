package ovstest

import (
	"errors"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// KernelDatapath is nil where the kernel can move the switch's frames, and a host.Missing where it cannot. Asking loads the
// module.
func KernelDatapath() error {
	_, err := netlink.GenlFamilyGet("ovs_datapath")
	if errors.Is(err, unix.ENOENT) {
		return &host.Missing{What: "datapath of Open vSwitch", Config: "the module openvswitch (CONFIG_OPENVSWITCH)", Err: err}
	}
	return err
}

// SystemBridge makes a bridge with the kernel's datapath.
func (s *Switch) SystemBridge(name string) {
	s.t.Helper()
	s.Ctl("add-br", name, "--", "set", "Bridge", name, "datapath_type=system")
}
