package clienttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/wire"
	"taproom/internal/host/ovsdb/ovstest"
	"taproom/internal/qemu/emutest"
)

// onSwitchNIC is a NIC on ovs0 by the last byte of its address; more is what its document says beside.
func onSwitchNIC(last int, more string) string {
	return fmt.Sprintf("<interface type='bridge'><mac address='52:54:00:00:07:%02x'/><source bridge='ovs0'/>%s<virtualport type='openvswitch'/><model type='virtio'/><rom enabled='no'/></interface>", last, more)
}

// switched installs a guest that has places for NICs, with Open vSwitch on the segment of its network.
func switched(t *testing.T) (*machine, *ovstest.Switch) {
	t.Helper()
	c, sw := serveSwitch(t)
	m := c.install("<controller type='usb' model='none'/>", strings.Repeat("<controller type='pci' model='pcie-root-port'/>", 8)+"<controller type='usb' model='none'/>")
	c.daemon.NS.Shell("ip link set ovs0 master virbr-lab up")
	for i := range 3 {
		c.write(fmt.Sprintf("nic%d.xml", i), onSwitchNIC(i, ""))
	}
	c.write("tagged.xml", onSwitchNIC(0, "<vlan><tag id='7'/></vlan>"))
	m.start()
	return m, sw
}

// leaseOf waits until the guest has an address on the NIC with a MAC.
func (m *machine) leaseOf(mac string, leases int) string {
	m.t.Helper()
	n := ask[wire.Network](m, wire.OpNetwork, wire.NetworkWait{Leases: leases, Seconds: 4 * emutest.Seconds()})
	for _, nic := range n.NICs {
		if nic.MAC == mac && nic.Lease != nil {
			return nic.Lease.Address
		}
	}
	m.t.Fatalf("the guest has no lease on %s: %+v", mac, n)
	return ""
}

// away takes the guest and its network away, and looks for what is left.
func (m *machine) away() {
	m.t.Helper()
	for _, args := range [][]string{{"destroy", m.name}, {"undefine", m.name}, {"net-destroy", "lab"}, {"net-undefine", "lab"}} {
		m.do(args...)
	}
	if left := m.daemon.Leftovers(); left != nil {
		m.t.Errorf("left: %v", left)
	}
}

// A NIC that is plugged into a guest that runs passes traffic, follows the VLAN it gets, and goes when the guest lets go of it.
// A switch that hangs fails who plugs, in time and with nothing left, and holds up nobody who unplugs.
func TestNICsOnOpenVSwitchArePluggedIntoAGuestThatRuns(t *testing.T) {
	t.Parallel()
	m, sw := switched(t)
	m.plugsAndUnplugs(sw)
	m.do("attach-device", m.name, "nic0.xml", "--live")
	m.useSwitch(sw, 10)
	m.plugsBesideOneThatHangs(sw)
	m.useSwitch(sw, 60)
	m.client = m.daemon.Client()
	m.do("attach-device", m.name, "nic2.xml", "--live")
	m.reach(m.leaseOf("52:54:00:00:07:02", 2))
	m.away()
	if ports := sw.Ports("ovs0"); len(ports) > 0 {
		t.Errorf("ports left: %v", ports)
	}
}

// taps are the links of the guest's NICs, without that of its network.
func (m *machine) taps() []string {
	m.t.Helper()
	var out []string
	for line := range strings.Lines(m.daemon.NS.Run("ip", "-o", "link", "show", "type", "tun")) {
		if f := strings.Fields(line); strings.HasPrefix(f[1], "vnet") && f[1] != "vnet0:" {
			out = append(out, strings.TrimSuffix(f[1], ":"))
		}
	}
	return out
}

func (m *machine) plugsAndUnplugs(sw *ovstest.Switch) {
	t := m.t
	t.Helper()
	m.do("attach-device", m.name, "nic0.xml", "--live")
	if ports := sw.Ports("ovs0"); !slices.Equal(ports, []string{"vnet1"}) {
		t.Errorf("ports %v", ports)
	}
	m.reach(m.leaseOf("52:54:00:00:07:00", 2))

	m.do("update-device", m.name, "tagged.xml", "--live")
	sw.Await("the port has the other VLAN", func() bool { return sw.Port("vnet1") == "tag=7" })
	m.restart("kill")
	m.client = m.daemon.Client()
	if doc := m.do("dumpxml", m.name, "--xpath", "//interface[target/@dev='vnet1']/vlan/tag"); strings.TrimSpace(doc) != `<tag id="7"/>` {
		t.Errorf("the document has %s", doc)
	}
	m.do("update-device", m.name, "nic0.xml", "--live")
	sw.Await("the port has none", func() bool { return sw.Port("vnet1") == "" })
	m.reach(m.leaseOf("52:54:00:00:07:00", 2))

	m.do("detach-device", m.name, "nic0.xml", "--live")
	sw.Await("the guest has let go of the NIC, and the port is gone", func() bool { return len(sw.Ports("ovs0")) == 0 })
	if n := ask[wire.Network](m, wire.OpNetwork, wire.NetworkWait{}); len(n.NICs) != 1 {
		t.Errorf("the port is gone, and the guest has %+v", n.NICs)
	}
}

