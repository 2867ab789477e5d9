package clienttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taproom/internal/daemon/daemontest"
)

const natNetwork = `<network><name>lab</name><forward mode='nat'/><bridge name='virbr-lab'/>
<ip address='192.168.77.1' netmask='255.255.255.0'/><ip family='ipv6' address='fd00:77::1' prefix='64'/></network>`

// The daemon is started with another back end of the firewall while a network is up: its rules are where the setting says, and
// nowhere else, and there were some at all times.
func TestTheFirewallsBackEndCanBeChanged(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.daemon.NS.Keep("table ip filter", "table ip nat", "table ip6 filter", "table ip6 nat") // iptables never removes a table
	c.do("net-define", c.write("lab.xml", natNetwork))
	c.do("net-start", "lab")
	where := func(nft, iptables int) {
		t.Helper()
		if n := strings.Count(c.daemon.NS.Run("nft", "list", "tables"), " taproom"); n != nft {
			t.Errorf("%d tables of nf_tables, want %d", n, nft)
		}
		rules := c.daemon.NS.Run("iptables-save") + c.daemon.NS.Run("ip6tables-save")
		if n := strings.Count(rules, "-j MASQUERADE\n"); n != iptables {
			t.Errorf("%d families in iptables, want %d:\n%s", n, iptables, rules)
		}
	}
	where(2, 0)
	// restart returns the calls of the new daemon's start.
	restart := func(word string) []string {
		t.Helper()
		if err := c.daemon.Stop(); err != nil {
			t.Fatal(err)
		}
		c.settings("firewall_backend = '" + word + "'\n")
		file := filepath.Join(t.TempDir(), "calls")
		if err := c.daemon.Start(daemontest.Calls(file)); err != nil {
			t.Fatal(err)
		}
		if got := c.do("net-list", "--name"); strings.TrimSpace(got) != "lab" {
			t.Errorf("networks: %q", got)
		}
		calls, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(calls), "\n")
	}
	iptables := func(call string) bool {
		return strings.HasPrefix(call, "process start ip6tables-") && strings.HasSuffix(call, "restore")
	}
	nft := func(call string) bool { return call == "nft commit" }
	// The last commit is the one that matters: a daemon tries what the kernel can do, and takes tables over, before.
	iptablesThenNFT := func(calls []string) bool {
		return slices.IndexFunc(calls, iptables) >= 0 && slices.IndexFunc(calls, iptables) < lastIndexFunc(calls, nft)
	}
	nftThenIPTables := func(calls []string) bool {
		return lastIndexFunc(calls, nft) >= 0 && lastIndexFunc(calls, nft) < slices.IndexFunc(calls, iptables)
	}
	inOrder := func(word string, order func([]string) bool) {
		t.Helper()
		if calls := restart(word); !order(calls) {
			t.Errorf("with %s the old rules go before the new ones are there:\n%s", word, strings.Join(calls, "\n"))
		}
	}
	inOrder("iptables", iptablesThenNFT)
	where(0, 2)
	c.do("net-destroy", "lab")
	where(0, 0)
	c.do("net-start", "lab")
	where(0, 2)
	inOrder("nftables", nftThenIPTables)
	where(2, 0)
	restart("iptables")
	inOrder("auto", nftThenIPTables)
	where(2, 0)
	c.do("net-destroy", "lab")
}

func lastIndexFunc(s []string, is func(string) bool) int {
	for i, v := range slices.Backward(s) {
		if is(v) {
			return i
		}
	}
	return -1
}
