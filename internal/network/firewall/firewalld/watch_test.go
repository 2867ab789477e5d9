package firewalld_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
	"taproom/internal/network/firewall/firewalltest"
)

// both runs a test with each back end of firewalld's.
func both(t *testing.T, test func(t *testing.T, backend string)) {
	t.Helper()
	for _, backend := range []string{firewalldtest.NFTables, firewalldtest.IPTables} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			test(t, backend)
		})
	}
}

// keeper does what an engine does: whenever it is told of a change it puts back what is missing of want.
type keeper struct {
	b    *firewalld.Backend
	want []firewall.Element
	who  []string
	done chan error
}

func keep(t *testing.T, b *firewalld.Backend, want []firewall.Element) *keeper {
	t.Helper()
	k := &keeper{b: b, want: want, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	woken := make(chan string, 100)
	go func() { k.done <- b.Watch(ctx, func(who string) { woken <- who }) }()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		b.KeepPermanent(ctx)
	}()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case who := <-woken:
				k.who = append(k.who, who)
				if err := k.mend(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		<-kept
		if err := <-k.done; err != nil {
			t.Errorf("the watch ended: %v", err)
		}
	})
	return k
}

func (k *keeper) mend(ctx context.Context) error {
	got, err := k.b.Observe(ctx)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(k.want), func(e firewall.Element) bool { return slices.Contains(got, e) })
	return k.b.Apply(ctx, missing, nil)
}

func apply(t *testing.T, b *firewalld.Backend, add, del []firewall.Element) {
	t.Helper()
	if err := b.Apply(t.Context(), add, del); err != nil {
		t.Fatalf("apply +%v -%v: %v", add, del, err)
	}
}

func observed(t *testing.T, b *firewalld.Backend, want ...firewall.Element) {
	t.Helper()
	got, err := b.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want = slices.Clone(want)
	firewall.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("in force (-want +got):\n%s", d)
	}
}

var (
	virbr0 = firewalltest.Elements("nat", "virbr0", "10.1.0.0/24")
	virbr1 = append(firewalltest.Elements("isolated", "virbr1", "10.2.0.0/24"), firewalld.Asked("virbr1", "work"))
)

// Whatever firewalld forgets or somebody does with it, bridges are back in their zones.
func TestBridgesAreBackInTheirZones(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, backend string) {
		m := bare(t, backend)
		m.ns.Keep("table ip taproom")
		b := m.open(t, firewall.NewGroup(firewall.New(m.nft, firewall.DefaultTable)))
		all := slices.Concat(virbr0, virbr1)
		apply(t, b, all, nil) // nobody there: the rules alone
		observed(t, b, all...)
		keep(t, b, all)
		rules := ruleset(m)
		back := func(after string) {
			t.Helper()
			m.Await("bridges are in their zones after "+after, func() bool {
				var links []string
				err := m.Try("zone.getInterfaces", &links, firewalld.Zone)
				var work []string
				return err == nil && slices.Equal(links, []string{"virbr0"}) && m.Try("zone.getInterfaces", &work, "work") == nil && slices.Equal(work, []string{"virbr1"})
			})
			observed(t, b, all...)
			if d := cmp.Diff(rules, ruleset(m)); d != "" {
				t.Errorf("after %s (-want +got):\n%s", after, d)
			}
		}
		m.StartDaemon()
		back("firewalld came")
		m.Reload()
		back("a reload")
		m.StopDaemon()
		observed(t, b, all...)
		m.StartDaemon()
		back("a restart")
		m.Call("zone.removeInterface", new(string), firewalld.Zone, "virbr0")
		back("somebody took one out")
		m.Call("zone.changeZoneOfInterface", new(string), "public", "virbr1")
		back("somebody moved one")
	})
}

// ruleset is our own table.
func ruleset(m *machine) string { return m.ns.Run("nft", "-s", "list", "table", "ip", "taproom") }

