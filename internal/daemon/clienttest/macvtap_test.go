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

func TestAMacvtapThatCannotBeIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.lowers("low0", "low1")
	c.daemon.NS.Keep("link br0", "link port", "link far-port", "link foreign")
	c.daemon.NS.Shell(`ip link add br0 type bridge; ip link add port type veth peer name far-port; ip link set port master br0
		ip link set low0 address 52:54:00:00:00:77
		ip link add link low1 name foreign type macvtap mode bridge`)
	nic := func(rest string) string {
		return "<interface type='direct'><mac address='52:54:00:00:00:0a'/>" + rest + "<model type='virtio'/></interface>"
	}
	first := directNIC("01", "low0", "bridge")
	for what, bad := range map[string]struct{ nics, says string }{
		"no such link":         {nic("<source dev='eth9' mode='bridge'/>"), "there is no link eth9"},
		"a macvtap":            {nic("<source dev='foreign' mode='bridge'/>"), "foreign is itself a macvtap; use the link that it lies on, low1"},
		"a bridge":             {nic("<source dev='br0' mode='bridge'/>"), "use <interface type='bridge'> with <source bridge='br0'/>"},
		"a port of a bridge":   {nic("<source dev='port' mode='bridge'/>"), "port is a port of bridge br0"},
		"no Ethernet":          {nic("<source dev='lo' mode='bridge'/>"), "lo is no Ethernet link"},
		"a large MTU":          {nic("<source dev='low0' mode='bridge'/><mtu size='9000'/>"), "is more than that of low0, 1500"},
		"the link's address":   {"<interface type='direct'><mac address='52:54:00:00:00:77'/><source dev='low0' mode='bridge'/></interface>", "low0 itself has this address"},
		"a busy link":          {nic("<source dev='low1' mode='passthrough'/>"), "mode='passthrough' needs low1 for itself, and foreign (mode bridge) is on it"},
		"a busy passthrough":   {nic("<source dev='low0' mode='passthrough'/>") + directNIC("0b", "low0", "bridge"), "macvtap"},
		"no link named":        {nic("<source mode='bridge'/>"), "devices/interface/source/@dev: it is missing"},
		"an unknown mode":      {nic("<source dev='low0' mode='odd'/>"), "devices/interface/source/@mode"},
		"a long name":          {nic("<source dev='low0' mode='bridge'/><target dev='sixteen-letters-'/>"), "is no name of a link"},
		"a multicast address":  {"<interface type='direct'><mac address='01:00:5e:00:00:01'/><source dev='low0' mode='bridge'/></interface>", "01:00:5e:00:00:01"},
		"an address twice":     {nic("<source dev='low0' mode='bridge'/>") + nic("<source dev='low0' mode='vepa'/>"), "two NICs have the address 52:54:00:00:00:0a"},
		"a mode of a bridge's": {"<interface type='bridge'><source bridge='br0' mode='vepa'/></interface>", "it is for type='direct'"},
	} {
		nics := first + bad.nics
		if what == "a busy passthrough" {
			nics = bad.nics
		}
		c.write("bad.xml", fmt.Sprintf(`<domain type='qemu'><name>bad</name><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os><devices>%s</devices></domain>`, nics))
		out, code := c.run(c.virsh("create", "bad.xml", "--paused"))
		if code == 0 || !strings.Contains(out, bad.says) {
			t.Errorf("%s: exit %d, want an error with %q:\n%s", what, code, bad.says, out)
		}
		if got := c.daemon.NS.Shell("ip -br link show type macvtap"); strings.Count(got, "\n") != 1 {
			t.Errorf("%s: these macvtaps are left, beside one of somebody else's:\n%s", what, got)
		}
		if got := c.mac("low0"); got != "52:54:00:00:00:77" {
			t.Errorf("%s: low0 has %s", what, got)
		}
	}
	c.daemon.NS.Run("ip", "link", "delete", "foreign")
}
