// Package learn finds out which addresses a guest uses on a filtered NIC, for the variables IP and IPV6 of its network filter
// when its owner names none (libvirt's nwfilter document, "Automatic IP address detection").
//
// What is believed, by the NIC's mode (CTRL_IP_LEARNING):
//
//   - dhcp: what a DHCPv4 or DHCPv6 server gives the guest, for as long as it gives it, until the guest gives it back. With
//     servers named (DHCPSERVER) only those count, by the address that their messages come from.
//   - any: that, and what the guest says of itself in ARP and in neighbour discovery, and the address that it forms from its
//     MAC and a router's advertisement (RFC 4862).
//   - none: nothing.
//
// A guest that says of itself what it likes is held by the rules of first come, first served (RFC 6620): an address that
// another NIC of the same network has and has used within the last ten minutes is not learned, nor is one that the network
// reserves, nor one outside of the prefixes that it may have; and a NIC has at most 16 addresses of a family. A server that is
// named is above that: what it gives is taken from whoever only claimed it. An idle guest keeps its addresses.
//
// What is learned goes with a lease's or a prefix's end, with a release, and with the NIC. It can be kept over a restart as
// plain values (Learned), which hold by the time the machine is up rather than by its calendar.
//
// Table is all of that without I/O: a frame, the NIC it passed and the time give changes. Learner has the sockets: two for
// the whole process, however many NICs there are, with a filter that the kernel runs; one hears DHCP and router
// advertisements in both directions, the other ARP and neighbour discovery of guests. The kernel hands over only frames of
// NICs that are watched. At most 500 messages a second of each kind are looked at for a NIC and 1,000 for a network, half of
// these kept for the NICs that say little; a NIC that says more is left out of the kernel's filter for a second.
//
// Frames in VLANs are not read: they are not those that the rules for IP and ARP see.
package learn
