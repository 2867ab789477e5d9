package badinput

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// listen has somebody else listen in the daemon's namespace.
func (w *world) listen(t *testing.T, address string) net.Listener {
	t.Helper()
	var l net.Listener
	var err error
	w.NS.Do(func() { l, err = net.Listen("tcp", address) })
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// display is a VNC display on a port of its own choice.
func display(port int) string {
	return fmt.Sprintf(`<graphics type='vnc' port='%d' autoport='no' listen='127.0.0.1'/><video><model type='vga'/></video>`, port)
}

func TestDisplays(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // "well" has 5900; the range ends with 5903
	w.listen(t, "127.0.0.1:5901")
	w.listen(t, "127.0.0.1:5910")
	var d remote.Domain
	must(t, w.call(remote.ProcDomainCreateXML, &remote.StringFlags{S: guest("next", vnc)}, &d))
	doc, err := w.c.DomainXML(t.Context(), d, 0)
	must(t, err)
	if !strings.Contains(doc, "port='5902'") {
		t.Errorf("it has not stepped over the port of somebody else:\n%s", doc)
	}
	w.refuse(t, []bad{
		{"taken by a stranger", func() error { return w.start(guest("broken", display(5910))) }, virterr.OperationFailed, "operation failed: cannot start domain 'broken': VNC display: 127.0.0.1:5910 is in use already; choose another port, or autoport='yes'"},
		{"taken by a guest", func() error { return w.start(guest("broken", display(5900))) }, virterr.OperationFailed, "operation failed: cannot start domain 'broken': VNC display: 127.0.0.1:5900 is in use already; choose another port, or autoport='yes'"},
		{"not an address of this host", func() error {
			return w.start(guest("broken", strings.Replace(vnc, "127.0.0.1", "203.0.113.9", 1)))
		}, virterr.OperationFailed, "operation failed: cannot start domain 'broken': VNC display: this host has no address 203.0.113.9; listen on one that it has, or on 0.0.0.0"},
		{"port too low", func() error { return w.start(guest("broken", display(80))) }, virterr.ConfigUnsupported, "define: unsupported configuration: domain 'broken': graphics is not supported: port 80: a VNC display's port starts at 5900"},
		{"port too high", func() error { return w.start(guest("broken", display(70000))) }, virterr.XMLError, "define: XML error: domain 'broken': invalid devices/graphics/@port: \"70000\" is not -1 to 65535"},
	}...)
	third := w.listen(t, "[::]:5903")
	w.refuse(t, bad{"all taken", func() error { return w.start(guest("broken", vnc)) }, virterr.OperationFailed, "operation failed: cannot start domain 'broken': VNC display: ports 5900 to 5903: all in use; stop a guest, or raise vnc_port_last in taproomd.toml"})
	third.Close()
	must(t, w.start(guest("broken", vnc)))
	must(t, w.c.DestroyDomain(t.Context(), d))
}

func TestNICs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.NS.Shell("ip tuntap add dev tap9 mode tap; ip link add br-down address 02:00:00:00:00:09 type bridge")
	w.NS.Keep("link tap9", "link br-down")
	must(t, w.defineNetwork(network("asleep", "virbr-asleep", "192.168.93")))
	on := func(bridge string) func() error {
		return func() error {
			return w.start(guest("broken", fmt.Sprintf(`<interface type='bridge'><source bridge='%s'/><model type='virtio'/></interface>`, bridge)))
		}
	}
	w.refuse(t, []bad{
		{"network that is not there", func() error { return w.start(guest("broken", nic("nowhere"))) }, virterr.NoNetwork, "Network not found: domain 'broken': no network with matching name 'nowhere'"},
		{"network that is not active", func() error { return w.start(guest("broken", nic("asleep"))) }, virterr.OperationInvalid, "Requested operation is not valid: domain 'broken': network 'asleep' is not active; start it with `virsh net-start asleep`"},
		{"bridge that is not there", on("br-none"), virterr.SystemError, "domain 'broken': NIC MAC: there is no bridge br-none; create it (ip link add br-none type bridge), or name another one"},
		{"bridge that is none", on("tap9"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': NIC MAC: tap9 is no bridge; make a bridge with tap9 as its port, and name that, or use type='direct' with <source dev='tap9'/>"},
		{"bridge that is lo", on("lo"), virterr.ConfigUnsupported, "unsupported configuration: domain 'broken': NIC MAC: lo is no bridge; make a bridge with lo as its port, and name that, or use type='direct' with <source dev='lo'/>"},
		{"second NIC", func() error { return w.start(guest("broken", nic("quiet")+nic("nowhere"))) }, virterr.NoNetwork, "Network not found: domain 'broken': no network with matching name 'nowhere'"},
	}...)
	w.undefineNetwork("asleep")
	// A bridge that is down carries nothing, and is nobody's mistake.
	before := w.state()
	must(t, on("br-down")())
	w.unchanged(t, before)
}

func (w *world) undefineNetwork(name string) {
	w.t.Helper()
	n, err := w.c.Network(w.t.Context(), name)
	must(w.t, err)
	must(w.t, w.call(remote.ProcNetworkUndefine, &n, &xdr.Void{}))
}

func TestNamesOfTapsThatOthersHaveAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var batch strings.Builder
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&batch, "ip tuntap add dev vnet%d mode tap; ", i)
	}
	w.NS.Shell(batch.String())
	w.NS.Keep("link vnet*")
	before := w.state()
	must(t, w.create(guest("broken", nic("quiet"))))
	if got := w.NS.Run("ip", "-o", "link", "show", "vnet41"); !strings.Contains(got, "master virbr-quiet") {
		t.Errorf("vnet41: %s", got)
	}
	d, err := w.c.Domain(t.Context(), "broken")
	must(t, err)
	must(t, w.c.DestroyDomain(t.Context(), d))
	w.unchanged(t, before)
}

func TestUsersRunOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // 5 users: two of the daemon's own, and "well"
	for _, name := range []string{"a", "b"} {
		must(t, w.create(guest(name, "")))
	}
	w.refuse(t, bad{"users", func() error { return w.start(guest("broken", nic("quiet")+vnc)) }, virterr.OperationFailed, "operation failed: cannot start domain 'broken': a user for its QEMU: user numbers A to B: all in use; stop a guest, or raise uid_count in taproomd.toml"})
	for _, name := range []string{"a", "b"} {
		d, err := w.c.Domain(t.Context(), name)
		must(t, err)
		must(t, w.c.DestroyDomain(t.Context(), d))
	}
	must(t, w.start(guest("broken", "")))
}

func TestNetworksThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.NS.Shell("ip tuntap add dev uplink mode tap; ip address add 10.20.30.5/24 dev uplink; ip link set uplink up; ip link add br-mine type bridge; ip tuntap add dev virbr-tap mode tap; ip link set br-mine alias 'taproom:not really'")
	w.NS.Keep("link uplink", "link br-mine", "link virbr-tap")
	start := func(bridge, subnet string) func() error {
		return func() error { return w.startNetwork(network("broken", bridge, subnet)) }
	}
	w.refuse(t, []bad{
		{"subnet of an uplink", start("virbr-broken", "10.20.30"), virterr.OperationFailed, "operation failed: cannot start network 'broken': the host reaches 10.20.30.0/24 by link uplink already (`ip route show 10.20.30.0/24`); choose another subnet, or remove that route"},
		{"subnet of another network", start("virbr-broken", "192.168.91"), virterr.OperationFailed, "operation failed: cannot start network 'broken': its subnet 192.168.91.0/24 overlaps with 192.168.91.0/24 of network 'quiet', which is active; choose another one, or stop that network (virsh net-destroy quiet)"},
		{"bridge of somebody else", start("br-mine", "192.168.94"), virterr.OperationFailed, "operation failed: cannot start network 'broken': link br-mine is somebody else's: it is a bridge of group 0 with the alias \"taproom:not really\"; choose another name, or remove it"},
		{"name of another kind of link", start("virbr-tap", "192.168.94"), virterr.OperationFailed, "operation failed: cannot start network 'broken': link virbr-tap is somebody else's: it is a tun of group 0; choose another name, or remove it"},
		{"loopback", start("lo", "192.168.94"), virterr.OperationFailed, "operation failed: cannot start network 'broken': link lo is somebody else's: it is a device of group 0; choose another name, or remove it"},
		{"tap of a guest", start("vnet0", "192.168.94"), virterr.OperationFailed, "operation failed: cannot start network 'broken': link vnet0 is somebody else's: it is a tun of group N with the alias \"taproom:UUID\"; choose another name, or remove it"},
		{"start what is active", func() error {
			n, err := w.c.Network(t.Context(), "quiet")
			must(t, err)
			return w.call(remote.ProcNetworkCreate, &n, &xdr.Void{})
		}, virterr.OperationInvalid, "Requested operation is not valid: network is already active: 'quiet'"},
		{"create what is there", func() error {
			return w.call(remote.ProcNetworkCreateXML, &remote.String{S: network("broken", "virbr-quiet", "192.168.94")}, &remote.Network{})
		}, virterr.InternalError, "internal error: bridge name 'virbr-quiet' already in use by network 'quiet'"},
		{"destroy what is not active", func() error {
			var n remote.Network
			must(t, w.call(remote.ProcNetworkDefineXML, &remote.String{S: network("broken", "virbr-broken", "192.168.94")}, &n))
			defer w.undefineNetwork("broken")
			return w.call(remote.ProcNetworkDestroy, &n, &xdr.Void{})
		}, virterr.OperationInvalid, "Requested operation is not valid: network 'broken' is not active"},
	}...)
	must(t, start("virbr-broken", "192.168.94")())
	var n remote.Network
	must(t, w.call(remote.ProcNetworkLookupByName, &remote.String{S: "broken"}, &n))
	must(t, w.call(remote.ProcNetworkDestroy, &n, &xdr.Void{}))
}
