package firewalld_test

import (
	"testing"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
	"taproom/internal/network/firewall/firewalltest"
	"taproom/internal/network/firewall/iptables"
)

// What firewalld lets through, whichever back end it has, is what the rules below let through, wherever those are.
func TestBesideFirewalldPacketsFareAsTheSuiteAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, backend, rules string }{
		{"its rules in nftables", firewalldtest.NFTables, "nftables"},
		{"its rules in iptables", firewalldtest.IPTables, "nftables"},
		{"its rules in nftables, and ours in iptables", firewalldtest.NFTables, "iptables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			firewalltest.RunTraffic(t, func(t testing.TB) *firewalltest.Host {
				m := newMachine(t, c.backend)
				m.ns.Keep("table ip filter", "table ip nat", "table ip6 filter", "table ip6 nat") // iptables-nft never removes a table
				return &firewalltest.Host{NS: m.ns, Strict: true, Open: func(t testing.TB, table string) firewall.Backend {
					t.Helper()
					b := m.open(t, m.below(t, c.rules, table))
					m.admit(t, b)
					return b
				}}
			})
		})
	}
}

// below is what keeps the rules.
func (m *machine) below(t testing.TB, where, table string) firewall.Backend {
	t.Helper()
	if where == "nftables" {
		return firewall.New(m.nft, table)
	}
	b, err := iptables.New(xtables.New(m.ns.Kernel(), xtables.NFT), table)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// admit lets guests reach the port of the host that the suite asks, as an administrator does it. The zone is there when a
// network has been.
func (m *machine) admit(t testing.TB, b *firewalld.Backend) {
	t.Helper()
	first := firewalltest.Elements("isolated", "virbr9", "10.99.0.0/24")
	if err := b.Apply(t.Context(), first, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(t.Context(), nil, first); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"tcp", "udp"} {
		m.Call("zone.addPort", new(string), firewalld.Zone, "7", protocol, int32(0))
	}
}
