package nftables_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// own are values of a NIC, each of which no other has.
func own(n int) nwfilter.Params {
	at := func(format string) string { return fmt.Sprintf(format, n/256, n%256) }
	return nwfilter.Params{
		"MAC": {at("52:54:00:00:%02x:%02x")}, "IP": {at("10.1.%d.%d"), at("10.2.%d.%d")}, "IPV6": {at("2001:db8::%x:%x")},
		"DHCPSERVER": {at("10.3.%d.%d")}, "GATEWAY_MAC": {at("52:54:01:00:%02x:%02x")}, "PORTS": {fmt.Sprint(1 + n), fmt.Sprint(2000 + n)},
		"TYPE": {fmt.Sprint(n % 250)}, "COST": {fmt.Sprint(70000 + n)}, "ETHER": {fmt.Sprint(0x8000 + n)},
	}
}

// sharing attaches n NICs whose values all differ, the second half one by one, and returns how many chains there are with the
// first, and at the end.
func sharing(t *testing.T, set nwfilter.Set, root string, n int) (one, all int) {
	t.Helper()
	_, c, b := namespace(t)
	ports := make([]nwfilter.Port, n)
	for i := range ports {
		params := own(i)
		if root == "allow-dhcpv6-server" {
			params["DHCPSERVER"] = params["IPV6"]
		}
		program, values, err := nwfilter.Compile(set, root, params)
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = nwfilter.Port{Name: fmt.Sprintf("vnet%d", i), Program: program, Values: values}
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

// NICs that differ in values alone share the chains of every filter that is shipped, and of filters whose values are lists, ports,
// types and numbers.
func TestSharedChains_OfEveryFilter(t *testing.T) {
	t.Parallel()
	set, err := nwfilter.ShippedSet()
	if err != nil {
		t.Fatal(err)
	}
	for name, inside := range map[string]string{
		"lists": `<ip srcipaddr='$IP[@1]' protocol='tcp' dstportstart='$PORTS[@2]'/>`, "tcp": `<tcp srcipaddr='$IP' dstportstart='$PORTS[@1]'/>`,
		"tcp6": `<tcp-ipv6 srcipaddr='$IPV6' srcportstart='$PORTS'/>`, "sctp6": `<sctp-ipv6 srcportstart='$PORTS'/>`, "udp6": `<ipv6 protocol='udp' dstportstart='$PORTS'/>`,
		"icmp": `<icmp type='$TYPE'/>`, "icmpv6": `<icmpv6 type='$TYPE' code='$TYPE'/>`, "stp": `<stp root-cost='$COST' root-address='$MAC'/>`,
		"mac": `<mac protocolid='$ETHER'/>`, "arp": `<arp opcode='$TYPE' arpdstmacaddr='$MAC' arpdstipaddr='$IP'/>`, "rarp": `<rarp arpsrcipaddr='$IP' arpdstmacaddr='$MAC'/>`,
		"vlan": `<vlan encap-protocol='$ETHER' srcmacaddr='$MAC'/>`,
	} {
		f, err := spec.ParseFilter([]byte(fmt.Sprintf(`<filter name='own-%s' chain='root'><rule action='accept' direction='inout'>%s</rule></filter>`, name, inside)))
		if err != nil {
			t.Fatal(err)
		}
		set[f.Name] = f
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		t.Run(name, func(t *testing.T) {
			if one, all := sharing(t, set, name, 6); all != one {
				t.Errorf("%d chains, one NIC has %d", all, one)
			}
		})
	}
}
