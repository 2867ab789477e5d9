package nictest

import "fmt"

// attachment is a place for a NIC, with a segment of its own: what serves DHCP there, and where the host answers.
type attachment struct {
	name string
	// network is the document of the network whose DHCP serves the segment; "" for none.
	network string
	// prepare makes what the NIC is attached to, once the network is up, and undo removes what the test made.
	prepare, undo string // scripts for a shell
	// inside is the interface's element but for its model: type and content.
	kind, inside string
	// host is where the guest finds the host; forward is the port of the host's loopback that leads to the guest's, where
	// the guest's own address cannot be reached.
	host    string
	forward int
	noVHost bool
	// onSwitch says that prepare needs an Open vSwitch, and the daemon too.
	onSwitch bool
}

// guestPort is where the guest echoes, by TCP and UDP.
const guestPort = 7007

// segment is an isolated network with DHCP, number n.
func segment(n int, name string) string {
	return fmt.Sprintf(`<network><name>%s</name><bridge name='seg%d' delay='0'/><ip address='192.168.%d.1' netmask='255.255.255.0'><dhcp><range start='192.168.%d.2' end='192.168.%d.99'/></dhcp></ip></network>`,
		name, n, 160+n, 160+n, 160+n)
}

func hostOf(n int) string { return fmt.Sprintf("192.168.%d.1", 160+n) }

// attachments are all of them. A bridge of somebody else's, a tap, a macvtap's parent are each connected with the bridge of a
// network, which serves DHCP there.
func attachments() []attachment {
	return append([]attachment{
		{name: "network", network: segment(0, "network"), kind: "network", inside: "<source network='network'/>", host: hostOf(0)},
		{name: "bridge", network: segment(1, "bridge"), kind: "bridge", inside: "<source bridge='seg1'/>", host: hostOf(1)},
		{
			name: "ethernet", network: segment(2, "ethernet"), kind: "ethernet", inside: "<target dev='given' managed='no'/>", host: hostOf(2),
			prepare: "ip tuntap add given mode tap vnet_hdr; ip link set given master seg2 up", undo: "ip link del given",
		},
		{
			name: "direct", network: segment(3, "direct"), kind: "direct", inside: "<source dev='lower' mode='bridge'/>", host: hostOf(3),
			prepare: "ip link add lower type veth peer upper; ip link set upper master seg3 up; ip link set lower up", undo: "ip link del lower",
		},
		{
			name: "user", kind: "user", host: "10.0.2.2", forward: 7107,
			inside:  fmt.Sprintf("<portForward proto='tcp' address='127.0.0.1'><range start='7107' to='%d'/></portForward><portForward proto='udp' address='127.0.0.1'><range start='7107' to='%d'/></portForward>", guestPort, guestPort),
			noVHost: true,
		},
	}, macvtap(5, "bridge"), macvtap(6, "vepa"), macvtap(7, "private"), macvtap(8, "passthrough"), openVSwitch(9, "netdev"))
}

// openVSwitch is a bridge of Open vSwitch with its userspace datapath (netdev) or the kernel's (system), whose own port is a
// port of segment n.
func openVSwitch(n int, datapath string) attachment {
	return attachment{
		name: "openvswitch", network: segment(n, "openvswitch"), kind: "bridge", host: hostOf(n), onSwitch: true,
		inside:  fmt.Sprintf("<source bridge='ovs%d'/><virtualport type='openvswitch'/>", n),
		prepare: fmt.Sprintf("ovs-vsctl --timeout=60 add-br ovs%[1]d -- set Bridge ovs%[1]d datapath_type=%[2]s; ip link set ovs%[1]d master seg%[1]d up", n, datapath),
		undo:    fmt.Sprintf("ovs-vsctl --timeout=60 del-br ovs%d", n),
	}
}

// macvtap is one on a pair of links whose other end is a port of segment n.
func macvtap(n int, mode string) attachment {
	return attachment{
		name: "macvtap-" + mode, network: segment(n, "macvtap-"+mode), kind: "direct", host: hostOf(n),
		inside:  fmt.Sprintf("<source dev='low%d' mode='%s'/>", n, mode),
		prepare: fmt.Sprintf("ip link add low%[1]d type veth peer name far%[1]d; ip link set far%[1]d master seg%[1]d up", n),
		undo:    fmt.Sprintf("ip link del low%d", n),
	}
}
