package clienttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// comes waits until something is so.
func (c *clients) comes(what string, is func() bool) {
	c.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late, cancel := emutest.Context(c.t.Context())
	defer cancel()
	for !is() {
		select {
		case <-tick.C:
		case <-late.Done():
			c.t.Fatalf("it does not come about that %s; the daemon said: %s", what, c.daemon.Said())
		}
	}
}

// problems are what `taproom ls` shows.
func (c *clients) problems() string {
	c.t.Helper()
	out, code := c.run(c.taproom("ls"))
	if code != 0 {
		c.t.Fatalf("taproom ls: exit %d: %s", code, out)
	}
	_, problems, _ := strings.Cut(out, "problem:")
	return problems
}

// taps is how many descriptors of taps the one guest's QEMU has.
func (c *clients) taps() int {
	c.t.Helper()
	n, dir := 0, filepath.Join("/proc", c.qemuPID(), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && to == "/dev/net/tun" {
			n++
		}
	}
	return n
}

// link is a link of the daemon's namespace; one that is not there has no index.
func (c *clients) link(name string) host.Link {
	l, _ := c.daemon.NS.Kernel().LinkByName(name)
	return l
}

// What somebody changes of links that are ours is put back: taps on their bridges, networks' bridges, bridges that come
// again. What cannot be put back is said.
func TestLinksThatSomebodyChangesArePutBack(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.bridge("br8")
	c.tell("nics/heal.story")
	k := c.daemon.NS.Kernel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	plugged := func(link, bridge string) {
		t.Helper()
		c.comes(link+" is on "+bridge, func() bool { return c.link(bridge).Index != 0 && c.link(link).Master == c.link(bridge).Index })
	}

	must(k.SetMaster(c.link("vnet0").Index, 0))
	plugged("vnet0", "virbr-lab")
	must(k.SetMaster(c.link("vnet1").Index, c.link("virbr-lab").Index))
	plugged("vnet1", "br8")
	must(k.SetUp(c.link("vnet2").Index, false))
	c.comes("vnet2 is up", func() bool { return c.link("vnet2").Up })

	// The bridge of a network, with what it had and with its guests.
	was := c.link("virbr-lab")
	c.remove("virbr-lab")
	plugged("vnet0", "virbr-lab")
	c.comes("the bridge has its address", func() bool {
		a, err := k.Addresses(c.link("virbr-lab").Index)
		return err == nil && len(a) > 0 && a[0].String() == "192.168.131.1/24" && c.link("virbr-lab").Up
	})
	if now := c.link("virbr-lab"); now.MAC != was.MAC || now.Index == was.Index {
		t.Errorf("the bridge was %+v and is %+v", was, now)
	}

	// Somebody's bridge is not made again; when there is one of that name, what belongs there is plugged in.
	c.remove("br8")
	c.comes("it is said that there is no bridge", func() bool {
		return strings.Count(c.problems(), "is not as it should be: there is no bridge br8") == 2
	})
	c.restart("kill")
	c.comes("the next daemon says so as well", func() bool {
		return strings.Count(c.problems(), "is not as it should be: there is no bridge br8") == 2
	})
	c.bridge("br8")
	plugged("vnet1", "br8")
	plugged("vnet2", "br8")
	c.comes("nothing is wrong", func() bool { return c.problems() == "" })

	// A network that stops and starts has its guests again, and nobody counts that.
	for range 4 {
		c.do("net-destroy", "lab")
		c.do("net-start", "lab")
		plugged("vnet0", "virbr-lab")
	}

	// Somebody who insists is answered later, and in any case.
	said := ""
	for deadline := time.Now().Add(2 * emutest.Patience()); ; {
		must(k.SetMaster(c.link("vnet1").Index, 0))
		c.comes("vnet1 is put back or left alone", func() bool {
			said = c.problems()
			return said != "" || c.link("vnet1").Master == c.link("br8").Index
		})
		if said != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the daemon goes on for ever: %s", c.daemon.Said())
		}
	}
	if !strings.Contains(said, "NIC vnet1 of domain 'nics' was put back ") || !strings.Contains(said, "ip link set dev vnet1 master br8") {
		t.Errorf("it says %s", said)
	}
	plugged("vnet1", "br8")
	c.comes("what is put back later is right", func() bool { return c.problems() == "" })
	must(k.SetMaster(c.link("vnet1").Index, 0))
	plugged("vnet1", "br8")

	c.marks("vnet1", 3)

	// A tap that is gone is gone.
	c.remove("vnet2")
	c.comes("it is said that the tap is gone", func() bool { return strings.Contains(c.problems(), "NIC vnet2 of domain 'nics'") })
	if os.Getenv(envQEMU) == "" { // QEMU 10 closes a descriptor with the device alone, not with its back end
		c.comes("QEMU has let go of it", func() bool { return c.taps() == 2 })
	}
	c.tell("nics/healed.story")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
	c.remove("br8")
}

// marks has somebody mark a tap as his own: it is there, and QEMU keeps its end of it and of the others.
func (c *clients) marks(link string, taps int) {
	c.t.Helper()
	k, mine := c.daemon.NS.Kernel(), c.link(link)
	if err := k.SetAlias(mine.Index, "web server"); err != nil {
		c.t.Fatal(err)
	}
	c.restart("kill")
	said := "not marked as ours any more; move it back, or mark it again (ip link set dev " + link + " group"
	c.comes("it is said that a tap is not marked", func() bool { return strings.Contains(c.problems(), said) })
	if n := c.taps(); n != taps {
		c.t.Errorf("QEMU has %d taps, want all %d", n, taps)
	}
	if err := k.SetAlias(mine.Index, mine.Alias); err != nil {
		c.t.Fatal(err)
	}
	c.comes("it is marked again", func() bool { return !strings.Contains(c.problems(), said) })
	c.restart("kill")
	c.comes("nothing is wrong", func() bool { return c.problems() == "" })
}
