// Package vnet compiles a network document to what should exist on the host for it. It touches nothing.
//
// A NAT network over IPv4 is a bridge with an address, forwarding switched on, four elements of the firewall's sets and DHCP.
// An isolated network has no way out, so neither forwarding nor the elements for it, and its clients are told no gateway; an
// open one has no elements at all; a routed one is reached from outside and is not masqueraded. A network of mode bridge is
// somebody else's bridge, and one of private, vepa or passthrough links of the host: nothing has to exist for them. What a document asks for beyond that is refused as a
// *spec.UnsupportedError and never dropped in silence.
package vnet
