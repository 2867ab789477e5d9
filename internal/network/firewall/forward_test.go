package firewall_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalltest"
)

func drawAddr(t *rapid.T, six bool) netip.Addr {
	if six {
		return netip.AddrFrom16([16]byte(append([]byte{0xfd}, rapid.SliceOfN(rapid.Byte(), 15, 15).Draw(t, "six")...)))
	}
	return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "four")))
}

func TestAForwardIsReadBackFromItsElements(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		six, anywhere := rapid.Bool().Draw(t, "IPv6"), rapid.Bool().Draw(t, "any address")
		port := func(of string) uint16 { return uint16(rapid.IntRange(1, 65535).Draw(t, of)) }
		from, to := netip.AddrPortFrom(drawAddr(t, six), port("host")), netip.AddrPortFrom(drawAddr(t, six), port("guest"))
		if anywhere {
			from = netip.AddrPortFrom(netip.Addr{}, from.Port())
		}
		proto := rapid.SampledFrom([]string{"tcp", "udp"}).Draw(t, "protocol")
		es := firewall.ForwardPort(proto, from, "virbr0", to)
		es = append(es, firewall.Hairpin("virbr0", netip.PrefixFrom(to.Addr(), rapid.IntRange(1, to.Addr().BitLen()).Draw(t, "bits"))))
		for _, e := range es {
			m, err := firewall.Parse(e)
			if err != nil || m.Element() != e || m.V6 != six {
				t.Fatalf("%v is read as %+v, %v", e, m, err)
			}
			switch {
			case m.Kind == firewall.KindHairpin && m.Bridge == "virbr0":
			case m.Kind == firewall.KindTarget && m.Guest == to && m.Proto == proto && m.Bridge == "virbr0":
			case m.Kind == firewall.KindForward && !anywhere && m.Host == from && m.Guest == to && m.Proto == proto:
			case m.Kind == firewall.KindForwardAny && anywhere && m.Host == from && m.Guest == to && m.Proto == proto:
			default:
				t.Fatalf("%v is read as %+v", e, m)
			}
		}
	})
}

func TestForwardsThatCouldNotMatchAreRefused(t *testing.T) {
	t.Parallel()
	_, c := open(t)
	f := firewall.New(c, firewall.DefaultTable)
	for _, e := range []element{
		{Set: "forwards", Key: "192.0.2.1 . tcp . 80"},
		{Set: "forwards", Key: "192.0.2.1 . icmp . 80 : 10.0.0.2 . 80"},
		{Set: "forwards", Key: "192.0.2.1 . tcp . 0 : 10.0.0.2 . 80"},
		{Set: "forwards", Key: "192.0.2.1 . tcp . 080 : 10.0.0.2 . 80"},
		{Set: "forwards", Key: "192.0.2.1 . tcp . 80 : fd00::1 . 80"},
		{Set: "forwards_any", Key: "tcp . 80 : 10.0.0.2 . 0"},
		{Set: "ip6/forwards_any", Key: "tcp . 80 : fd00:0::1 . 80"},
		{Set: "targets", Key: "virbr0 . 10.0.0.2 . sctp . 80"},
		{Set: "hairpin24", Key: "virbr0 . 10.0.0.2"},
		{Set: "hairpin33", Key: "virbr0 . 10.0.0.0"},
		{Set: "hairpin024", Key: "virbr0 . 10.0.0.0"},
	} {
		if err := f.Apply(t.Context(), []element{e}, nil); !errors.Is(err, firewall.ErrElement) {
			t.Errorf("%v gave %v", e, err)
		}
	}
}

// What the plan prints must do what the plan does, also where a port leads elsewhere from now on.
func TestThePrintedCommandsForwardTheSamePorts(t *testing.T) {
	t.Parallel()
	applied, c := open(t)
	printed, _ := open(t)
	f := firewall.New(c, firewall.DefaultTable)
	is := network("virbr0", "192.168.122.0", 24)
	one := firewalltest.Forwarded("virbr0", "192.168.122.0/24", "192.0.2.1", "192.168.122.10")
	two := firewalltest.Forwarded("virbr0", "192.168.122.0/24", "192.0.2.1", "192.168.122.11")
	six := firewalltest.Forwarded("virbr0", "fd00::/64", "2001:db8::1", "fd00::10")
	without := func(a, b []element) []element {
		return slices.DeleteFunc(slices.Clone(a), func(e element) bool { return slices.Contains(b, e) })
	}
	for i, step := range []struct{ add, del []element }{
		{slices.Concat(is, one), nil}, {without(two, one), without(one, two)}, {six, nil}, {nil, two}, {nil, slices.Concat(is, six)},
	} {
		apply(t, f, step.add, step.del)
		script := strings.Join(f.Render(step.add, step.del), "\n")
		printed.Shell(script)
		if d := cmp.Diff(applied.Run("nft", "list", "ruleset"), printed.Run("nft", "list", "ruleset")); d != "" {
			t.Errorf("step %d: applied (-) and printed (+) differ:\n%s\n%s", i, d, script)
		}
	}
	if s := printed.Run("nft", "list", "ruleset"); s != "" {
		t.Errorf("left:\n%s", s)
	}
}
