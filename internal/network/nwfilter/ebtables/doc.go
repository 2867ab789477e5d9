// Package ebtables carries network filters out with the programs ebtables, iptables and ip6tables, for hosts whose firewall is
// kept by them. It is a nwfilter.Backend.
//
// The frame layer of a Program is chains of ebtables' table nat: frames from a guest pass them before the bridge looks where
// they go (PREROUTING), frames to a guest after (POSTROUTING). The packet layer is chains of iptables' and ip6tables' table
// filter, which the kernel's br_netfilter asks about frames of bridges; packets from a guest to the host pass them too. Packets
// that the host itself sends to a guest, or routes to it from another link, pass the frame layer alone: which port a packet
// will go to is not known when iptables is asked (net/bridge/br_netfilter_hooks.c). What a guest sends to 01:80:c2:00:00:00 to
// 0f, which a bridge does not forward, reaches the host only if it is neither IP nor ARP.
//
// The programs have no sets of such values, so each port has chains of its own, with its values written out. All ports of one
// Apply are changed by one run of each program's restore, and each of the three families at once; whoever is not named is not
// touched. Chains are named "tr-o-PORT" and "tr-i-PORT", those that root leads to have a number as in "tr-o2-PORT".
//
// Nothing is kept beside the kernel: a rule without a target in the chain "tr-ports", which nothing leads to, says in its
// comment what a port has and how many rules that takes, so that what somebody flushed is missed. The counters alone need what
// this process has applied.
//
// A packet whose header is cut short is dropped by iptables-legacy and ip6tables-legacy themselves, at the first rule of whatever action that
// looks at the header (hotdrop, net/netfilter/xt_tcpudp.c). ebtables and ip6tables-nft do not: there the conditions are not met.
//
// The package is not used by the daemon: run against the suite of package filtertest, with iptables-nft 1.8.9 on Linux 6.18, it does not
// decide as the simulator does of packets that the host sends to a guest (by the packet layer, see above), of IPv6 packets with
// AH, later fragments or cut headers, and of headers cut short in the frame layer.
//
// Refused, with an error that names the rule: conditions on fields of BPDUs, which the kernel compares at the wrong place, and conditions
// that the programs have no word for, for example a negated type of ICMPv6 with a code, or a negated DSCP in the frame layer.
package ebtables
