package clienttest

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"taproom/internal/network/packet/packettest"
)

// queueCounters matches the head of a queue or class in the output of tc -s, its lines in between, and its counter of bytes.
var queueCounters = regexp.MustCompile(`(?m)^(?:qdisc|class) (\S+ \S+) [^\n]*\n(?: [^\n]*\n)*? Sent (\d+) bytes \d+ pkt \(dropped (\d+),`)

// sentBytes returns the byte counters of the queues and classes of links, by link and handle. A queue that is replaced counts from 0.
func (c *clients) sentBytes(links ...string) map[string]int {
	c.t.Helper()
	sent := map[string]int{}
	for _, link := range links {
		out := c.daemon.NS.Run("tc", "-s", "qdisc", "show", "dev", link) + c.daemon.NS.Run("tc", "-s", "class", "show", "dev", link)
		for _, m := range queueCounters.FindAllStringSubmatch(out, -1) {
			if strings.HasPrefix(m[1], "clsact") || strings.HasPrefix(m[1], "noqueue") {
				continue
			}
			n, err := strconv.Atoi(m[2])
			if err != nil {
				c.t.Fatal(err)
			}
			sent[link+" "+m[1]] = n
			if m[3] != "0" {
				c.t.Errorf("%s %s dropped %s frames", link, m[1], m[3])
			}
		}
	}
	return sent
}

// undisturbed runs a change and requires that each queue and class of links which was there before, but for those named in gone, still is
// and has gone on counting.
func (c *clients) undisturbed(what string, links []string, change func(), gone ...string) {
	c.t.Helper()
	before := c.sentBytes(links...)
	change()
	after := c.sentBytes(links...)
	for _, queue := range slices.Sorted(maps.Keys(before)) {
		now, there := after[queue]
		switch {
		case slices.Contains(gone, queue):
			if there {
				c.t.Errorf("%s: %s is still there", what, queue)
			}
		case now < before[queue]:
			c.t.Errorf("%s: %s had sent %d bytes and has now sent %d (%v): it was replaced", what, queue, before[queue], now, there)
		}
	}
}

// floorFrame is one to a guest's NIC, with a protocol for experiments.
func floorFrame(nic byte) []byte {
	return append([]byte{0x52, 0x54, 0, 0, 0, nic, 0x52, 0x54, 0, 0, 9, 9, 0x88, 0xb5}, make([]byte, 186)...)
}

