package firewalltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"taproom/internal/network/firewall"
	"taproom/internal/network/state"
	"taproom/internal/network/state/statetest"
)

// RunState tests a back end without packets. open returns a Host that has no rules; each test leaves nothing of ours.
func RunState(t *testing.T, open func(t testing.TB) *Host) {
	statetest.RunFirewall(t, func(t *testing.T) state.FirewallBackend { return open(t).Open(t, Table) })
	for name, run := range map[string]func(*testing.T, *Host){
		"what was applied is there for whoever comes next, and again changes nothing": roundTrip,
		"rules of others stay":                                  foreign,
		"damaged rules are noticed, and built anew":             damaged,
		"one bad request does not spoil those beside it":        bisected,
		"a change that fails leaves what was there":             faults,
		"two daemons on one host do not disturb each other":     twoDaemons,
		"what could never match is refused and changes nothing": refused,
		"changes in any order end in what was asked":            walk,
		"a mark shows whether somebody removes rules":           probed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open(t))
		})
	}
}

// each is a network of every kind, in both families.
func each() []element {
	return slices.Concat(
		Elements("nat", "virbr0", "192.168.122.0/24"), Elements("route", "virbr0", "fd00:1::/64"),
		Elements("nat", "br.two-2", "10.0.0.0/8"), Elements("nat", "br.two-2", "2001:db8:0:ff00::/56"),
		Elements("isolated", "virbr2", "10.1.0.0/16"), Elements("isolated", "virbr2", "fd00:3::/64"),
		Elements("nat", "virbr3", "192.0.2.1/32"), Elements("route", "virbr3", "2001:db8::1/128"),
		Elements("route", "virbr4", "10.2.0.0/16"), ByDev("nat", "virbr5", "10.3.0.0/16", "eth0"), ByDev("route", "virbr5", "fd00:5::/64", "eth0"),
		SeenAs("virbr26", "10.4.0.0/24", "192.0.2.1", "192.0.2.9", 1024, 65535), SeenAs("virbr27", "10.4.1.0/24", "192.0.2.0", "192.0.2.7", 80, 80),
		SeenAs("virbr28", "10.5.0.0/16", "192.0.2.1", "192.0.2.1", 5000, 6000), SeenAs("virbr29", "10.6.0.1/32", "192.0.2.1", "192.0.2.1", 7, 7),
		SeenAs("virbr210", "10.4.2.0/24", "", "", 2000, 3000), SeenAs("virbr210", "fd00:6::/64", "", "", 80, 80),
	)
}

func roundTrip(t *testing.T, h *Host) {
	all := each()
	empty := h.Text(t)
	apply(t, h.Open(t, Table), all, nil)
	observed(t, h.Open(t, Table), all)
	some := Elements("isolated", "br.two-2", "2001:db8:0:ff00::/56")
	apply(t, h.Open(t, Table), nil, some)
	apply(t, h.Open(t, Table), some, nil)
	observed(t, h.Open(t, Table), all)
	text := h.Text(t)
	if text == empty {
		t.Error("no rule was made")
	}
	apply(t, h.Open(t, Table), all, nil)
	same(t, "applied again", text, h.Text(t))
	apply(t, h.Open(t, Table), nil, Elements("nat", "virbr9", "198.51.100.0/24"))
	same(t, "removed what is not there", text, h.Text(t))
	apply(t, h.Open(t, Table), nil, all)
	same(t, "removed", empty, h.Text(t))
	observed(t, h.Open(t, Table))
}

func foreign(t *testing.T, h *Host) {
	h.Foreign(t)
	before := h.Text(t)
	if before == "" {
		t.Fatal("there are no rules of others")
	}
	b := h.Open(t, Table)
	observed(t, b)
	apply(t, b, each(), nil)
	now := strings.Split(h.Text(t), "\n")
	for line := range strings.SplitSeq(before, "\n") {
		if !slices.Contains(now, line) {
			t.Errorf("gone: %s", line)
		}
	}
	observed(t, b, each())
	apply(t, b, nil, each())
	same(t, "rules of others", before, h.Text(t))
}

