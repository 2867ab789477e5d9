package ovstest

import (
	"errors"
	"fmt"
	"time"

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

// counts is the monotonic clock's reading from which on ovs-vswitchd knows the number of processors. Until then ovs-vswitchd before
// 3.2 counts none, and a datapath of the kernel that it opens has no handler that could be asked where frames go: all frames
// are lost for as long as the process lives (Open vSwitch b354cee2e0a7, 79f936744916). A guest of `make lab` is that young.
const counts = 10 * time.Second

// uptime returns the reading of this machine's monotonic clock.
func uptime() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return time.Duration(now.Nano()), nil
}

// AwaitProcessors waits on a machine that has just booted until the switch can open the kernel's datapath. A test that makes
// a bridge of that datapath without SystemBridge calls it first.
func (s *Switch) AwaitProcessors() {
	s.t.Helper()
	s.Await("ovs-vswitchd counts the processors", func() bool {
		shown, err := uptime()
		if err != nil {
			s.t.Fatal(err)
		}
		return shown-s.behind >= counts
	})
}

// SystemBridge makes a bridge with the kernel's datapath.
func (s *Switch) SystemBridge(name string) {
	s.t.Helper()
	s.AwaitProcessors()
	s.Ctl("add-br", name, "--", "set", "Bridge", name, "datapath_type=system")
}
