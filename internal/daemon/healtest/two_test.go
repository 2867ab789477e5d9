package healtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/engine"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

// tenant is one of several daemons in a namespace, with a network.
type tenant struct {
	*testing.T
	*daemontest.Daemon
	fwd    *firewalldtest.Daemon // nil: none runs
	bridge string
	number int
}

// has is what there is of a tenant, as text.
func (n *tenant) has() string {
	n.Helper()
	table := engine.NewIdentity(n.Root).Table
	out := n.NS.Shell("ip -br -4 addr show dev " + n.bridge + " | awk '{print $1, $3}'")
	for _, family := range []string{"ip", "ip6"} {
		if rules, err := n.NS.Try("nft", "-s", "list", "table", family, table); err == nil {
			out += byPackets.ReplaceAllString(rules, "")
		}
	}
	for line := range strings.Lines(n.NS.Run("iptables-save") + n.NS.Run("ip6tables-save")) {
		if strings.Contains(line, table) {
			out += counts.ReplaceAllString(line, "\n")
		}
	}
	if n.fwd == nil {
		return out
	}
	for line := range strings.Lines(zones(n.fwd)) {
		if zone, _, _ := strings.Cut(line, " "); strings.Contains(line, n.bridge) {
			out += zone + " has " + n.bridge + "\n"
		}
	}
	return out
}

func (n *tenant) create() {
	n.Helper()
	xml := fmt.Sprintf(networkXML, strings.TrimPrefix(n.bridge, "virbr-"), n.number)
	err := n.Client().Call(n.Context(), remote.ProgramRemote, remote.ProcNetworkCreateXML, &remote.String{S: xml}, &remote.Network{})
	if err != nil {
		n.Fatalf("create a network on %s: %v: %s", n.bridge, err, n.Said())
	}
}

func (n *tenant) destroy() {
	n.Helper()
	(&world{T: n.T, daemon: n.Daemon}).destroy(strings.TrimPrefix(n.bridge, "virbr-"))
}

func (n *tenant) restart() {
	n.Helper()
	n.Kill()
	if err := n.Start(); err != nil {
		n.Fatal(err)
	}
}

// Whatever one daemon does, or is done to it, another one with a root of its own in the same namespace keeps what it has,
// wherever the rules are.
func TestTwoDaemonsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]string{"nftables": "", "iptables": "firewall_backend = 'iptables'\n", "firewalld": "system_bus = '%s'\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := daemontest.Prepare(t)
			first.NS.Keep("table ip *", "table ip6 *")
			var fwd *firewalldtest.Daemon
			if name == "firewalld" {
				fwd = firewalldtest.Start(t, first.NS, firewalldtest.NFTables)
				settings = fmt.Sprintf(settings, fwd.Socket)
			}
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			one := &tenant{t, first, fwd, "virbr-one", 150}
			other := &tenant{t, first.Beside(), fwd, "virbr-two", 151}
			for _, n := range []*tenant{one, other} {
				n.Kill()
				err := os.MkdirAll(n.Paths().Config, 0o755)
				if err == nil {
					err = os.WriteFile(filepath.Join(n.Paths().Config, "taproomd.toml"), []byte(settings), 0o644)
				}
				if err == nil {
					err = n.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			one.create()
			had := one.has()
			if strings.Count(had, "\n") < 10 || fwd != nil && !strings.Contains(had, "taproom has virbr-one") {
				t.Fatalf("the first one has\n%s", had)
			}
			keeps := func(n *tenant, had, when string) {
				t.Helper()
				if d := cmp.Diff(had, n.has()); d != "" {
					t.Errorf("after %s, %s is otherwise (-before +after):\n%s", when, n.bridge, d)
				}
			}
			other.create()
			keeps(one, had, "another daemon started a network")
			others := other.has()
			other.restart()
			keeps(one, had, "the other daemon was killed and started")
			one.restart()
			keeps(other, others, "the first daemon was killed and started")
			keeps(one, had, "it was killed and started itself")
			other.destroy()
			keeps(one, had, "the other daemon stopped its network")
			if left := other.has(); left != "" {
				t.Errorf("left of the other one:\n%s", left)
			}
			other.create()
			one.destroy()
			keeps(other, others, "the first daemon stopped its network")
			other.destroy()
		})
	}
}
