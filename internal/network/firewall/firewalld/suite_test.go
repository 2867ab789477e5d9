package firewalld_test

import (
	"slices"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/host/nft/nfttest"
	"taproom/internal/host/sysbus"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
	"taproom/internal/network/firewall/firewalltest"
)

const group = firewalltest.Group

// machine is a namespace with firewalld in it.
type machine struct {
	*firewalldtest.Daemon
	ns  *hosttest.NS
	nft *nft.Conn
}

func newMachine(t testing.TB, backend string) *machine {
	t.Helper()
	m := bare(t, backend)
	m.StartDaemon()
	return m
}

// bare is one in which firewalld does not run yet.
func bare(t testing.TB, backend string) *machine {
	t.Helper()
	ns := hosttest.NewNS(t)
	c, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &machine{Daemon: firewalldtest.StartBus(t, ns, backend), ns: ns, nft: c}
}

// open returns the back end as a daemon that has just started has it.
func (m *machine) open(t testing.TB, below firewall.Backend) *firewalld.Backend {
	t.Helper()
	b := firewalld.New(below, firewalld.Config{Kernel: m.ns.Kernel(), Socket: m.Socket, Group: group, Within: firewalldtest.Patience})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// text is every rule that is not firewalld's, and what is in our zone.
func (m *machine) text(t testing.TB) string {
	t.Helper()
	out := ""
	for _, line := range slices.Sorted(strings.Lines(m.ns.Run("nft", "list", "tables"))) {
		f := strings.Fields(line)
		family, ok := map[string]nft.Family{"ip": nft.IPv4, "ip6": nft.IPv6}[f[1]]
		if !ok {
			continue
		}
		l, err := m.nft.Dump(t.Context(), family, f[2])
		if err != nil {
			t.Fatal(err)
		}
		out += l.String()
	}
	var links []string
	if err := m.Try("zone.getInterfaces", &links, firewalld.Zone); err == nil && len(links) > 0 { // before the first bridge there is no such zone
		out += "zone: " + strings.Join(slices.Sorted(slices.Values(links)), " ") + "\n"
	}
	return out
}

func TestBesideFirewalldTheRulesAreWhatTheSuiteAsks(t *testing.T) {
	t.Parallel()
	firewalltest.RunState(t, func(t testing.TB) *firewalltest.Host {
		m := newMachine(t, firewalldtest.NFTables)
		m.ns.Keep("table ip theirs")
		f := &nfttest.Faulty{Backend: m.nft}
		damage := func(script string, loses bool) firewalltest.Damage {
			return firewalltest.Damage{Loses: loses, Do: func(testing.TB) { m.ns.Run("nft", script) }}
		}
		return &firewalltest.Host{
			NS: m.ns, Text: m.text, FailAt: f.FailAt,
			Open: func(t testing.TB, table string) firewall.Backend { return m.open(t, firewall.New(f, table)) },
			Foreign: func(testing.TB) {
				m.ns.Run("nft", "add table ip theirs; add chain ip theirs forward { type filter hook forward priority 0; policy accept; }; add rule ip theirs forward oifname docker0 accept")
			},
			Damage: map[string]firewalltest.Damage{
				"a rule before": damage("insert rule ip taproom forward drop", false),
				"a table gone":  damage("delete table ip taproom", true),
			},
		}
	})
}

// changing are the methods that change what firewalld has.
var changing = []string{".zone.changeZoneOfInterface", ".zone.removeInterface", ".config.addZone2", ".config.addPolicy", ".reload"}

// Whatever fails of a request, with firewalld or the rules, leaves what was there before.
func TestBesideFirewalldARequestThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	firewalltest.RunRequests(t, func(t testing.TB) *firewalltest.Host {
		m := newMachine(t, firewalldtest.NFTables)
		f := &nfttest.Faulty{Backend: m.nft}
		return &firewalltest.Host{
			NS: m.ns, Text: m.text, FailAt: f.FailAt,
			Open: func(t testing.TB, table string) firewall.Backend {
				b := m.open(t, firewall.New(f, table))
				b.SetAround(func(method string, call func() error) error {
					if !slices.ContainsFunc(changing, func(c string) bool { return strings.HasSuffix(method, c) }) {
						return call()
					}
					return f.Fault(call, &sysbus.Error{Name: "org.freedesktop.DBus.Error.Failed", Message: "a fault of the test's"})
				})
				return b
			},
		}
	})
}
