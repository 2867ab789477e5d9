package clienttest

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
)

// direct is a guest with NICs on macvtaps, which does not boot.
func (c *clients) direct(name string, nics ...string) {
	c.t.Helper()
	c.write(name+".xml", fmt.Sprintf(`<domain type='qemu'><name>%s</name><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os><devices>%s</devices></domain>`, name, strings.Join(nics, "\n")))
	c.do("define", name+".xml")
}

// directNIC is a NIC on a link of the host.
func directNIC(mac, dev, mode string) string {
	return fmt.Sprintf("<interface type='direct'><mac address='52:54:00:00:00:%s'/><source dev='%s' mode='%s'/><model type='virtio'/></interface>", mac, dev, mode)
}

// lowers gives the daemon's host links that lead to another one, which it returns.
func (c *clients) lowers(names ...string) *hosttest.NS {
	c.t.Helper()
	far := hosttest.NewNS(c.t)
	for _, name := range names {
		hosttest.Veth(c.daemon.NS, name, far, "far-"+name)
	}
	return far
}

func (c *clients) mac(link string) string {
	c.t.Helper()
	l, err := c.daemon.NS.Kernel().LinkByName(link)
	if err != nil {
		c.t.Fatal(err)
	}
	return l.MAC
}

// macvtaps are the daemon's macvtaps and macvlans, as `ip` shows them in short.
func (c *clients) macvtaps() string {
	c.t.Helper()
	return c.daemon.NS.Shell("ip -br link show type macvtap; ip -br link show type macvlan")
}

func TestAGuestOnMacvtaps(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.lowers("low0", "low1")
	own := c.mac("low1")
	c.daemon.NS.Run("ip", "link", "set", "dev", "low0", "down")
	c.direct("guest", directNIC("0a", "low0", "bridge"), directNIC("0b", "low0", "vepa"), directNIC("0c", "low1", "passthrough"))
	c.do("start", "guest", "--paused")
	for _, want := range []string{"macvtap0@low0", "macvtap1@low0", "macvtap2@low1"} {
		if got := c.macvtaps(); !strings.Contains(got, want) {
			t.Errorf("no %s among\n%s", want, got)
		}
	}
	if got := c.mac("low1"); got != "52:54:00:00:00:0c" {
		t.Errorf("the link under a macvtap in mode passthrough has %s", got)
	}
	for _, want := range []string{"<source dev='low0' mode='bridge'/>", "<target dev='macvtap0'/>", "<source dev='low1' mode='passthrough'/>", "<alias name='net2'/>"} {
		if xml := c.do("dumpxml", "guest"); !strings.Contains(xml, want) {
			t.Errorf("no %s in\n%s", want, xml)
		}
	}
	if out := c.do("domiflist", "guest"); !strings.Contains(out, "macvtap1    direct   low0") {
		t.Errorf("domiflist:\n%s", out)
	}
	c.write("nic.xml", directNIC("0d", "low0", "private"))
	c.do("attach-device", "guest", "nic.xml", "--live")
	if got := c.macvtaps(); !strings.Contains(got, "macvtap3@low0") {
		t.Errorf("no macvtap3 was plugged in:\n%s", got)
	}
	c.do("destroy", "guest")
	if got := c.macvtaps(); got != "" {
		t.Errorf("left:\n%s", got)
	}
	if got := c.mac("low1"); got != own {
		t.Errorf("low1 has %s, want its own %s", got, own)
	}
}
