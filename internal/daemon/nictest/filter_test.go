package nictest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/appliance/wire"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// The host's end of a NIC takes what its guest says, where the document says that it is believed: a macvtap, and a bridge that
// learns nothing by itself. Nothing of that is lost with a daemon, and where the guest is not believed nothing follows.
func TestAGuestsAddressesAreFollowedWhereItIsBelieved(t *testing.T) {
	t.Parallel()
	const believed = " trustGuestRxFilters='yes'"
	managed := attachment{name: "managed", kind: "network", inside: "<source network='managed'/>", host: hostOf(4), noVHost: true}
	managed.network = strings.NewReplacer("<network>", "<network"+believed+">", "<bridge ", "<bridge macTableManager='libvirt' ").Replace(segment(4, "managed"))
	bridge, through, not := macvtap(5, "bridge"), macvtap(8, "passthrough"), macvtap(7, "bridge")
	not.name, not.network = "not-believed", strings.Replace(not.network, "macvtap-bridge", "not-believed", 1)
	bridge.kind += "'" + strings.TrimSuffix(believed, "'")
	const lower = "02:00:00:00:00:08"
	through.prepare += "; ip link set low8 address " + lower
	through.kind += "'" + strings.TrimSuffix(believed, "'")
	nics := []nic{{attachment: bridge, model: "virtio"}, {attachment: through, model: "virtio"}, {attachment: managed, model: "virtio"}, {attachment: not, model: "virtio"}}
	m := &machine{T: t, daemon: daemontest.New(t)}
	m.client = m.daemon.Client()
	m.start(nics)
	links := m.links(nics)
	if t.Failed() {
		return
	}
	const bridgeTap, throughTap, managedTap, notTap = "macvtap0", "macvtap1", "vnet0", "macvtap2"
	m.becomes("the guest's groups alone arrive", func() bool {
		return !m.look(bridgeTap).AllMulticast && !m.look(bridgeTap).Promiscuous && slices.Contains(m.hears(bridgeTap), "33:33:00:00:00:01")
	})

	const group, second = "01:00:5e:11:22:33", "52:54:00:00:2f:99"
	other := func(i int) string { return strings.Replace(mac(i), "52:54:00:00:20", "52:54:00:00:2f", 1) }
	follow := func(i int, addresses ...string) {
		ask[struct{}](m, wire.OpHear, wire.Hear{Link: links[mac(i)].Name, MAC: other(i), Addresses: addresses})
	}
	follow(0, group)
	m.becomes("a macvtap has its guest's address and hears its group", func() bool {
		return m.look(bridgeTap).MAC == other(0) && slices.Contains(m.hears(bridgeTap), group)
	})
	follow(1, group, second)
	m.becomes("one in mode passthrough hears its guest's second address too, and its link has the guest's", func() bool {
		return m.look(throughTap).MAC == other(1) && m.look("low8").MAC == other(1) && slices.Contains(m.hears(throughTap), group) && slices.Contains(m.hears(throughTap), second)
	})
	follow(2, second)
	m.becomes("a bridge that learns nothing is told", func() bool { return m.behind(managedTap) == other(2)+" "+second })
	follow(3, group)
	tcp, udp := echoServers(t, m.daemon.NS)
	for i := range 3 {
		m.fromGuest(nics[i], links[mac(i)].Name, tcp, udp) // the last one's change is long read by then
	}
	m.as("before the daemon is killed", notTap, mac(3), true)

	m.daemon.Kill()
	if err := m.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	m.client = m.daemon.Client()
	m.as("after the daemon was killed", bridgeTap, other(0), false)
	m.as("after the daemon was killed", throughTap, other(1), false)
	if got := m.behind(managedTap); got != other(2)+" "+second {
		t.Errorf("after the daemon was killed behind %s are %s", managedTap, got)
	}

	every := true
	ask[struct{}](m, wire.OpHear, wire.Hear{Link: links[mac(0)].Name, MAC: mac(0), Every: &every})
	m.becomes("the next daemon follows as well", func() bool { l := m.look(bridgeTap); return l.MAC == mac(0) && l.AllMulticast })
	ask[struct{}](m, wire.OpHear, wire.Hear{Link: links[mac(0)].Name, MAC: other(0)})
	m.becomes("and goes on", func() bool { return m.look(bridgeTap).MAC == other(0) })

	nic := fmt.Sprintf("<interface type='direct' trustGuestRxFilters='%%s'><mac address='%s'/>%s</interface>", mac(0), bridge.inside)
	m.update(fmt.Sprintf(nic, "no"))
	m.as("once it is not believed any more", bridgeTap, mac(0), true)
	if slices.Contains(m.hears(bridgeTap), group) {
		t.Error("a guest that is not believed any more is still heard")
	}
	m.update(fmt.Sprintf(nic, "yes"))
	m.becomes("once it is believed again", func() bool { return m.look(bridgeTap).MAC == other(0) && slices.Contains(m.hears(bridgeTap), group) })

	m.apply(m.guest, true)
	if got := m.look("low8").MAC; got != lower {
		t.Errorf("low8 has %s afterwards, and had %s", got, lower)
	}
	m.remove(nics)
}

// look is a link of the host.
func (m *machine) look(name string) host.Link {
	m.Helper()
	l, err := m.daemon.NS.Kernel().LinkByName(name)
	if err != nil {
		m.Fatal(err)
	}
	return l
}

// hears are the addresses that a link of the host takes frames for.
func (m *machine) hears(name string) []string {
	m.Helper()
	out, err := m.daemon.NS.Kernel().Hears(m.look(name).Index)
	if err != nil {
		m.Fatal(err)
	}
	return out
}

// behind are the addresses that a bridge was told of its port.
func (m *machine) behind(name string) string {
	m.Helper()
	l := m.look(name)
	out, err := m.daemon.NS.Kernel().StaticFDB(l.Index, l.Master)
	if err != nil {
		m.Fatal(err)
	}
	return strings.Join(out, " ")
}

// becomes waits until something is so.
func (m *machine) becomes(what string, is func() bool) {
	m.Helper()
	late, cancel := emutest.Watch(m.Context(), busy, nil)
	defer cancel()
	for ; !is(); <-time.After(20 * time.Millisecond) {
		if late.Err() != nil {
			m.Fatalf("waited in vain: %s\n%s\nthe daemon said: %s", what, m.daemon.NS.Shell("ip link; bridge fdb"), m.daemon.Said())
		}
	}
}

// as holds that a macvtap has an address, and whether it takes every group's frames.
func (m *machine) as(when, name, mac string, every bool) {
	m.Helper()
	if l := m.look(name); l.MAC != mac || l.AllMulticast != every {
		m.Errorf("%s: %+v, want %s, every group's frames: %v", when, l, mac, every)
	}
}

// update changes a device of the guest while it runs.
func (m *machine) update(xml string) {
	m.Helper()
	dom, err := m.client.Domain(m.Context(), name)
	if err != nil {
		m.Fatal(err)
	}
	const live = 1 // VIR_DOMAIN_AFFECT_LIVE
	if err := m.client.Call(m.Context(), remote.ProgramRemote, remote.ProcDomainUpdateDeviceFlags, &remote.DomainStringFlags{Domain: dom, S: xml, Flags: live}, &xdr.Void{}); err != nil {
		m.Error(err)
	}
}
