package ra

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"taproom/internal/network/lease"
)

// advertise runs a router up to a moment and returns when it advertised and the last frame.
func advertise(t *testing.T, r *Router, until int64) (times []int64, last []byte) {
	t.Helper()
	for r.Due() <= until {
		now := r.Due()
		if f := r.Advertise(bridge, addr("fe80::fe"), now-1); f != nil {
			t.Fatalf("something was sent at %d, before it was due", now-1)
		}
		times = append(times, now)
		last = r.Advertise(bridge, addr("fe80::fe"), now)
	}
	return times, last
}

func TestARouterTellsTheStoryOfItsNetwork(t *testing.T) {
	t.Parallel()
	old := Config{RouterSeconds: 1800, Prefixes: []Prefix{{Prefix: prefix("fd07::/64"), OnLink: true, Autonomous: true}}, RDNSS: addrs("fd07::1"), Search: []string{"old.example"}}
	c := Config{RouterSeconds: 1800, Prefixes: []Prefix{{Prefix: prefix("fd08::/64"), OnLink: true, Autonomous: true}}, RDNSS: addrs("fd08::1"), Search: []string{"new.example."}}
	r := NewRouter(old, 1000, largest)
	_, f := advertise(t, r, 2000)
	same(t, text(t, f), toAll+`router 1800 medium, managed false, other false, MTU 0
		prefix fd07::/64 on-link true autonomous true valid 86400 preferred 14400
		resolvers [fd07::1] for 1800
		search [old.example] for 1800`)

	r.Change(c, 2000)
	renumbered := toAll + `router 1800 medium, managed false, other false, MTU 0
		prefix fd08::/64 on-link true autonomous true valid 86400 preferred 14400
		prefix fd07::/64 on-link true autonomous true valid 0 preferred 0
		resolvers [fd08::1] for 1800
		resolvers [fd07::1] for 0
		search [new.example] for 1800
		search [old.example] for 0`
	times, f := advertise(t, r, 2010)
	same(t, fmt.Sprint(times), "[2000]")
	same(t, text(t, f), renumbered)
	_, f = advertise(t, r, 3700)
	same(t, text(t, f), renumbered)

	_, f = advertise(t, r, 5000) // old resolvers would have ended at 3800
	same(t, text(t, f), toAll+`router 1800 medium, managed false, other false, MTU 0
		prefix fd08::/64 on-link true autonomous true valid 86400 preferred 14400
		prefix fd07::/64 on-link true autonomous true valid 0 preferred 0
		resolvers [fd08::1] for 1800
		search [new.example] for 1800`)
	same(t, text(t, r.Answer(&Solicitation{From: guest, Src: addr("fe80::1")}, bridge, addr("fe80::fe"), 88400)), `
		52:54:00:00:00:fe > 52:54:00:00:00:01, fe80::fe > fe80::1, from 52:54:00:00:00:fe, hops 64
		router 1800 medium, managed false, other false, MTU 0
		prefix fd08::/64 on-link true autonomous true valid 86400 preferred 14400
		resolvers [fd08::1] for 1800
		search [new.example] for 1800`)
	same(t, text(t, r.Stop(bridge, addr("fe80::fe"), 88500)), toAll+`router 0 medium, managed false, other false, MTU 0
		prefix fd08::/64 on-link true autonomous true valid 86400 preferred 0
		resolvers [fd08::1] for 0
		search [new.example] for 0`)
	if r.Due() != lease.Never || r.Stop(bridge, addr("fe80::fe"), 88500) != nil {
		t.Error("a stopped router is not silent")
	}
}

func TestANetworkThatStopsToAnnounceSaysSoThreeTimes(t *testing.T) {
	t.Parallel()
	r := NewRouter(Config{RouterSeconds: 1800, Prefixes: []Prefix{{Prefix: prefix("fd07::/64"), OnLink: true}}}, 1000, largest)
	advertise(t, r, 2000)
	r.Change(Config{}, 2000)
	times, f := advertise(t, r, 100000)
	same(t, fmt.Sprint(times), "[2000 2016 2032]")
	same(t, text(t, f), toAll+`router 0 medium, managed false, other false, MTU 0
		prefix fd07::/64 on-link true autonomous false valid 0 preferred 0`)
	if r.Due() != lease.Never || r.Answer(&Solicitation{From: guest, Src: addr("fe80::1")}, bridge, addr("fe80::fe"), 3000) != nil {
		t.Error("it goes on")
	}
	r.Change(Config{}, 4000)
	if r.Due() != lease.Never {
		t.Error("it begins again, without anything to announce")
	}
	r.Change(Config{Managed: true}, 5000)
	times, _ = advertise(t, r, 5020)
	same(t, fmt.Sprint(times), "[5000 5016]")
}

