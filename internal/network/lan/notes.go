package lan

import (
	"fmt"
	"strings"
	"time"

	"taproom/internal/host"
)

// Notes say what an administrator should know before a NIC becomes a port.
func Notes(s *Seen, bridge string) []string {
	nic := s.NIC.Link
	var out []string
	if a, ok := leased(s.NIC.Addresses); ok {
		out = append(out, fmt.Sprintf("%s has %s for another %s, as a DHCP client was given it: the address moves, and the lease is prolonged only once the client runs on %s, which it does by the configuration that is written when you keep the bridge", nic.Name, a.Prefix, time.Duration(a.Valid)*time.Second, bridge))
	}
	var vlans []string
	for _, l := range s.Links {
		if l.Lower == nic.Index && l.Kind == "vlan" {
			vlans = append(vlans, l.Name)
		}
	}
	if len(vlans) > 0 {
		out = append(out, fmt.Sprintf("%s stays on %s and goes on working; guests on %s do not see its VLAN: taproom net bridge %s makes a bridge for them", strings.Join(vlans, ", "), nic.Name, bridge, vlans[0]))
	}
	if !s.NIC.Carrier {
		out = append(out, nic.Name+" has no carrier: nobody can tell whether the bridge works until a cable is plugged in")
	}
	return out
}

// Lease says what is left to do for a bridge that is kept and has the address of a DHCP client of its NIC: "" when it has none.
// The command is what has the configuration counted that was written for it; with "" none was.
func Lease(bridge []host.HostAddress, name, nic, command string) string {
	a, ok := leased(bridge)
	if !ok {
		return ""
	}
	how := "start one there"
	if command != "" {
		how = "run: " + command
	}
	return fmt.Sprintf("%s has %s for another %s, as a DHCP client was given it on %s; nobody prolongs that lease, and the address goes, unless a client runs on %s by then: %s", name, a.Prefix, time.Duration(a.Valid)*time.Second, nic, name, how)
}

// leased is an address of IPv4 that ends: a DHCP client's.
func leased(all []host.HostAddress) (host.HostAddress, bool) {
	for _, a := range all {
		if a.Prefix.Addr().Is4() && a.Valid != host.Forever {
			return a, true
		}
	}
	return host.HostAddress{}, false
}

// Snippets are the documents with which guests get onto a bridge: the interface of a guest, and a network.
func Snippets(bridge string) (nic, network string) {
	nic = fmt.Sprintf("<interface type='bridge'>\n  <source bridge='%s'/>\n  <model type='virtio'/>\n</interface>\n", bridge)
	network = fmt.Sprintf("<network>\n  <name>lan-%s</name>\n  <forward mode='bridge'/>\n  <bridge name='%s'/>\n</network>\n", bridge, bridge)
	return nic, network
}
