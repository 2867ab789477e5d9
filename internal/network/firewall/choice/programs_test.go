package choice_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/choice"
	"taproom/internal/network/firewall/firewalltest"
)

// A plan is made of one look at the rules and carried out by another one. Where nf_tables has them nothing is read for that which
// nobody has changed meanwhile, and everything as soon as somebody has.
func TestAStartRunsFourProgramsOfIPTables(t *testing.T) {
	t.Parallel()
	if v, err := choice.TryIPTables(t.Context()); err != nil {
		t.Fatal(err)
	} else if v != xtables.NFT {
		t.Skip("iptables is iptables-legacy here, which does not tell whether anything changed; iptables-nft does (Debian: update-alternatives --set iptables /usr/sbin/iptables-nft)")
	}
	e := env(t)
	var mu sync.Mutex
	var ran []string
	e.Kernel = e.ns.KernelWith(func(call string) {
		if program, is := strings.CutPrefix(call, "process start "); is && strings.Contains(program, "tables") {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, program)
		}
	})
	defer e.Kernel.Close()
	b := open(t, e, choice.IPTables, choice.IPTables).Backend
	took := func(what string, want int, do func() error) {
		t.Helper()
		mu.Lock()
		ran = nil
		mu.Unlock()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(ran) != want {
			t.Errorf("%s runs %d programs, want %d: %q", what, len(ran), want, ran)
		}
	}
	first := slices.Concat(firewalltest.Elements("nat", "virbr0", "192.168.122.0/24"), firewalltest.Elements("nat", "virbr0", "fd00:1::/64"))
	second := slices.Concat(firewalltest.Elements("nat", "virbr1", "192.168.123.0/24"), firewalltest.Elements("nat", "virbr1", "fd00:2::/64"))
	firewall.Sort(first)
	apply := func(add, del []firewall.Element) func() error {
		return func() error {
			if _, err := b.Observe(t.Context(), slices.Concat(add, del)...); err != nil {
				return err
			}
			return b.Apply(t.Context(), add, del)
		}
	}
	took("a network that comes", 4, apply(first, nil))
	took("the next one", 4, apply(second, nil))
	took("one that goes", 4, apply(nil, second))
	var seen []firewall.Element
	look := func() (err error) {
		seen, err = b.Observe(t.Context())
		return err
	}
	took("a look after a change of our own", 2, look)
	took("the next one", 0, look)
	if d := cmp.Diff(first, seen); d != "" {
		t.Errorf("in force (-want +got):\n%s", d)
	}
	e.ns.Run("iptables-nft", "-F", firewall.DefaultTable+"-forward")
	took("a look after somebody's change", 2, look)
	six := slices.DeleteFunc(slices.Clone(first), func(e firewall.Element) bool { return !strings.HasPrefix(e.Set, "ip6/") })
	if d := cmp.Diff(six, seen); d != "" {
		t.Errorf("in force after the rules of IPv4 were damaged (-want +got):\n%s", d)
	}
	took("all that go", 2, func() error { return b.Apply(t.Context(), nil, first) })
}