func TestTheSameConfigurationAgainIsNoNews(t *testing.T) {
	t.Parallel()
	r := NewRouter(full(), 1000, largest)
	advertise(t, r, 1500)
	due := r.Due()
	r.Change(full(), 1500)
	if r.Due() != due {
		t.Errorf("the next one moved from %d to %d", due, r.Due())
	}
}

func TestARouterWithNothingToAnnounceIsSilent(t *testing.T) {
	t.Parallel()
	r := NewRouter(Config{}, 1000, largest)
	q := &Solicitation{From: guest, Src: netip.IPv6Unspecified()}
	if r.Due() != lease.Never || r.Advertise(bridge, addr("fe80::fe"), 2000) != nil ||
		r.Answer(q, bridge, addr("fe80::fe"), 2000) != nil || r.Stop(bridge, addr("fe80::fe"), 2000) != nil {
		t.Error("it said something")
	}
}

func TestAGuestWithoutAnAddressIsAnsweredWithEverybody(t *testing.T) {
	t.Parallel()
	r := NewRouter(Config{Managed: true}, 1000, largest)
	advertise(t, r, 1500)
	if f := r.Answer(&Solicitation{From: guest, Src: netip.IPv6Unspecified()}, bridge, addr("fe80::fe"), 1600); f != nil {
		t.Errorf("it was answered alone: %s", text(t, f))
	}
	times, f := advertise(t, r, 1600)
	same(t, fmt.Sprint(times), "[1600]")
	same(t, text(t, f), toAll+"router 0 medium, managed true, other false, MTU 0")
}

// TestWhatAPrefixWasForIsWithdrawn goes through changes of one prefix.
func TestWhatAPrefixWasForIsWithdrawn(t *testing.T) {
	t.Parallel()
	p := prefix("fd07::/64")
	both, link, auto := Prefix{Prefix: p, OnLink: true, Autonomous: true}, Prefix{Prefix: p, OnLink: true}, Prefix{Prefix: p, Autonomous: true}
	for _, c := range []struct {
		name    string
		configs []Prefix
		want    string // what is withdrawn
	}{
		{"nothing changes", []Prefix{both, both}, ""},
		{"DHCPv6 takes over", []Prefix{both, link}, "on-link false autonomous true"},
		{"and nothing changes", []Prefix{both, link, link}, "on-link false autonomous true"},
		{"and it comes back", []Prefix{both, link, both}, ""},
		{"guests do not talk to each other", []Prefix{both, auto}, "on-link true autonomous false"},
		{"one for the other", []Prefix{link, auto}, "on-link true autonomous false"},
		{"more is not less", []Prefix{link, both}, ""},
	} {
		r := NewRouter(Config{Prefixes: c.configs[:1]}, 1000, largest)
		for i := range c.configs[1:] {
			r.Change(Config{Prefixes: c.configs[i+1 : i+2]}, 1000)
		}
		var got []string
		for line := range strings.Lines(text(t, r.Advertise(bridge, addr("fe80::fe"), 1000))) {
			if rest, ok := strings.CutSuffix(line, " valid 0 preferred 0\n"); ok {
				got = append(got, strings.TrimPrefix(rest, "prefix fd07::/64 "))
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: withdrew %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRenumberingEndlesslyStaysBounded changes everything a thousand times: what is withdrawn has a limit, and the latest
// of it comes first.
func TestRenumberingEndlesslyStaysBounded(t *testing.T) {
	t.Parallel()
	config := func(i int) Config {
		return Config{
			Prefixes: []Prefix{{Prefix: prefix(fmt.Sprintf("fd07:%x::/64", i)), OnLink: true}},
			RDNSS:    make6(60)[i%30 : i%30+30], Search: []string{strings.Repeat("long.", 20) + fmt.Sprint(i)},
		}
	}
	r := NewRouter(config(0), 0, largest)
	for i := range 1000 {
		r.Change(config(i+1), 0)
	}
	f := r.Advertise(bridge, addr("fe80::fe"), 0)
	if len(f) > 14+minMTU {
		t.Errorf("the frame has %d bytes", len(f))
	}
	if n := len(r.gone.prefixes) + len(r.gone.servers) + len(r.gone.domains); n > 3*maxWithdrawn {
		t.Errorf("%d withdrawals are remembered", n)
	}
	a, err := ParseAdvertisement(f, false)
	if err != nil || a.Prefixes[0].Prefix != prefix("fd07:3e8::/64") || a.Prefixes[1].Prefix != prefix("fd07:3e7::/64") {
		t.Errorf("got %+v, %v", a, err)
	}
}