// Floors of the other NICs follow a live change: their classes borrow up to the network's new average, what was given back can be given
// again, and no queue is replaced, neither another NIC's nor the other direction's.
func TestFloors_FollowLiveChangesOfOthers(t *testing.T) {
	t.Parallel()
	c := serve(t)
	m := c.install("<controller type='usb' model='none'/>", strings.Repeat("<controller type='pci' model='pcie-root-port'/>", 8)+"<controller type='usb' model='none'/>")
	c.do("start", m.name) // it boots while NICs of a paused guest change; only a guest that runs lets go of a NIC
	network := strings.Replace(boundNet, "<name>lab<", "<name>shared<", 1)
	c.do("net-define", c.write("shared.xml", network))
	c.do("net-start", "shared")
	bounds := func(floor string) string {
		return "<bandwidth><inbound average='4096' floor='" + floor + "'/><outbound average='2048'/></bandwidth>"
	}
	nicWith := func(n int, floor string) string {
		return strings.Replace(boundNIC(n, "", bounds(floor)), "network='lab'", "network='shared'", 1)
	}
	c.guest("g", nicWith(4, "1024"), nicWith(5, "2048"))
	c.do("start", "g", "--paused")
	const first, second, third = "class htb 7a71:10 parent 7a71:1 ", "class htb 7a71:11 parent 7a71:1 ", "class htb 7a71:12 parent 7a71:1 "
	class := func(which, floor, most string) string {
		return which + "leaf " + which[15:17] + ": prio 0 " + floor + "ceil " + most + " "
	}
	c.bounded("virbr8", class(first, rate1024, "70167Kbit"), class(second, rate2048, "70167Kbit"))

	// Each queue has counted something, so that one which is replaced shows.
	links := append(c.shapers(), "virbr8", "vnet1", "vnet2")
	c.comes("every queue and class has counted bytes", func() bool { // links without a carrier yet lose frames before their queues
		bridge := packettest.Open(t, c.daemon.NS, "virbr8")
		bridge.Send(floorFrame(4))
		bridge.Send(floorFrame(5))
		bridge.Send(floorFrame(9)) // to all
		for _, s := range c.shapers() {
			packettest.Open(t, c.daemon.NS, s).Send(floorFrame(9))
		}
		sent := c.sentBytes(links...)
		return len(sent) >= 13 && sent["virbr8 htb 7a71:11"] > 0 && !slices.Contains(slices.Collect(maps.Values(sent)), 0)
	})

	c.undisturbed("domiftune", links, func() {
		c.do("domiftune", "g", "vnet1", "--inbound", "4096,0,0,4096", "--live")
		c.bounded("virbr8", class(first, rate4096, "70167Kbit"), class(second, rate2048, "70167Kbit"))
	})
	refused := func(want string, args ...string) {
		t.Helper()
		if out, code := c.run(c.virsh(args...)); code == 0 || !strings.Contains(out, want) {
			t.Errorf("virsh %q: exit %d: %s, want %q", args, code, out, want)
		}
	}
	up := func(average string) (string, int) {
		c.write("more.xml", strings.Replace(network, "<inbound average='8192'/>", "<inbound average='"+average+"'/>", 1))
		return c.run(c.taproom("up", "more.xml"))
	}
	c.undisturbed("a larger network", links, func() {
		if out, code := up("16384"); code != 0 {
			t.Fatalf("taproom up: exit %d: %s", code, out)
		}
		c.bounded("virbr8", class(first, rate4096, "140335Kbit"), class(second, rate2048, "140335Kbit"))
	})
	c.undisturbed("a network below its floors", links, func() {
		if out, code := up("6143"); code == 0 || !strings.Contains(out, "floors of 6144 KiB/s together, and its inbound average would be 6143") {
			t.Errorf("taproom up: exit %d: %s", code, out)
		}
		c.bounded("virbr8", class(first, rate4096, "140335Kbit"))
	})
	m.boot()
	nic := c.write("nic.xml", nicWith(3, "10240"))
	c.undisturbed("attach-device", links, func() {
		c.do("attach-device", m.name, nic, "--live")
		c.bounded("virbr8", class(first, rate4096, "140335Kbit"), class(second, rate2048, "140335Kbit"), third, "match 00000003/ffffffff")
	})
	refused("it has 16384, and floors of other NICs are 14336", "domiftune", "g", "vnet2", "--inbound", "0,0,0,2049", "--live")
	c.undisturbed("detach-device", links, func() {
		c.do("detach-device", m.name, nic, "--live")
		c.bounded("virbr8", class(first, rate4096, "140335Kbit"), class(second, rate2048, "140335Kbit"), "!"+third)
	})
	c.undisturbed("a floor that is taken away", links, func() {
		c.do("domiftune", "g", "vnet1", "--inbound", "4096", "--live")
		c.bounded("virbr8", "!"+first, class(second, rate2048, "140335Kbit"))
	}, "virbr8 htb 7a71:10", "virbr8 tbf 10:")
	c.undisturbed("what was given back", links, func() {
		c.do("domiftune", "g", "vnet2", "--inbound", "4096,0,0,16384", "--live")
		c.bounded("virbr8", second+"leaf 11: prio 0 rate 140335Kbit ")
	})
	c.comes("nothing is left to do", c.planned)
	c.do("destroy", "g")
	c.do("net-destroy", "shared")
	c.do("net-undefine", "shared")
	c.do("undefine", "g")
	m.away()
}
