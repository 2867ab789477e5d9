// Package resolvconf reads which resolvers a host uses (resolv.conf(5)).
package resolvconf

import (
	"net/netip"
	"slices"
	"strings"
)

const (
	port = 53
	// maxLen and maxServers bound what is read of a file: nobody writes more, and glibc uses three servers.
	maxLen     = 64 << 10
	maxServers = 8
)

// Parse returns the servers of a file in their order. What it does not know it passes over, as resolvers do; an address
// for all hosts or many is none that could be asked, except that 0.0.0.0 and :: mean this host.
func Parse(text []byte) []netip.AddrPort {
	var list []netip.AddrPort
	for line := range strings.Lines(string(text[:min(len(text), maxLen)])) {
		fields := strings.Fields(line) // a comment starts a line with '#' or ';', so it is no keyword
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		a, err := netip.ParseAddr(fields[1])
		if err != nil || a.IsMulticast() {
			continue
		}
		switch a = a.Unmap(); a.WithZone("") {
		case netip.IPv4Unspecified():
			a = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		case netip.IPv6Unspecified():
			a = netip.IPv6Loopback()
		}
		if to := netip.AddrPortFrom(a, port); !slices.Contains(list, to) && len(list) < maxServers {
			list = append(list, to)
		}
	}
	return list
}
