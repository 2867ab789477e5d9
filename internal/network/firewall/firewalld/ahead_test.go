package firewalld_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
	"taproom/internal/network/firewall/firewalltest"
)

// gate holds calls of firewalld up, and counts them.
type gate struct {
	binds, asked atomic.Int32
	open         chan struct{}
}

func newGate(b *firewalld.Backend) *gate {
	g := &gate{open: make(chan struct{})}
	b.SetAround(func(method string, call func() error) error {
		switch {
		case strings.HasSuffix(method, ".zone.changeZoneOfInterface"):
			g.binds.Add(1)
			<-g.open
		case strings.HasSuffix(method, ".zone.getActiveZones"):
			g.asked.Add(1)
		}
		return call()
	})
	return g
}

func ahead(t *testing.T, b *firewalld.Backend, add []firewall.Element) *firewalld.Ahead {
	t.Helper()
	a, err := b.Ahead(t.Context(), add)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// While firewalld takes a new bridge, its network is made: the rules are there, and nobody waits but who wants to.
func TestANetworkIsMadeWhileFirewalldTakesItsBridge(t *testing.T) {
	t.Parallel()
	m := newMachine(t, firewalldtest.NFTables)
	m.ns.Keep("table ip taproom")
	b := m.open(t, firewall.New(m.nft, firewall.DefaultTable))
	apply(t, b, virbr0, nil)
	observed(t, b, virbr0...)
	g := newGate(b)
	a := ahead(t, b, virbr1)
	if !a.Busy() {
		t.Error("it binds nothing")
	}
	observed(t, b, append(virbr0, virbr1...)...)
	apply(t, b, virbr1, nil)
	if links := m.Interfaces("work"); links != "" {
		t.Errorf("in work are %q: it did wait", links)
	}
	close(g.open)
	if err := a.Wait(); err != nil {
		t.Fatal(err)
	}
	if links := m.Interfaces("work"); links != "virbr1" || g.binds.Load() != 1 {
		t.Errorf("in work are %q after %d calls, want virbr1 after one", links, g.binds.Load())
	}
	observed(t, b, append(virbr0, virbr1...)...)
}

// A link that is there already may be somebody's: it is left alone until its network is known to be ours.
func TestALinkThatIsThereIsNotTakenAhead(t *testing.T) {
	t.Parallel()
	m := newMachine(t, firewalldtest.NFTables)
	m.ns.Keep("table ip taproom")
	b := m.open(t, firewall.New(m.nft, firewall.DefaultTable))
	apply(t, b, virbr0, nil)
	observed(t, b, virbr0...)
	m.ns.Run("ip", "link", "add", "virbr1", "type", "bridge")
	m.ns.Keep("link *")
	m.Call("zone.changeZoneOfInterface", new(string), "home", "virbr1")
	a := ahead(t, b, firewalltest.Elements("nat", "virbr1", "10.2.0.0/24"))
	if err := a.Wait(); err != nil || a.Busy() {
		t.Errorf("busy: %v, %v", a.Busy(), err)
	}
	if links := m.Interfaces("home"); links != "virbr1" {
		t.Errorf("at home are %q", links)
	}
	observed(t, b, virbr0...)
}

// What fails, or is given up, is taken back as everything else is: by deleting the elements.
func TestABridgeThatFirewalldDoesNotTakeLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t, firewalldtest.NFTables)
	m.ns.Keep("table ip taproom")
	b := m.open(t, firewall.New(m.nft, firewall.DefaultTable))
	apply(t, b, virbr0, nil)
	observed(t, b, virbr0...)
	before := m.text(t)
	lost := append(firewalltest.Elements("nat", "virbr1", "10.2.0.0/24"), firewalld.Asked("virbr1", "nowhere"))
	a := ahead(t, b, lost)
	var none *firewalld.NoZoneError
	if err := a.Wait(); !errors.As(err, &none) {
		t.Errorf("a zone that does not exist: %v", err)
	}
	apply(t, b, nil, lost)
	a = ahead(t, b, virbr1)
	a.Stop()
	apply(t, b, nil, virbr1)
	if after := m.text(t); after != before {
		t.Errorf("it leaves:\n%s\nwant:\n%s", after, before)
	}
	if links := m.Interfaces("work"); links != "" {
		t.Errorf("in work are %q", links)
	}
	observed(t, b, virbr0...)
}

// Whoever follows firewalld's signals does not ask it where bridges are, until that may have changed.
func TestFirewalldIsAskedOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t, firewalldtest.NFTables)
	m.ns.Keep("table ip taproom")
	b := m.open(t, firewall.New(m.nft, firewall.DefaultTable))
	g := newGate(b)
	close(g.open)
	keep(t, b, virbr0)
	in := func(links string) {
		t.Helper()
		m.Await("in the zone are "+links, func() bool {
			var got []string
			return m.Try("zone.getInterfaces", &got, firewalld.Zone) == nil && strings.Join(got, " ") == links
		})
	}
	in("virbr0")
	asks := func() int32 { // since it was known, which it is once what was under way has come
		t.Helper()
		m.Await("it is known", func() bool {
			before := g.asked.Load()
			observed(t, b, virbr0...)
			return g.asked.Load() == before
		})
		before := g.asked.Load()
		for range 5 {
			observed(t, b, virbr0...)
		}
		return g.asked.Load() - before
	}
	if n := asks(); n > 0 {
		t.Errorf("it was asked %d times in vain", n)
	}
	m.Call("zone.changeZoneOfInterface", new(string), "home", "virbr0")
	in("virbr0")
	m.Reload()
	in("virbr0")
	if n := asks(); n > 0 {
		t.Errorf("it was asked %d times in vain after a reload", n)
	}
}