func TestZonesThatDocumentsAskFor(t *testing.T) {
	t.Parallel()
	m := newMachine(t, firewalldtest.NFTables)
	open := func() *firewalld.Backend { return m.open(t, firewall.New(m.nft, firewall.DefaultTable)) }
	b := open()
	zones := func(ours, work, home string) {
		t.Helper()
		if got := m.Interfaces("work"); got != work {
			t.Errorf("in work: %q, want %q", got, work)
		}
		if got := m.Interfaces("home"); got != home {
			t.Errorf("in home: %q, want %q", got, home)
		}
		if got := m.Interfaces(firewalld.Zone); got != ours {
			t.Errorf("in our zone: %q, want %q", got, ours)
		}
	}
	m.ns.Run("ip", "link", "add", "virbr0", "group", "0x7461", "type", "bridge")
	m.ns.Run("ip", "link", "add", "br7", "type", "bridge")
	m.ns.Keep("link *")
	apply(t, b, virbr0, nil)
	m.Call("zone.changeZoneOfInterface", new(string), "work", "br7") // somebody else's, who comes after the one reload that we ask for
	zones("virbr0", "br7", "")
	work, home := firewalld.Asked("virbr0", "work"), firewalld.Asked("virbr0", "home")
	apply(t, b, []firewall.Element{work}, nil)
	zones("", "br7 virbr0", "")
	observed(t, b, append(virbr0, work)...)
	apply(t, b, []firewall.Element{home}, []firewall.Element{work})
	zones("", "br7", "virbr0")

	b = open() // another daemon finds what the one before left
	observed(t, b, append(virbr0, home)...)
	apply(t, b, nil, []firewall.Element{home})
	zones("virbr0", "br7", "")
	apply(t, b, []firewall.Element{home}, nil)
	m.Call("zone.removeInterface", new(string), "home", "virbr0") // and what is missing when a network goes is no hindrance
	observed(t, b, slices.DeleteFunc(slices.Clone(virbr0), func(e firewall.Element) bool { return e.Set == "bridges" })...)
	apply(t, b, nil, slices.DeleteFunc(slices.Clone(virbr0), func(e firewall.Element) bool { return e.Set == "bridges" }))
	observed(t, b)
	zones("", "br7", "")
	apply(t, b, virbr0, nil)
	zones("virbr0", "br7", "") // what was asked for once is forgotten with its network
	apply(t, b, nil, virbr0)

	m.Call("zone.changeZoneOfInterface", new(string), firewalld.Zone, "virbr0") // a daemon was killed before it took it out
	b = open()
	observed(t, b, firewalld.Asked("virbr0", firewalld.Zone))
	apply(t, b, nil, []firewall.Element{firewalld.Asked("virbr0", firewalld.Zone)})
	zones("", "br7", "")

	err := b.Apply(t.Context(), append(virbr0, firewalld.Asked("virbr0", "nowhere")), nil)
	var none *firewalld.NoZoneError
	if !errors.As(err, &none) || none.Zone != "nowhere" {
		t.Errorf("a zone that does not exist: %v", err)
	}
	apply(t, b, nil, append(virbr0, firewalld.Asked("virbr0", "nowhere")))
	observed(t, b)
}

// A firewalld that hangs makes what needs it fail in time; networks can be stopped, and the rules be read.
func TestAFirewalldThatHangs(t *testing.T) {
	t.Parallel()
	m := newMachine(t, firewalldtest.NFTables)
	below := firewall.New(m.nft, firewall.DefaultTable)
	b := firewalld.New(below, firewalld.Config{Kernel: m.ns.Kernel(), Socket: m.Socket, Group: group, Within: 100 * time.Millisecond})
	m.Signal(syscall.SIGSTOP)
	err := b.Apply(t.Context(), virbr0, nil)
	var silent *firewalld.SilentError
	if !errors.As(err, &silent) {
		t.Errorf("a firewalld that hangs: %v", err)
	}
	if _, err := b.Running(t.Context()); !errors.As(err, &silent) {
		t.Errorf("whether it runs: %v", err)
	}
	observed(t, b, virbr0...)
	apply(t, b, nil, virbr0)
	observed(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Apply(ctx, virbr0, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gave up: %v", err)
	}
	apply(t, b, nil, virbr0)
	m.Signal(syscall.SIGCONT)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// firewalld of another network namespace has nothing to do with ours.
func TestAFirewalldOfAnotherNamespaceIsNone(t *testing.T) {
	t.Parallel()
	m, other := newMachine(t, firewalldtest.NFTables), bare(t, firewalldtest.NFTables)
	b := firewalld.New(firewall.New(other.nft, firewall.DefaultTable), firewalld.Config{Kernel: other.ns.Kernel(), Socket: m.Socket, Group: group, Within: firewalldtest.Patience})
	if running, err := b.Running(t.Context()); running || err != nil {
		t.Errorf("it runs: %v, %v", running, err)
	}
	apply(t, b, virbr0, nil)
	observed(t, b, virbr0...)
	var zones []string
	if m.Call("zone.getZones", &zones); slices.Contains(zones, firewalld.Zone) {
		t.Error("it was given our zone")
	}
	apply(t, b, nil, virbr0)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
