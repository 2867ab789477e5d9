package clienttest

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"taproom/internal/appliance/wire"
	"taproom/internal/qemu/emutest"
)

// hostAddress is the host's on the link that a guest's macvtap lies on: closer to the guest's than those of its network are.
const hostAddress = "192.168.151.12/28"

// access asks for it, or with none takes that back, for a guest that runs.
func (c *clients) access(address string) string {
	const uri = "urn:taproom:domain:1"
	if address == "" {
		return c.do("metadata", "demo", uri, "--remove", "--live")
	}
	return c.do("metadata", "demo", uri, "--key", "taproom", "--live", "--set", "<hostAccess dev='low0'><address>"+address+"</address></hostAccess>")
}

// echoing is the host as it listens at its address on the link; it says where.
func (c *clients) echoing() string {
	c.t.Helper()
	host, _, _ := strings.Cut(hostAddress, "/")
	var l net.Listener
	var err error
	c.daemon.NS.Do(func() { l, err = net.Listen("tcp", net.JoinHostPort(host, "0")) })
	if err != nil {
		c.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(emutest.Patience()))
			_, _ = io.Copy(conn, struct{ io.Reader }{conn}) // not by splice, whose pipes stay
			_ = conn.Close()
		}
	}()
	c.t.Cleanup(func() { _ = l.Close(); <-over })
	return l.Addr().String()
}

// A guest on a macvtap and its host reach each other over the host's own macvlan, as long as the guest asks for it.
func TestAGuestOnAMacvtapReachesItsHost(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.daemon.NS.Keep("link low0", "link far0")
	c.daemon.NS.Shell("ip link add low0 type veth peer far0; ip link set far0 up; ip link set low0 up")
	m := c.install("<interface type='network'>", "<interface type='direct'>", "<source network='lab'/>", "<source dev='low0' mode='bridge'/>")
	c.daemon.NS.Run("ip", "link", "set", "dev", "far0", "master", "virbr-lab") // for the guest to get its address
	m.start()
	lease := m.lease()
	c.daemon.NS.Run("ip", "link", "set", "dev", "far0", "nomaster") // it reaches nobody any more

	both := func() {
		t.Helper()
		m.reach(lease)
		at := c.echoing()
		r := ask[wire.TrafficResult](m, wire.OpTraffic, wire.Traffic{Protocol: "tcp", Address: at, Bytes: 4096, Seconds: 4 * emutest.Seconds()})
		if r.Received != 4096 {
			t.Errorf("the guest does not reach the host: %+v", r)
		}
	}
	c.access(hostAddress)
	both()
	first := c.link("macvlan0")
	c.restart("kill")
	m.client = c.daemon.Client()
	if now := c.link("macvlan0"); now.Index != first.Index || first.Index == 0 {
		t.Errorf("macvlan0 was %+v and is %+v", first, now)
	}
	c.remove("macvlan0")
	c.comes("it is made again as it was", func() bool {
		l := c.link("macvlan0")
		return l.Up && l.MAC == first.MAC && l.Alias == first.Alias && strings.Contains(c.daemon.NS.Run("ip", "-br", "address", "show", "macvlan0"), hostAddress)
	})
	both()

	// Others of its addresses, and none; its NIC cannot go before.
	c.access("192.168.151.13/28")
	if got := c.daemon.NS.Run("ip", "-br", "address", "show", "macvlan0"); !strings.Contains(got, "192.168.151.13/28") || strings.Contains(got, hostAddress) {
		t.Errorf("the host has %s", got)
	}
	out, code := c.run(c.virsh("detach-interface", "demo", "direct", "--live"))
	if want := "no NIC of this guest is on low0"; code == 0 || !strings.Contains(out, want) || !strings.Contains(out, "virsh metadata DOMAIN urn:taproom:domain:1 --remove") {
		t.Errorf("exit %d, want %q:\n%s", code, want, out)
	}
	out, code = c.run(c.virsh("metadata", "demo", "urn:taproom:domain:1", "--key", "taproom", "--live", "--set", "<hostAccess dev='far0'><address>192.0.2.1/24</address></hostAccess>"))
	if want := "no NIC of this guest is on far0"; code == 0 || !strings.Contains(out, want) {
		t.Errorf("exit %d, want %q:\n%s", code, want, out)
	}
	c.access("")
	if l := c.link("macvlan0"); l.Index != 0 {
		t.Errorf("nobody asks for %+v", l)
	}
	c.access(hostAddress)
	m.do("destroy", "demo")
	if got := c.macvtaps(); got != "" {
		t.Errorf("left:\n%s", got)
	}
	m.do("net-destroy", "lab")
}
