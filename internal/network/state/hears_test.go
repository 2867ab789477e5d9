package state

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// groupsA and groupsB are groups of these tests. The kernel puts groups into one of 256 buckets, by chance, and a macvtap gets the
// frames of all that are in a bucket with one of its own: that none of several gets through can be told, not that one does not.
const (
	groupA, groupB   = "01:00:5e:00:00:aa", "33:33:00:00:00:bb"
	groupsA, groupsB = groupA + " 01:00:5e:00:00:ab 01:00:5e:00:00:ac 01:00:5e:00:00:ad", groupB + " 33:33:00:00:00:bc 33:33:00:00:00:bd 33:33:00:00:00:be"
	last             = "01:00:5e:7f:00:01"
)

// What a guest says that it wants is what its macvtap takes: the frames themselves tell.
func TestAMacvtapTakesWhatItsGuestSays(t *testing.T) {
	t.Parallel()
	g := newSegment(t, host.MacvlanBridge, false, 1)
	defer g.close()
	m := Macvlan{Owner: "guest", Lower: "low1", Tap: true, Mode: host.MacvlanBridge, MAC: guestMAC(0), NoIPv6: true, Up: true, Told: true, Held: true}
	for _, c := range []struct {
		what    string
		change  func(m *Macvlan)
		arrives []string
	}{
		{"one group", func(m *Macvlan) { m.Hears = groupsA + " " + last }, []string{"to A"}},
		{"another one", func(m *Macvlan) { m.Hears = last + " " + groupsB }, []string{"to B"}},
		{"every group", func(m *Macvlan) { m.AllMulticast = true }, []string{"to A", "to B"}},
		{"every frame", func(m *Macvlan) { m.Promiscuous = true }, []string{"to A", "to B"}},
		{"another address of its own", func(m *Macvlan) { m.MAC, m.Hears = guestMAC(5), last }, []string{"to its other"}},
		{"none of that any more", func(m *Macvlan) { m.Hears = last }, nil},
	} {
		want := m
		c.change(&want)
		if want.Hears == "" {
			want.Hears = last
		}
		if err := settleMacvlans(g.e, State{Macvlans: map[string]Macvlan{"macvtap0": want}}); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		for text, groups := range map[string]string{"to A": groupsA, "to B": groupsB} {
			for _, to := range strings.Fields(groups) {
				g.send(g.out, outsideMAC, to, text)
			}
		}
		g.send(g.out, outsideMAC, guestMAC(5), "to its other")
		g.send(g.out, outsideMAC, last, "last") // groups' frames are queued: this one comes behind theirs
		arrived := map[string]int{}
		for _, text := range g.got(g.tap(0), "last") {
			arrived[text]++
		}
		for text, all := range map[string]int{"to A": 4, "to B": 4, "to its other": 1} {
			if slices.Contains(c.arrives, text) != (arrived[text] == all) {
				t.Errorf("%s: %d frames %q arrive, want %v", c.what, arrived[text], text, c.arrives)
			}
		}
	}
}

// In mode passthrough there may be other machines behind the guest, whose addresses it names.
func TestAPassthroughMacvtapTakesFramesForItsGuestsOtherAddresses(t *testing.T) {
	t.Parallel()
	ns := lowerNS(t)
	e := newEnv(ns)
	want := State{Macvlans: map[string]Macvlan{"macvtap0": {
		Owner: "g", Lower: "low1", Tap: true, Mode: host.MacvlanPassthrough, MAC: guestMAC(0), NoIPv6: true, Up: true, Told: true, Hears: "52:54:00:00:00:08 52:54:00:00:00:09",
	}}}
	if err := settleMacvlans(e, want); err != nil {
		t.Fatal(err)
	}
	if got := ns.Run("bridge", "fdb", "show", "dev", "macvtap0"); !strings.Contains(got, "52:54:00:00:00:08 self") || !strings.Contains(got, "52:54:00:00:00:09 self") {
		t.Errorf("it takes frames for\n%s", got)
	}
	noMacvlans(t, e)
}

// The plan is what an administrator would have typed.
func TestThePrintedPlanOfWhatAMacvtapTakesDoesWhatApplyDoes(t *testing.T) {
	t.Parallel()
	applied, typed := lowerNS(t), lowerNS(t)
	e := newEnv(applied)
	dump := func(ns *hosttest.NS) string {
		return ns.Shell("bridge fdb show dev macvtap0 | sort; ip link show macvtap0 | grep -o 'PROMISC\\|ALLMULTI' || true")
	}
	m := Macvlan{Owner: "g", Lower: "low1", Tap: true, Mode: host.MacvlanBridge, MAC: guestMAC(0), NoIPv6: true, AllMulticast: true, Up: true}
	defer typed.Run("ip", "link", "del", "macvtap0")
	for i, change := range []func(m *Macvlan){
		func(*Macvlan) {},
		func(m *Macvlan) { m.Told, m.AllMulticast, m.Hears = true, false, groupA+" "+groupB },
		func(m *Macvlan) { m.Hears, m.Promiscuous = groupB, true },
		func(m *Macvlan) { m.Hears, m.AllMulticast, m.Promiscuous = "", true, false },
	} {
		change(&m)
		p, err := set(e, Scope{All: true, Pattern: allMacv.Pattern, Told: []string{"macvtap0"}}, State{Macvlans: map[string]Macvlan{"macvtap0": m}})
		if err != nil || len(p) == 0 {
			t.Fatalf("state %d: %v, %d steps", i, err, len(p))
		}
		typed.Shell(p.String())
		if d := cmp.Diff(dump(applied), dump(typed)); d != "" {
			t.Errorf("state %d, applied (-) and typed (+) differ:\n%s\nthe plan was:\n%s", i, d, p)
		}
	}
	noMacvlans(t, e)
}
