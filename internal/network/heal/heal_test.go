package heal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/network/heal"
	"taproom/internal/network/state"
)

const group = 7

// should is what should be, by "owner name".
type should struct {
	ports    map[string]state.Port
	macvtaps map[string]state.Macvlan
	bridges  map[string]state.Bridge
	trouble  string // name of a thing that was not put back
}

func (s should) Troubled(t heal.Thing) bool { return t.Name == s.trouble }

func (s should) Port(owner, name string) (state.Port, bool) {
	p, ok := s.ports[owner+" "+name]
	return p, ok
}

func (s should) Bridge(owner, name string) (state.Bridge, bool) {
	b, ok := s.bridges[owner+" "+name]
	return b, ok
}

func (s should) Called(owner string) string {
	for key := range s.bridges {
		if of, name, _ := strings.Cut(key, " "); of == owner {
			return name
		}
	}
	return ""
}

func (s should) Shaped(owner, name string) (heal.Thing, bool) {
	return heal.Thing{Kind: heal.Port, Owner: "guest", Name: "vnet0"}, owner == "guest" && name == "bw-1"
}

func (s should) Macvtap(owner, name string) (state.Macvlan, bool) {
	m, ok := s.macvtaps[owner+" "+name]
	return m, ok
}

func (s should) Access(owner, name string) (state.Macvlan, bool) {
	if owner == "host-eth0" && name == "macvlan0" {
		return state.Macvlan{Owner: owner, Lower: "eth0", Mode: host.MacvlanBridge, MAC: "02:00:00:00:00:05", Up: true}, true
	}
	return state.Macvlan{}, false
}

func (s should) Runs(owner string) bool { return owner == "guest" }

func (s should) On(link string) []heal.Thing {
	return slices.DeleteFunc(s.All(), func(t heal.Thing) bool {
		p, tap := s.Port(t.Owner, t.Name)
		m, macvtap := s.Macvtap(t.Owner, t.Name)
		return !(t.Kind == heal.Access && link == "eth0" || tap && t.Kind == heal.Port && p.Master == link || macvtap && t.Kind == heal.Macvtap && m.Lower == link)
	})
}

