package ra

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"taproom/internal/network/packet"
)

var (
	bridge = packet.MAC{0x52, 0x54, 0, 0, 0, 0xfe}
	guest  = packet.MAC{0x52, 0x54, 0, 0, 0, 1}
)

func addr(s string) netip.Addr     { return netip.MustParseAddr(s) }
func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func addrs(ss ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range ss {
		out = append(out, addr(s))
	}
	return out
}

func full() Config {
	return Config{
		Prefixes: []Prefix{
			{Prefix: prefix("fd07::/64"), OnLink: true, Autonomous: true, ValidSeconds: 7200, PreferredSeconds: 3600},
			{Prefix: prefix("fd08::/48"), OnLink: true},
		},
		Managed: true, Other: true, RouterSeconds: 1800, Preference: High, MTU: 1400,
		RDNSS: addrs("fd07::1", "fe80::1"), RDNSSSeconds: 900, Search: []string{"lab.example", "example."}, Interval: 200,
	}
}

// text writes an advertisement as people compare it.
func text(t *testing.T, frame []byte) string {
	t.Helper()
	if frame == nil {
		return "nothing"
	}
	a, err := ParseAdvertisement(frame, false)
	if err != nil {
		t.Fatalf("%v in % x", err, frame)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s > %s, %s > %s, from %s, hops %d\n", a.From, a.To, a.Src, a.Dst, a.Source, a.Hops)
	fmt.Fprintf(&b, "router %d %s, managed %v, other %v, MTU %d\n", a.RouterSeconds, a.Preference, a.Managed, a.Other, a.MTU)
	for _, p := range a.Prefixes {
		fmt.Fprintf(&b, "prefix %s on-link %v autonomous %v valid %d preferred %d\n", p.Prefix, p.OnLink, p.Autonomous, p.ValidSeconds, p.PreferredSeconds)
	}
	for _, r := range a.RDNSS {
		fmt.Fprintf(&b, "resolvers %v for %d\n", r.Servers, r.Seconds)
	}
	for _, s := range a.Search {
		fmt.Fprintf(&b, "search %v for %d\n", s.Domains, s.Seconds)
	}
	return b.String()
}

func same(t *testing.T, got, want string) {
	t.Helper()
	got = strings.TrimSpace(got)
	want = strings.TrimSpace(strings.ReplaceAll(want, "\t", ""))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const toAll = "52:54:00:00:00:fe > 33:33:00:00:00:01, fe80::fe > ff02::1, from 52:54:00:00:00:fe, hops 64\n"

func TestAnAdvertisementSaysWhatTheConfigurationDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		config Config
		to     *Solicitation
		final  bool
		want   string
	}{
		{name: "everything, to everybody", config: full(), want: toAll + `
			router 1800 high, managed true, other true, MTU 1400
			prefix fd07::/64 on-link true autonomous true valid 7200 preferred 3600
			prefix fd08::/48 on-link true autonomous false valid 86400 preferred 14400
			resolvers [fd07::1 fe80::1] for 900
			search [lab.example example] for 900`},
		{name: "everything, for the last time", config: full(), final: true, want: toAll + `
			router 0 medium, managed true, other true, MTU 1400
			prefix fd07::/64 on-link true autonomous true valid 7200 preferred 0
			prefix fd08::/48 on-link true autonomous false valid 86400 preferred 0
			resolvers [fd07::1 fe80::1] for 0
			search [lab.example example] for 0`},
		{
			name: "to one guest", config: Config{Managed: true, RouterSeconds: 600, Preference: Low},
			to: &Solicitation{From: guest, Src: addr("fe80::1")}, want: `
			52:54:00:00:00:fe > 52:54:00:00:00:01, fe80::fe > fe80::1, from 52:54:00:00:00:fe, hops 64
			router 600 low, managed true, other false, MTU 0`,
		},
		{
			name: "to a guest without an address", config: Config{Other: true, Preference: High},
			to: &Solicitation{From: guest, Src: netip.IPv6Unspecified()}, want: toAll + `
			router 0 medium, managed false, other true, MTU 0`,
		},
		{name: "lifetimes follow each other and the interval", config: Config{Interval: 30000, RDNSS: addrs("fd07::1"), Prefixes: []Prefix{
			{Prefix: prefix("fd07::/64")},
			{Prefix: prefix("fd08::/64"), ValidSeconds: 40000},
			{Prefix: prefix("fd09::/64"), PreferredSeconds: Infinite},
		}}, want: toAll + `
			router 0 medium, managed false, other false, MTU 0
			prefix fd07::/64 on-link false autonomous false valid 90000 preferred 90000
			prefix fd08::/64 on-link false autonomous false valid 40000 preferred 40000
			prefix fd09::/64 on-link false autonomous false valid 4294967295 preferred 4294967295
			resolvers [fd07::1] for 90000`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.config.Validate(); err != nil {
				t.Fatal(err)
			}
			same(t, text(t, c.config.Advertisement(bridge, addr("fe80::fe"), c.to, c.final)), strings.ReplaceAll(c.want, "64\n\n", "64\n"))
		})
	}
}

