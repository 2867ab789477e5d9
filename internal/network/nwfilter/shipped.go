package nwfilter

import (
	_ "embed" // the filters
	"fmt"
	"strings"

	"taproom/internal/spec"
)

//go:embed shipped.xml
var shippedXML string

// Shipped returns the filters that are there from the beginning, by the names that libvirt's have and with UUIDs that never
// change. The values are the caller's own.
func Shipped() ([]*spec.Filter, error) {
	var all []*spec.Filter
	for doc := range strings.SplitSeq(shippedXML, "\n\n") {
		if !strings.HasPrefix(doc, "<filter ") {
			continue
		}
		f, err := spec.ParseFilter([]byte(doc))
		if err != nil {
			return nil, fmt.Errorf("shipped filter: %w", err)
		}
		all = append(all, f)
	}
	return all, nil
}

// ShippedSet returns them as a Set.
func ShippedSet() (Set, error) {
	all, err := Shipped()
	set := make(Set, len(all))
	for _, f := range all {
		set[f.Name] = f
	}
	return set, err
}

// Learning returns what a NIC has instead of its filter while no address of it is known: with dhcpOnly, DHCP and what
// IPv6 needs for it; else ARP, IPv4 and IPv6 from its own MAC address, so that there is something to learn from. With
// trusted, answers of DHCP servers come from those of DHCPSERVER alone. It uses MAC, and with trusted DHCPSERVER, no other
// variable; in a Set it stands under its own name.
func Learning(dhcpOnly, trusted bool) (*spec.Filter, error) {
	rule := func(action, direction string, priority int, inner string) string {
		return fmt.Sprintf("<rule action='%s' direction='%s' priority='%d'>%s</rule>", action, direction, priority, inner)
	}
	server, name := "", "taproom-learning"
	if trusted {
		server, name = " srcipaddr='$DHCPSERVER'", name+"-trusted"
	}
	if dhcpOnly {
		name += "-dhcp"
	}
	b := "<filter name='" + name + "'>" + rule("drop", "out", -900, "<mac match='no' srcmacaddr='$MAC'/>")
	offers := func(action, of string, priority int) string {
		return rule(action, "in", priority, "<ip protocol='udp' srcportstart='67' dstportstart='68'"+of+"/>")
	}
	if !dhcpOnly {
		if trusted {
			b += offers("accept", server, 0) + offers("drop", "", 1)
		}
		for _, p := range []string{"arp", "ipv4", "ipv6"} {
			b += rule("accept", "out", 500, "<mac protocolid='"+p+"'/>")
		}
		b += rule("drop", "out", 1000, "")
	} else {
		b += rule("accept", "out", 0, "<ip protocol='udp' srcportstart='68' dstportstart='67'/>") + offers("accept", server, 0)
		b += rule("accept", "out", 0, "<ipv6 protocol='udp' srcportstart='546' dstportstart='547'/>")
		if !trusted {
			b += rule("accept", "in", 0, "<ipv6 protocol='udp' srcportstart='547' dstportstart='546'/>")
		}
		b += rule("accept", "inout", 0, "<ipv6 protocol='icmpv6' type='133' typeend='136'/>")
		b += rule("drop", "inout", 1000, "")
	}
	return spec.ParseFilter([]byte(b + "</filter>"))
}