func (s should) All() (out []heal.Thing) {
	for key := range s.ports {
		owner, name, _ := strings.Cut(key, " ")
		out = append(out, heal.Thing{Kind: heal.Port, Owner: owner, Name: name})
	}
	for key := range s.macvtaps {
		owner, name, _ := strings.Cut(key, " ")
		out = append(out, heal.Thing{Kind: heal.Macvtap, Owner: owner, Name: name})
	}
	for key := range s.bridges {
		owner, name, _ := strings.Cut(key, " ")
		out = append(out, heal.Thing{Kind: heal.Bridge, Owner: owner, Name: name})
	}
	out = append(out, heal.Thing{Kind: heal.Access, Owner: "host-eth0", Name: "macvlan0"})
	slices.SortFunc(out, func(a, b heal.Thing) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// machine is a host with a network's bridge, somebody's, and three taps: on either, and one whose link is down.
func machine() (should, map[string]host.Link) {
	want := should{
		ports: map[string]state.Port{
			"guest vnet0": {MAC: "fe:00:00:00:00:01", Master: "virbr0", Up: true},
			"guest vnet1": {MAC: "fe:00:00:00:00:02", Master: "br0", MTU: 1400, Up: true},
			"guest vnet2": {Master: "br0"},
		},
		macvtaps: map[string]state.Macvlan{
			"guest macvtap0": {Lower: "eth0", Mode: host.MacvlanBridge, MAC: "52:54:00:00:00:04", AllMulticast: true, Up: true},
			"guest macvtap1": {Lower: "eth1", Mode: host.MacvlanBridge, MAC: "52:54:00:00:00:06", Told: true, AllMulticast: true, Up: true},
		},
		bridges: map[string]state.Bridge{"net virbr0": {MAC: "52:54:00:00:00:10", STP: true, Up: true}},
	}
	links := map[string]host.Link{
		"virbr0":   {Index: 10, Name: "virbr0", Kind: "bridge", MAC: "52:54:00:00:00:10", MTU: 1500, Group: group, Alias: "taproom:net", Up: true, Bridge: host.Bridge{STP: true}},
		"br0":      {Index: 11, Name: "br0", Kind: "bridge", MTU: 1500, Up: true},
		"vnet0":    {Index: 20, Name: "vnet0", Kind: "tun", MAC: "fe:00:00:00:00:01", MTU: 1500, Group: group, Alias: "taproom:guest", Master: 10, Up: true},
		"vnet1":    {Index: 21, Name: "vnet1", Kind: "tun", MAC: "FE:00:00:00:00:02", MTU: 1400, Group: group, Alias: "taproom:guest", Master: 11, Up: true},
		"vnet2":    {Index: 22, Name: "vnet2", Kind: "tun", MTU: 1500, Group: group, Alias: "taproom:guest", Master: 11},
		"eth0":     {Index: 2, Name: "eth0", MTU: 1500, Up: true},
		"macvlan0": {Index: 24, Name: "macvlan0", Kind: "macvlan", MAC: "02:00:00:00:00:05", MTU: 1500, Group: group, Alias: "taproom:host-eth0", Lower: 2, Up: true, Mode: host.MacvlanBridge},
		"eth1":     {Index: 3, Name: "eth1", MTU: 1500, Up: true},
		"macvtap1": {Index: 25, Name: "macvtap1", Kind: "macvtap", MAC: "52:54:00:00:00:06", MTU: 1500, Group: group, Alias: "taproom:guest", Lower: 3, Up: true, AllMulticast: true, Mode: host.MacvlanBridge},
		"bw-1":     {Index: 40, Name: "bw-1", Kind: "ifb", Group: group, Alias: "taproom:guest", Up: true},
		"bw-2":     {Index: 41, Name: "bw-2", Kind: "ifb", Group: group, Alias: "taproom:guest"}, // nobody's any more
		"macvtap0": {Index: 23, Name: "macvtap0", Kind: "macvtap", MAC: "52:54:00:00:00:04", MTU: 1500, Group: group, Alias: "taproom:guest", Lower: 2, Up: true, AllMulticast: true, Mode: host.MacvlanBridge},
	}
	return want, links
}

func values(m map[string]host.Link) (out []host.Link) {
	for _, l := range m {
		out = append(out, l)
	}
	return out
}

func names(things []heal.Thing) string {
	var out []string
	for _, t := range things {
		out = append(out, fmt.Sprintf("%s %s of %s", t.Kind, t.Name, t.Owner))
	}
	return strings.Join(out, ", ")
}

// change is that a link is not as it was.
func change(name string, how func(l *host.Link)) func(map[string]host.Link) []host.LinkChange {
	return func(m map[string]host.Link) []host.LinkChange {
		l := m[name]
		how(&l)
		return []host.LinkChange{{Link: l}}
	}
}

// gone is that a link is no more.
func gone(name string) func(map[string]host.Link) []host.LinkChange {
	return func(m map[string]host.Link) []host.LinkChange { return []host.LinkChange{{Link: m[name], Gone: true}} }
}

// tale is what is told of links, and what is looked at for it.
type tale struct {
	what string
	told func(map[string]host.Link) []host.LinkChange
	look string
}

func (c tale) holds(t *testing.T) {
	t.Helper()
	want, links := machine()
	m := heal.Mind{Group: group}
	if first := m.Look(values(links), false, want); first != nil {
		t.Fatalf("at first: %s", names(first))
	}
	if got := names(m.Take(c.told(links), want)); got != c.look {
		t.Errorf("%s: looked at %q, want %q", c.what, got, c.look)
	}
}

// What is told leads to a look at what is not as it should be, and at nothing else.
func TestWhatChangedIsLookedAtWhereItIsNotAsItShouldBe(t *testing.T) {
	t.Parallel()
	const port0, port1, port2, direct, access, network = "port vnet0 of guest", "port vnet1 of guest", "port vnet2 of guest", "macvtap macvtap0 of guest", "access macvlan0 of host-eth0", "bridge virbr0 of net"
	for _, c := range []tale{
		{"nothing", change("vnet0", func(*host.Link) {}), ""},
		{"pulled", change("vnet0", func(l *host.Link) { l.Master = 0 }), port0},
		{"moved", change("vnet0", func(l *host.Link) { l.Master = 11 }), port0},
		{"on a bridge never heard of", change("vnet0", func(l *host.Link) { l.Master = 99 }), port0},
		{"set down", change("vnet1", func(l *host.Link) { l.Up = false }), port1},
		{"set up though its link is down", change("vnet2", func(l *host.Link) { l.Up = true }), ""},
		{"another MTU", change("vnet1", func(l *host.Link) { l.MTU = 1500 }), port1},
		{"another MTU where any will do", change("vnet0", func(l *host.Link) { l.MTU = 9000 }), ""},
		{"another address", change("vnet0", func(l *host.Link) { l.MAC = "fe:00:00:00:00:99" }), port0},
		{"no longer isolated, or suddenly", change("vnet0", func(l *host.Link) { l.Isolated = true }), port0},
		{"called otherwise", change("vnet0", func(l *host.Link) { l.Name = "web" }), "port web of guest"},
		{"of a guest that does not run", change("vnet0", func(l *host.Link) { l.Alias = "taproom:other" }), ""},
		{"a macvtap is set down", change("macvtap0", func(l *host.Link) { l.Up = false }), direct},
		{"a macvtap takes every frame, and nobody was told that it should not", change("macvtap0", func(l *host.Link) { l.Promiscuous = true }), ""},
		{"a macvtap takes every frame, which its guest did not ask for", change("macvtap1", func(l *host.Link) { l.Promiscuous = true }), "macvtap macvtap1 of guest"},
		{"a macvtap takes no more all groups' frames, which its guest asked for", change("macvtap1", func(l *host.Link) { l.AllMulticast = false }), "macvtap macvtap1 of guest"},
		{"a macvtap gets another address", change("macvtap0", func(l *host.Link) { l.MAC = "52:54:00:00:00:99" }), direct},
		{"a macvtap gets another mode", change("macvtap0", func(l *host.Link) { l.Mode = host.MacvlanPrivate }), direct},
		{"a macvtap is deaf to multicast", change("macvtap0", func(l *host.Link) { l.AllMulticast = false }), direct},
		{"a macvtap is called otherwise", change("macvtap0", func(l *host.Link) { l.Name = "web" }), "macvtap web of guest"},
		{"a macvtap went", gone("macvtap0"), direct},
		{"what a macvtap lies on is set down", change("eth0", func(l *host.Link) { l.Up = false }), access + ", " + direct},
		{"what macvtaps lay on comes again", func(map[string]host.Link) []host.LinkChange {
			return []host.LinkChange{{Link: host.Link{Index: 99, Name: "eth0"}}}
		}, access + ", " + direct},
		{"the host's macvlan went", gone("macvlan0"), access},
		{"the host's macvlan gets another address", change("macvlan0", func(l *host.Link) { l.MAC = "02:00:00:00:00:06" }), access},
		{"the host's macvlan loses an address", func(map[string]host.Link) []host.LinkChange {
			return []host.LinkChange{{Link: host.Link{Index: 24}, Lost: true}}
		}, access},
		{"a macvlan of the host's that nobody asks for", change("macvlan0", func(l *host.Link) { l.Name, l.Up = "macvlan1", false }), ""},
		{"what a macvtap lies on gets another address", change("eth0", func(l *host.Link) { l.MAC = "02:00:00:00:00:01" }), ""},
		{"a tap went", gone("vnet0"), port0},
		{"a tap went that nobody wants any more", func(m map[string]host.Link) []host.LinkChange {
			l := m["vnet0"]
			l.Name = "vnet7"
			return []host.LinkChange{{Link: l, Gone: true}}
		}, ""},
		{"a tap without a label, which is just being made", change("vnet0", func(l *host.Link) { l.Alias, l.Master = "", 0 }), ""},
		{"a link that is somebody else's", change("vnet0", func(l *host.Link) { l.Group, l.Master = 0, 0 }), ""},
		{"our bridge is set down", change("virbr0", func(l *host.Link) { l.Up = false }), network},
		{"our bridge is called otherwise", change("virbr0", func(l *host.Link) { l.Name = "mine" }), network},
		{"our bridge loses STP", change("virbr0", func(l *host.Link) { l.Bridge.STP = false }), network},
		{"our bridge goes", gone("virbr0"), network},
		{"our bridge loses an address", func(map[string]host.Link) []host.LinkChange {
			return []host.LinkChange{{Link: host.Link{Index: 10}, Lost: true}}
		}, network},
		{"somebody's bridge loses an address", func(map[string]host.Link) []host.LinkChange {
			return []host.LinkChange{{Link: host.Link{Index: 11}, Lost: true}}
		}, ""},
		{"somebody's bridge is set down", change("br0", func(l *host.Link) { l.Up = false }), ""},
		{"somebody's bridge goes", gone("br0"), ""},
		{"somebody's bridge comes again", func(m map[string]host.Link) []host.LinkChange {
			again := m["br0"]
			again.Index = 12
			return []host.LinkChange{{Link: m["br0"], Gone: true}, {Link: again}, {Link: again}}
		}, port1 + ", " + port2},
		{"a bridge gets that name", func(m map[string]host.Link) []host.LinkChange {
			l := m["br0"]
			l.Index, l.Name = 12, "br1"
			named := l
			named.Name = "br0"
			return []host.LinkChange{{Link: l}, {Link: named}}
		}, port1 + ", " + port2},
		{"our bridge is made again", func(m map[string]host.Link) []host.LinkChange {
			bare, labelled := m["virbr0"], m["virbr0"]
			bare.Index, labelled.Index, bare.Alias, bare.Up = 30, 30, "", false
			return []host.LinkChange{{Link: bare}, {Link: labelled}}
		}, port0},
		{"a port joins what came just now", func(m map[string]host.Link) []host.LinkChange {
			again, port := m["br0"], m["vnet1"]
			again.Index, port.Master = 12, 12
			return []host.LinkChange{{Link: m["br0"], Gone: true}, {Link: port}, {Link: again}, {Link: port}}
		}, port1 + ", " + port2},
	} {
		c.holds(t)
	}
}

func TestQueuesThatGoAreLookedForAtTheLinksTheyBound(t *testing.T) {
	t.Parallel()
	const port0 = "port vnet0 of guest"
	for _, c := range []tale{
		{"a shaper goes down", func(m map[string]host.Link) []host.LinkChange {
			down, other := m["bw-1"], m["bw-2"]
			down.Up = false
			return []host.LinkChange{{Link: down}, {Link: other}}
		}, port0},
		{"a shaper is removed", func(m map[string]host.Link) []host.LinkChange {
			return []host.LinkChange{{Link: m["bw-1"], Gone: true}, {Link: m["bw-2"], Gone: true}}
		}, port0},
		{"a queue is taken off a shaper, and off a link", func(map[string]host.Link) []host.LinkChange {
			return []host.LinkChange{{Lost: true, Link: host.Link{Index: 40}}, {Lost: true, Link: host.Link{Index: 41}}, {Lost: true, Link: host.Link{Index: 23}}}
		}, port0 + ", macvtap macvtap0 of guest"},
	} {
		c.holds(t)
	}
}

// When something was missed every link is looked at once, and what is not there counts, unless the list is not whole.
func TestAllLinksTellWhatIsMissing(t *testing.T) {
	t.Parallel()
	want, links := machine()
	moved := links["vnet1"]
	moved.Master = 10
	links["vnet1"] = moved
	delete(links, "vnet0")
	delete(links, "virbr0")
	m := heal.Mind{Group: group}
	if d := cmp.Diff("port vnet1 of guest", names(m.Look(values(links), true, want))); d != "" {
		t.Errorf("of a part (-want +got):\n%s", d)
	}
	if d := cmp.Diff("port vnet1 of guest, bridge virbr0 of net, port vnet0 of guest", names(m.Look(values(links), false, want))); d != "" {
		t.Errorf("of all (-want +got):\n%s", d)
	}
}

// What was not put back is looked at whatever is told of it: it may be as it should be again.
func TestWhatWasNotPutBackIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	want, links := machine()
	m := heal.Mind{Group: group}
	m.Look(values(links), false, want)
	for _, name := range []string{"vnet0", "virbr0"} {
		want.trouble = name
		told := []host.LinkChange{{Link: links["vnet0"]}, {Link: links["vnet1"]}, {Link: links["virbr0"]}}
		if got := m.Take(told, want); len(got) != 1 || got[0].Name != name {
			t.Errorf("%s was not put back: looked at %q", name, names(got))
		}
	}
}
