package clienttest

import (
	"strings"
	"testing"

	"taproom/internal/host"
)

// links are the taps and macvtaps of the daemon's host by name, with their indexes.
func (c *clients) links() map[string]int {
	c.t.Helper()
	all, err := c.daemon.NS.Kernel().Links()
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]int{}
	for _, l := range all {
		if l.Kind == "tun" || l.Kind == "macvtap" {
			out[l.Name] = l.Index
		}
	}
	return out
}

// A link of a guest that somebody calls otherwise is the guest's: a daemon that runs calls it as before, and so does one that
// starts. Where that cannot be, the link stays as it is and the guest has it.
func TestALinkThatSomebodyRenamesStaysItsGuests(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.bridge("br8")
	c.lowers("low0")
	nic := func(mac string) string {
		return "<interface type='bridge'><mac address='52:54:00:00:00:" + mac + "'/><source bridge='br8'/><model type='virtio'/></interface>"
	}
	c.direct("guest", nic("01"), nic("02"), directNIC("03", "low0", "bridge"))
	c.do("start", "guest", "--paused")
	first := c.links()
	if len(first) != 3 || c.taps() != 2 {
		t.Fatalf("there are %v", first)
	}
	k := c.daemon.NS.Kernel()
	rename := func(from, to string) {
		t.Helper()
		if err := k.RenameLink(first[from], to); err != nil {
			t.Fatal(err)
		}
	}
	asBefore := func() bool {
		now := c.links()
		for name, index := range first {
			if now[name] != index || !c.link(name).Up {
				return false
			}
		}
		return len(now) == len(first)
	}
	for _, restart := range []bool{false, true} {
		for name := range first {
			rename(name, "web-"+name)
			if restart {
				c.restart("kill")
			}
			c.comes(name+" is called so again", asBefore)
		}
	}
	c.comes("nothing is wrong", func() bool { return c.problems() == "" })

	// Both at once, and a macvtap whose name somebody takes: nobody takes that away from him, or the macvtap from the guest.
	c.daemon.Kill()
	rename("vnet0", "a")
	rename("vnet1", "b")
	rename("macvtap0", "c")
	c.daemon.NS.Run("ip", "link", "add", "macvtap0", "type", "bridge")
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	c.comes("the taps are called as they were", func() bool {
		now := c.links()
		return now["vnet0"] == first["vnet0"] && now["vnet1"] == first["vnet1"]
	})
	c.comes("the third is a problem", func() bool { return strings.Contains(c.problems(), "macvtap0") })
	if now := c.links(); now["c"] != first["macvtap0"] || c.taps() != 2 {
		t.Errorf("there are %v, and were %v", now, first)
	}
	if got := c.link("macvtap0"); got.Kind != "bridge" {
		t.Errorf("somebody's link became %+v", got)
	}
	c.do("destroy", "guest")
	if left := c.links(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	c.remove("macvtap0")
	c.remove("br8")
}

// Macvtaps are put back as taps are. The link that they lie on is somebody else's.
func TestMacvtapsThatSomebodyChangesArePutBack(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.lowers("low0")
	c.direct("guest", directNIC("0a", "low0", "bridge"))
	c.do("start", "guest", "--paused")
	k, tap, low := c.daemon.NS.Kernel(), c.link("macvtap0"), c.link("low0").Index
	is := func(what string, is func(l host.Link) bool) {
		t.Helper()
		c.comes("macvtap0 "+what, func() bool { return is(c.link("macvtap0")) })
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(k.SetUp(tap.Index, false))
	is("is up", func(l host.Link) bool { return l.Up })
	must(k.SetMAC(tap.Index, "52:54:00:00:00:99"))
	is("has its address", func(l host.Link) bool { return l.MAC == "52:54:00:00:00:0a" })
	c.restart("kill")
	must(k.SetMacvlanMode(tap.Index, true, host.MacvlanPrivate))
	is("has its mode", func(l host.Link) bool { return l.Mode == host.MacvlanBridge })

	must(k.SetUp(low, false))
	c.comes("it is said that low0 is down", func() bool {
		return strings.Contains(c.problems(), "low0, which it lies on, is down; bring it up (ip link set dev low0 up)")
	})
	must(k.SetUp(low, true))
	c.comes("nothing is wrong", func() bool { return c.problems() == "" })

	for n := 0; !strings.Contains(c.problems(), "times and changed again"); n++ {
		must(k.SetUp(tap.Index, false))
		c.comes("macvtap0 is put back, or will be", func() bool { return c.link("macvtap0").Up || c.problems() != "" })
		if n > 100 {
			t.Fatalf("the daemon goes on for ever: %s", c.daemon.Said())
		}
	}
	must(k.SetUp(tap.Index, true))
	c.comes("what somebody puts right is right", func() bool { return c.problems() == "" })

	c.daemon.NS.Run("ip", "link", "del", "macvtap0")
	c.comes("it is said that it was deleted", func() bool { return strings.Contains(c.problems(), "NIC macvtap0 of domain 'guest'") })
	c.do("destroy", "guest")
	if left := c.links(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