// plugsBesideOneThatHangs is with a NIC on the switch, whose daemon and then whose database hang.
func (m *machine) plugsBesideOneThatHangs(sw *ovstest.Switch) {
	t := m.t
	t.Helper()
	list, document, taps, ports := m.do("domiflist", m.name), m.do("dumpxml", m.name, "--xpath", "//interface"), m.taps(), sw.Ports("ovs0")
	if !slices.Equal(taps, ports) {
		t.Errorf("there are the taps %v and the ports %v", taps, ports)
	}
	fails := func(want string, args ...string) {
		t.Helper()
		out, code := m.run(m.virsh(args...))
		if code == 0 || !strings.Contains(out, want) {
			t.Errorf("virsh %q: exit %d: %s", args, code, out)
		}
		if now := m.do("domiflist", m.name); now != list {
			t.Errorf("after virsh %q the guest has\n%s\nand had\n%s", args, now, list)
		}
		if now := m.taps(); !slices.Equal(now, taps) {
			t.Errorf("after virsh %q there are %v", args, now)
		}
	}
	sw.SignalDaemon(unix.SIGSTOP)
	fails("ovs-vswitchd hangs or does not run", "attach-device", m.name, "nic1.xml", "--live")
	if now := sw.Ports("ovs0"); !slices.Equal(now, ports) {
		t.Errorf("a NIC that could not be plugged in leaves the ports %v", now)
	}
	sw.SignalDaemon(unix.SIGCONT)

	late := "its database at " + sw.Socket + " has not answered within 10s"
	sw.SignalServer(unix.SIGSTOP)
	fails(late, "attach-device", m.name, "nic1.xml", "--live")
	fails(late, "update-device", m.name, "tagged.xml", "--live")
	if now := m.do("dumpxml", m.name, "--xpath", "//interface"); now != document {
		t.Errorf("the document says\n%s\nand said\n%s", now, document)
	}
	m.do("detach-device", m.name, "nic0.xml", "--live")
	sw.SignalServer(unix.SIGCONT)
	sw.Await("the port of a NIC that was unplugged is gone", func() bool { return len(sw.Ports("ovs0")) == 0 })
}

// movesOnSwitches has the first NIC move to another bridge and back, and not to one whose frames are moved otherwise.
func (c *clients) movesOnSwitches(sw *ovstest.Switch) {
	c.t.Helper()
	sw.Bridge("ovs1")
	sw.Ctl("--no-wait", "add-br", "ovs2", "--", "set", "Bridge", "ovs2", "datapath_type=system")
	to := func(bridge string) (string, int) {
		c.write("moved.xml", fmt.Sprintf("<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='%s'/><vlan><tag id='7'/></vlan><virtualport type='openvswitch'/><model type='virtio'/></interface>", bridge))
		return c.run(c.virsh("update-device", "switch", "moved.xml", "--live"))
	}
	for _, bridge := range []string{"ovs1", "ovs0"} {
		if out, code := to(bridge); code != 0 || !slices.Contains(sw.Ports(bridge), "vnet0") {
			c.t.Errorf("move to %s: exit %d: %s; there are the ports %v", bridge, code, out, sw.Ports(bridge))
		}
	}
	const want = "vnet0 was made for a bridge with datapath_type=netdev, and ovs2 has datapath_type=system; detach the NIC"
	if out, code := to("ovs2"); code != 1 || !strings.Contains(out, want) || !slices.Contains(sw.Ports("ovs0"), "vnet0") {
		c.t.Errorf("move to a bridge with the kernel's datapath: exit %d: %s", code, out)
	}
	sw.Ctl("--no-wait", "del-br", "ovs2", "--", "del-br", "ovs1")
}
