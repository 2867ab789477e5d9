// Package iptables keeps the rules of virtual networks in chains of its own in iptables' and ip6tables' tables filter and
// nat, for hosts where nf_tables cannot be used or everything else is in iptables already.
//
// The chains are named after the daemon's table ("taproom-in"). One jump each leads to them from FORWARD, INPUT, OUTPUT
// and POSTROUTING, put first when they are made. There are no sets, so every element is a few rules; from any of them the element is read back, and
// the rules count only where all of an element's are there, no other, and each once. So the guarantees are those of package
// firewall: chains appear with the first element of a family and go with the last, and rules that somebody removed or changed
// make Observe report no elements of that family, so that the next Apply rebuilds the chains.
//
// A table changes as a whole; the tables of a request change one after the other, in an order in which no guest's packet
// leaves with its own address that should be masqueraded. When one fails, those before it are put back as they were, rule
// by rule, and the error is the first one. A request reads the rules of each family that it changes once, and writes them once: one program each.
//
// It differs from nf_tables in this: an accept here is the last word of iptables, so a drop of somebody else's behind it
// does not count; and the rules a packet meets grow with the number of networks.
package iptables