func damaged(t *testing.T, h *Host) {
	if len(h.Damage) == 0 {
		t.Fatal("the Host knows no damage")
	}
	one, two := Elements("nat", "virbr0", "192.168.122.0/24"), Elements("nat", "virbr1", "192.168.123.0/24")
	six := Elements("route", "virbr0", "fd00:1::/64")
	both := slices.Concat(one, two)
	for name, d := range h.Damage {
		b := h.Open(t, Table)
		apply(t, b, slices.Concat(both, six), nil)
		before := h.Text(t)
		d.Do(t)
		if h.Text(t) == before {
			t.Errorf("%s: nothing was damaged", name)
		}
		observed(t, b, six) // the other family is another matter
		if !d.Loses {
			apply(t, b, one, nil) // somebody who knows nothing of the damage
			observed(t, b, both, six)
		} else {
			apply(t, b, both, nil)
		}
		same(t, name+", repaired", before, h.Text(t))
		d.Do(t)
		apply(t, b, nil, both) // and going works as well
		observed(t, b, six)
		apply(t, b, nil, six)
		if text := h.Text(t); text != "" {
			t.Fatalf("%s: left when all had gone:\n%s", name, text)
		}
	}
}

// bad is an element that no back end can have.
func bad() []element { return []element{{Set: "net24", Key: "virbr0 . 10.0.0.1"}} }

func bisected(t *testing.T, h *Host) {
	g := firewall.NewGroup(h.Open(t, Table))
	var good []element
	var wait errgroup.Group
	for i := range 99 {
		n := Elements("nat", fmt.Sprintf("virbr%d", i), fmt.Sprintf("10.0.%d.0/24", i))
		good = append(good, n...)
		wait.Go(func() error { return g.Apply(t.Context(), n, nil) })
	}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = g.Apply(t.Context(), bad(), nil)
	}()
	if err := wait.Wait(); err != nil {
		t.Error(err)
	}
	if <-done; !errors.Is(err, firewall.ErrElement) {
		t.Errorf("the bad one got %v", err)
	}
	observed(t, h.Open(t, Table), good)
	apply(t, g, nil, good)
}

// faults makes each change of each step fail in turn, instead and after it has taken effect.
func faults(t *testing.T, h *Host) {
	h.Foreign(t)
	foreign := h.Text(t)
	one := slices.Concat(Elements("nat", "virbr0", "192.168.122.0/24"), Elements("route", "virbr0", "fd00:1::/64"))
	two := slices.Concat(Elements("nat", "virbr1", "192.168.123.0/24"), Elements("nat", "virbr1", "fd00:2::/64"))
	b := h.Open(t, Table)
	for _, step := range []struct{ before, add, del, after []element }{
		{nil, one, nil, one},
		{one, two, nil, slices.Concat(one, two)},
		{slices.Concat(one, two), nil, one, two},
		{two, one, two, one},
		{one, nil, one, nil},
	} {
		for _, after := range []bool{false, true} {
			for n := 1; ; n++ {
				before := h.Text(t)
				h.FailAt(n, after)
				err := b.Apply(t.Context(), step.add, step.del)
				h.FailAt(0, false)
				if err == nil {
					if n == 1 {
						t.Error("nothing failed")
					}
					observed(t, b, step.after)
					break
				}
				got, oerr := b.Observe(t.Context())
				if oerr != nil {
					t.Fatal(oerr)
				}
				// What took effect although it reported an error may stay, as a whole.
				if now := h.Text(t); now != before && !(after && equal(got, step.after)) {
					same(t, fmt.Sprintf("+%v -%v failed at change %d (after it: %v): %v", step.add, step.del, n, after, err), before, now)
				}
				apply(t, b, step.before, minus(step.after, step.before))
				observed(t, b, step.before)
			}
			apply(t, b, step.before, minus(step.after, step.before))
		}
		apply(t, b, step.add, step.del)
	}
	same(t, "rules of others", foreign, h.Text(t))
}

func equal(a, b []element) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	firewall.Sort(a)
	firewall.Sort(b)
	return slices.Equal(a, b)
}

func minus(a, b []element) []element {
	return slices.DeleteFunc(slices.Clone(a), func(e element) bool { return slices.Contains(b, e) })
}

