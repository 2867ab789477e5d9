package nftables_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/nftables"
	"taproom/internal/spec"
)

// own are values of a NIC, each of which no other has.
func own(n int) nwfilter.Params {
	at := func(format string) string { return fmt.Sprintf(format, n/256, n%256) }
	return nwfilter.Params{
		"MAC": {at("52:54:00:00:%02x:%02x")}, "IP": {at("10.1.%d.%d"), at("10.2.%d.%d")}, "IPV6": {at("2001:db8::%x:%x")},
		"DHCPSERVER": {at("10.3.%d.%d")}, "GATEWAY_MAC": {at("52:54:01:00:%02x:%02x")}, "PORTS": {fmt.Sprint(1 + n), fmt.Sprint(2000 + n)},
		"TYPE": {fmt.Sprint(10 + n%200)}, "COST": {fmt.Sprint(70000 + n)}, "ETHER": {fmt.Sprint(0x8000 + n)},
	}
}

// compiled is the n-th NIC with a filter.
func compiled(t *testing.T, set nwfilter.Set, root string, n int) nwfilter.Port {
	t.Helper()
	params := own(n)
	if root == "allow-dhcpv6-server" {
		params["DHCPSERVER"] = params["IPV6"]
	}
	program, values, err := nwfilter.Compile(set, root, params)
	if err != nil {
		t.Fatal(err)
	}
	return nwfilter.Port{Name: fmt.Sprintf("vnet%d", n), Program: program, Values: values}
}

// sharing attaches n NICs whose values all differ, the second half one by one, and returns how many chains there are with the
// first, and at the end.
func sharing(t *testing.T, set nwfilter.Set, root string, n int) (one, all int) {
	t.Helper()
	_, c, b := namespace(t)
	ports := make([]nwfilter.Port, n)
	for i := range ports {
		ports[i] = compiled(t, set, root, i)
	}
	chains := func() int {
		t.Helper()
		l, err := c.Layout(context.Background(), nft.Bridge, table)
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Chains)
	}
	apply(t, b, ports[:1])
	one = chains()
	apply(t, b, ports[1:n/2])
	for _, p := range ports[n/2:] {
		apply(t, b, []nwfilter.Port{p})
	}
	if got := observed(t, b); len(got) != n {
		t.Errorf("%s: observed %d of %d ports", root, len(got), n)
	}
	return one, chains()
}

func TestCleanTraffic_AThousandNICsHaveTheChainsOfOne(t *testing.T) {
	t.Parallel()
	set, err := nwfilter.ShippedSet()
	if err != nil {
		t.Fatal(err)
	}
	if one, all := sharing(t, set, "clean-traffic", 1000); all != one {
		t.Errorf("%d chains, one NIC has %d", all, one)
	}
}

// everyFilter has all that are shipped, and filters whose values are lists, ports, types and numbers.
func everyFilter(t *testing.T) nwfilter.Set {
	t.Helper()
	set, err := nwfilter.ShippedSet()
	if err != nil {
		t.Fatal(err)
	}
	for name, inside := range map[string]string{
		"lists": `<ip srcipaddr='$IP[@1]' protocol='tcp' dstportstart='$PORTS[@2]'/>`, "tcp": `<tcp srcipaddr='$IP' dstportstart='$PORTS[@1]'/>`,
		"tcp6": `<tcp-ipv6 srcipaddr='$IPV6' srcportstart='$PORTS'/>`, "sctp6": `<sctp-ipv6 srcportstart='$PORTS'/>`, "udp6": `<ipv6 protocol='udp' dstportstart='$PORTS'/>`,
		"protocol": `<ip protocol='$TYPE'/>`, "protocol6": `<ipv6 protocol='$TYPE'/>`, "stp": `<stp root-cost='$COST' root-address='$MAC'/>`,
		"mac": `<mac protocolid='$ETHER'/>`, "arp": `<arp arpdstmacaddr='$MAC' arpdstipaddr='$IP'/>`, "rarp": `<rarp arpsrcipaddr='$IP' arpdstmacaddr='$MAC'/>`,
		"vlan": `<vlan srcmacaddr='$MAC'/>`,
	} {
		f, err := spec.ParseFilter([]byte(fmt.Sprintf(`<filter name='own-%s' chain='root'><rule action='accept' direction='inout'>%s</rule></filter>`, name, inside)))
		if err != nil {
			t.Fatal(err)
		}
		set[f.Name] = f
	}
	return set
}

// NICs that differ in values alone share the chains of every filter.
func TestSharedChains_OfEveryFilter(t *testing.T) {
	t.Parallel()
	set := everyFilter(t)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		t.Run(name, func(t *testing.T) {
			if one, all := sharing(t, set, name, 6); all != one {
				t.Errorf("%d chains, one NIC has %d", all, one)
			}
		})
	}
}

// An administrator can save the rules with nft and load them again.
func TestRules_CanBeSavedAndLoadedByNft(t *testing.T) {
	t.Parallel()
	set := everyFilter(t)
	delete(set, "own-vlan") // nft 1.0.6 lists the sender behind `ether type vlan` as other bytes
	ns, _, b := namespace(t)
	var ports []nwfilter.Port
	for i, root := range slices.Sorted(maps.Keys(set)) {
		ports = append(ports, compiled(t, set, root, i))
	}
	apply(t, b, ports)
	saved := ns.Run("nft", "-s", "list", "ruleset") + "\n"
	path := filepath.Join(t.TempDir(), "saved.nft")
	if err := os.WriteFile(path, []byte(saved), 0o600); err != nil {
		t.Fatal(err)
	}
	other := hosttest.NewNS(t)
	other.Keep("table *")
	other.Run("nft", "-f", path)
	for _, what := range []string{"sets", "maps"} { // nft joins comparisons of rules that lie side by side
		if d := cmp.Diff(ns.Run("nft", "list", what), other.Run("nft", "list", what)); d != "" {
			t.Errorf("%s are loaded otherwise (-saved +loaded):\n%s", what, d)
		}
	}
}

// The commands of a plan do what Apply does: of NICs, and then of other filters for them.
func TestPlan_RunByNftDoesWhatApplyDoes(t *testing.T) {
	t.Parallel()
	set := everyFilter(t)
	ns, _, _ := namespace(t)
	other, _, applied := namespace(t)
	for round, roots := range [][]string{{"clean-traffic", "own-lists", "own-stp"}, {"no-ip-spoofing", "clean-traffic", "own-rarp"}} {
		var ports []nwfilter.Port
		for i, root := range roots {
			ports = append(ports, compiled(t, set, root, i))
		}
		texts, err := applied.(*nftables.Backend).Plan(context.Background(), ports, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(texts) != 1+round { // filtered ports are led to chains that were made before
			t.Errorf("round %d: %d transactions", round, len(texts))
		}
		for i, text := range texts {
			path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.nft", i))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ns.Run("nft", "-f", path)
		}
		apply(t, applied, ports)
		for _, what := range []string{"sets", "maps", "chains"} {
			if d := cmp.Diff(other.Run("nft", "list", what), ns.Run("nft", "list", what)); d != "" {
				t.Errorf("round %d (-applied +run):\n%s", round, d)
			}
		}
	}
}