func TestWhatGuestsWouldIgnoreIsRefused(t *testing.T) {
	t.Parallel()
	one := func(p Prefix) Config { return Config{Prefixes: []Prefix{p}} }
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{}, ""},
		{full(), ""},
		{one(Prefix{}), "prefixes[0]: invalid Prefix is not an IPv6 prefix"},
		{one(Prefix{Prefix: prefix("10.7.0.0/24")}), "prefixes[0]: 10.7.0.0/24 is not an IPv6 prefix"},
		{one(Prefix{Prefix: prefix("fd07::1/64")}), "prefixes[0]: fd07::1/64 has bits behind its length; write fd07::/64"},
		{one(Prefix{Prefix: prefix("fe80::/64")}), "prefixes[0]: fe80::/64 is not for hosts"},
		{one(Prefix{Prefix: prefix("ff02::/64")}), "prefixes[0]: ff02::/64 is not for hosts"},
		{one(Prefix{Prefix: prefix("fd07::/60"), Autonomous: true}), "prefixes[0]: guests make themselves addresses in a /64 alone, and this is a /60; use DHCPv6"},
		{one(Prefix{Prefix: prefix("fd07::/64"), ValidSeconds: 700, PreferredSeconds: 800}), "prefixes[0]: preferred for 800 seconds and valid for 700 only"},
		{one(Prefix{Prefix: prefix("fd07::/64"), ValidSeconds: 60}), "prefixes[0]: preferred for 60 seconds: addresses would be left before the next advertisement; at least the interval of 600 seconds"},
		{Config{Prefixes: []Prefix{{Prefix: prefix("fd07::/64")}, {Prefix: prefix("fd07::/64")}}}, "prefixes[1]: fd07::/64 is there twice"},
		{Config{RDNSS: addrs("fd07::1", "10.7.0.1")}, "rdnss[1]: 10.7.0.1 is not the IPv6 address of a resolver"},
		{Config{RDNSS: addrs("fe80::1%br0")}, "rdnss[0]: fe80::1%br0 is not the IPv6 address of a resolver"},
		{Config{RDNSS: addrs("ff02::1")}, "rdnss[0]: ff02::1 is not the IPv6 address of a resolver"},
		{Config{Search: []string{""}}, `search[0]: "" is not a domain name`},
		{Config{Search: []string{"a..b"}}, `search[0]: "a..b" is not a domain name: a part has 1 to 63 characters of ASCII`},
		{Config{Search: []string{"ü.example"}}, `search[0]: "ü.example" is not a domain name: a part has 1 to 63 characters of ASCII`},
		{Config{Interval: 3}, "interval: 3 seconds; at least 4"},
		{Config{RouterSeconds: 599}, "router_seconds: 599 seconds: the route would end before the next advertisement; at least the interval of 600 seconds"},
		{Config{RDNSSSeconds: 10}, "rdnss_seconds: 10 seconds: resolvers would end before the next advertisement; at least the interval of 600 seconds"},
		{Config{MTU: 1279}, "mtu: 1279 bytes; IPv6 needs 1280 to 65535"},
		{Config{MTU: 65536}, "mtu: 65536 bytes; IPv6 needs 1280 to 65535"},
		{Config{Preference: 2}, "preference: 2 is none; low, medium or high"},
		{Config{RDNSS: make6(77)}, "prefixes, rdnss, search: an advertisement of all takes 1304 bytes and may have 1280; leave some out"},
		{Config{RDNSS: make6(75)}, ""},
	} {
		err := c.config.Validate()
		var field *FieldError
		switch {
		case c.want == "" && err != nil, c.want != "" && (!errors.As(err, &field) || err.Error() != c.want):
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// make6 makes so many addresses of resolvers.
func make6(n int) []netip.Addr {
	var out []netip.Addr
	for a := addr("fd07::1"); len(out) < n; a = a.Next() {
		out = append(out, a)
	}
	return out
}

func TestOnlyAnEmptyConfigurationIsOff(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{
		{Prefixes: []Prefix{{}}}, {Managed: true}, {Other: true}, {RouterSeconds: 1}, {MTU: 1280}, {RDNSS: addrs("::1")}, {Search: []string{"x"}},
	} {
		if c.Off() {
			t.Errorf("%+v is said to be off", c)
		}
	}
	if !(Config{Interval: 60, RDNSSSeconds: 60, Preference: High}).Off() {
		t.Error("what says only how and not what is said to be on")
	}
}

func TestAConfigurationSurvivesJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{full(), {}, {Preference: Low}} {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got Config
		if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%s came back as %+v, %v", b, got, err)
		}
	}
	var p Preference
	if err := p.UnmarshalText([]byte("best")); err == nil || err.Error() != `"best" is no preference of a router; use low, medium or high` {
		t.Errorf("got %v", err)
	}
}