func twoDaemons(t *testing.T, h *Host) {
	one, two := each(), slices.Concat(Elements("nat", "virbr7", "198.51.100.0/24"), Elements("nat", "virbr7", "fd00:7::/64"))
	a, b := h.Open(t, Table), h.Open(t, other)
	apply(t, a, one, nil)
	alone := h.Text(t)
	apply(t, b, two, nil)
	observed(t, a, one)
	observed(t, b, two)
	apply(t, b, nil, two)
	same(t, "the other has gone", alone, h.Text(t))
	apply(t, b, two, nil)
	apply(t, a, nil, one)
	observed(t, b, two)
	apply(t, b, nil, two)
	same(t, "both have gone", "", h.Text(t))
}

func refused(t *testing.T, h *Host) {
	b := h.Open(t, Table)
	apply(t, b, each(), nil)
	before := h.Text(t)
	good := Elements("nat", "virbr9", "198.51.100.0/24")
	for _, e := range []element{
		bad()[0],
		{Set: "bridge", Key: "virbr0"},
		{Set: "net33", Key: "virbr0 . 10.0.0.0"},
		{Set: "bridges", Key: "far too long a name"},
		{Set: "same", Key: "virbr0"},
		{Set: "nat24", Key: "2001:db8::"},
		{Set: "ip6/net64", Key: "virbr0 . fd00::1"},
		{Set: "snat24", Key: "10.4.0.0"},
		{Set: "snat24", Key: "10.4.0.1 : 192.0.2.1-192.0.2.9"},
		{Set: "snat24", Key: "10.4.0.0 : 192.0.2.9-192.0.2.1"},
		{Set: "snat24", Key: "10.4.0.0 : 192.0.2.0-192.0.2.7"}, // is 192.0.2.0/29
		{Set: "snatports24", Key: "10.4.0.0 : 192.0.2.1-192.0.2.9"},
		{Set: "ports24_0_5", Key: "10.4.0.0"},
		{Set: "ports24_05_6", Key: "10.4.0.0"},
		{Set: "ports24", Key: "10.4.0.0"},
		{Set: "nat24_5_6", Key: "10.4.0.0"},
		{Set: "ip6/snat64", Key: "fd00:: : 192.0.2.1-192.0.2.9"},
		{},
	} {
		if err := b.Apply(t.Context(), append(slices.Clone(good), e), nil); !errors.Is(err, firewall.ErrElement) {
			t.Errorf("%+v gave %v", e, err)
		}
		if err := b.Apply(t.Context(), good, []element{e}); !errors.Is(err, firewall.ErrElement) {
			t.Errorf("without %+v gave %v", e, err)
		}
	}
	same(t, "after what was refused", before, h.Text(t))
	apply(t, b, nil, each())
}

// walk goes from state to state; each has the elements that were asked for, and all lead back to nothing.
func walk(t *testing.T, h *Host) {
	b := h.Open(t, Table)
	modes := []string{"nat", "route", "isolated", "open", "as addresses", "as others", "as ports"}
	have := map[int][]element{}
	seed := uint32(1)
	for range 40 {
		seed = seed*1664525 + 1013904223
		i, mode := int(seed>>16%3), modes[seed>>24%7]
		bridge, four, six := fmt.Sprintf("virbr%d", i), fmt.Sprintf("10.%d.0.0/%d", 16*i, 12+8*(i%2)), fmt.Sprintf("fd00:%d::/%d", i+1, 48+16*(i%2))
		var to []element
		switch mode { // from one to another a key of a map leads elsewhere
		case "as addresses":
			to = SeenAs(bridge, four, "192.0.2.1", "192.0.2.9", 1024, 65535)
		case "as others":
			to = SeenAs(bridge, four, "192.0.2.1", "192.0.2.8", 1024, 65535)
		case "as ports":
			to = slices.Concat(SeenAs(bridge, six, "", "", 2000, 3000), SeenAs(bridge, four, "", "", 2000, 3000))
		default:
			to = slices.Concat(Elements(mode, bridge, six), Elements(mode, bridge, four))
		}
		apply(t, b, minus(to, have[i]), minus(have[i], to))
		have[i] = to
		observed(t, h.Open(t, Table), have[0], have[1], have[2])
	}
	apply(t, b, nil, slices.Concat(have[0], have[1], have[2]))
	same(t, "at the end", "", h.Text(t))
}
