// Package nwfilter is the language of libvirt's network filters (libvirt, formatnwfilter.html): it compiles the filters of
// a NIC and the values of its variables to a Program, which says frame by frame what passes, and it simulates that.
//
// Everything here is pure: no file is opened, nothing of the host is asked, and a value that was returned is never changed.
// What carries a Program out is a Backend, in the packages below this one.
//
// # How a frame is judged
//
// A Program has two layers. The frame layer has chains: the frame enters the first, root, whose rules may lead to another
// chain, which may return. Then the packets of IPv4 and IPv6 enter the packet layer, one list of rules. A layer is passed
// by an accept, by a return from root (or from the packet layer), and by the end of its rules; a frame that is dropped or
// rejected in either layer does not pass. So an accept in the frame layer does not spare a packet the packet layer.
//
// A rule matches if all its conditions do. A condition on something that the frame does not have (a port of a later
// fragment, an address behind the end of the frame) is not met, and neither is its negation. One exception keeps rules from being
// evaded: where a packet, no later fragment, ends before the part of its transport's header that a condition looks at (see Header), the
// condition is met in a rule that drops or rejects, negated or not, and in no other. iptables drops such a packet too, at the first rule
// that looks (net/netfilter/xt_tcpudp.c, hotdrop).
//
// # Directions
//
// Out is from the guest, In is to the guest. A compiled Rule has one of them; what the document says of both, and the
// implicit rules for the answers of a connection, are rules of their own with source and destination exchanged (Mirrored).
//
// docs/filters.md is the language for those who write filters, with what differs from libvirt.
package nwfilter
