// Package firewall keeps the IPv4 rules of virtual networks in one nf_tables table of its own.
//
// The rules are constant and exist once; a network joins by set elements alone, so a join costs the same with a thousand
// networks as with none (plain hash sets with masked keys; interval sets are rebuilt as they grow). The elements are
//
//	bridges  virbr0                     the bridge is one of ours: what no rule accepts is rejected
//	same     virbr0 . virbr0            guests of the network reach each other
//	net24    virbr0 . 192.168.122.0     guests reach the outside, and answers come back (a set per prefix length)
//	nat24    192.168.122.0              and their source address is masqueraded
//
// A set pair and its three rules are added for a prefix length when the first network with it joins; the table appears
// with the first element and disappears with the last.
//
// What is guaranteed: an Apply is one transaction, applied as a whole or not at all. Rules that somebody removed or changed
// are noticed by Observe, which then reports no elements, so that the next plan adds them all and Apply rebuilds the table
// around the elements that are there. What is not: an accept here does not outweigh a drop in another table; `taproom
// doctor` finds those.
//
// The order in forward is libvirt's: traffic that stays on a bridge, then answers to a network, then nothing else to one,
// then traffic from a network, then nothing else from one. So two networks do not reach each other.
package firewall
