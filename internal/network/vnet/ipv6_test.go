package vnet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// dual is a NAT network of both families with parts of it replaced.
func dual(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`<network><name>n</name><uuid>9a05da11-e96b-47f3-8253-a3a482e445f5</uuid>
		<forward mode='nat'><nat><port start='1024' end='65535'/></nat></forward><bridge name='virbr0'/><mac address='52:54:00:00:00:01'/>
		<ip address='10.0.0.1' prefix='24'/><ip family='ipv6' address='2001:db8:0:7::1' prefix='64'/></network>`)
}

// lines are what matters of a state here, as text.
func lines(s state.State) []string {
	b := s.Bridges["virbr0"]
	out := []string{fmt.Sprint("addresses ", b.Addresses), fmt.Sprint("link-local ", b.LinkLocal, ", off ", b.NoIPv6, ", static ", b.Static)}
	for path, v := range s.Sysctls {
		out = append(out, path+"="+v)
	}
	for e := range s.Elements {
		out = append(out, e.Set+" "+e.Key)
	}
	slices.Sort(out)
	return out
}

func TestAnIPv6SubnetIsRoutedMasqueradedOrKeptIn(t *testing.T) {
	t.Parallel()
	const addresses = "addresses [10.0.0.1/24 2001:db8:0:7::1/64]"
	on := []string{addresses, "link-local [fe80::5054:ff:fe00:1/64], off false, static true"}
	forward := []string{"net/ipv4/ip_forward=1", "net/ipv6/conf/all/forwarding=1"}
	ours := []string{"bridges virbr0", "same virbr0 . virbr0", "ip6/bridges virbr0", "ip6/same virbr0 . virbr0"}
	four := []string{"nat24 10.0.0.0", "net24 virbr0 . 10.0.0.0"}
	for name, c := range map[string]struct {
		replace []string
		want    []string
	}{
		"NAT is of IPv4":  {nil, slices.Concat(on, forward, ours, four, []string{"ip6/in64 virbr0 . 2001:db8:0:7::", "ip6/net64 virbr0 . 2001:db8:0:7::"})},
		"NAT of both":     {[]string{"<nat>", "<nat ipv6='yes'>"}, slices.Concat(on, forward, ours, four, []string{"ip6/nat64 2001:db8:0:7::", "ip6/net64 virbr0 . 2001:db8:0:7::"})},
		"open":            {[]string{"'nat'", "'open'"}, slices.Concat(on, forward)},
		"isolated":        {[]string{"<forward mode='nat'><nat><port start='1024' end='65535'/></nat></forward>", ""}, slices.Concat(on, ours)},
		"guests' own":     {[]string{"<network>", "<network ipv6='yes'>", "<ip family='ipv6' address='2001:db8:0:7::1' prefix='64'/>", ""}, slices.Concat([]string{"addresses [10.0.0.1/24]", "link-local [], off true, static false", "net/ipv4/ip_forward=1"}, ours[:2], four)},
		"of another size": {[]string{"prefix='64'", "prefix='48'"}, slices.Concat([]string{"addresses [10.0.0.1/24 2001:db8:0:7::1/48]"}, on[1:], forward, ours, four, []string{"ip6/in48 virbr0 . 2001:db8::", "ip6/net48 virbr0 . 2001:db8::"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile(parse(t, dual(c.replace...)))
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Sorted(slices.Values(c.want))
			if d := cmp.Diff(want, lines(s)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	for _, c := range []struct{ old, new, want string }{
		{"<mac address='52:54:00:00:00:01'/>", "", "invalid mac/@address"},
		{"<mac ", "<mtu size='1279'/><mac ", "invalid mtu/@size"},
		{"family='ipv6'", "", "ip[2]/@family is not supported"},
	} {
		_, err := Compile(parse(t, dual(c.old, c.new)))
		var invalid *spec.InvalidError
		var unsupported *spec.UnsupportedError
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.As(err, &invalid) && !errors.As(err, &unsupported) {
			t.Errorf("%s: %v, want %s…", c.new, err, c.want)
		}
	}
}

func TestThePlanOfBothFamiliesCanBeTyped(t *testing.T) {
	t.Parallel()
	applied, typed := hosttest.NewNS(t), hosttest.NewNS(t)
	conn, err := nft.Open(applied.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	e := &state.Env{Kernel: applied.Kernel(), Group: 0x7461, Firewall: firewall.New(conn, "taproom")}
	var states []state.State
	for _, doc := range []string{
		dual(), dual("<nat>", "<nat ipv6='yes'>"), dual("2001:db8:0:7::1' prefix='64'", "fd00::1' prefix='80'"),
		dual("<ip family='ipv6' address='2001:db8:0:7::1' prefix='64'/>", ""), dual(),
	} {
		s, err := Compile(parse(t, doc))
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, s)
	}
	scope := states[0].Scope(states[1:]...)
	look := func(ns *hosttest.NS) string {
		return ns.Shell("nft -s list ruleset; ip -br address show dev virbr0 || true; cat /proc/sys/net/ipv6/conf/all/forwarding")
	}
	for i, want := range append(states, state.State{}) {
		o, err := state.Observe(t.Context(), e, scope)
		if err != nil {
			t.Fatal(err)
		}
		p, err := state.Diff(e, o, want)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		typed.Shell(p.String())
		if d := cmp.Diff(look(applied), look(typed)); d != "" {
			t.Errorf("state %d, applied (-) and typed (+):\n%s\nthe plan was:\n%s", i, d, p)
		}
		if o, err = state.Observe(t.Context(), e, scope); err != nil {
			t.Fatal(err)
		}
		if p, err = state.Diff(e, o, want); err != nil || len(p) != 0 {
			t.Errorf("state %d, once more: %v\n%s", i, err, p)
		}
	}
}

func TestAnIPv6SubnetTheHostReachesAlreadyIsRefused(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link uplink")
	ns.Shell("ip link add uplink type bridge; ip address add 2001:db8:0:7::9/64 dev uplink nodad; ip link set uplink up")
	routes, err := ns.Kernel().Routes()
	if err != nil {
		t.Fatal(err)
	}
	err = Collision(parse(t, dual()), routes)
	if !errors.Is(err, ErrCollision) || !strings.Contains(err.Error(), "`ip -6 route show 2001:db8:0:7::/64`") {
		t.Errorf("the same subnet: %v, want ErrCollision", err)
	}
	if err := Collision(parse(t, dual("prefix='64'", "prefix='80'")), routes); err != nil {
		t.Errorf("a narrower subnet: %v", err)
	}
}
