// Package firewall keeps the rules of virtual networks in two nf_tables tables of its own, one for IPv4 and one for IPv6.
//
// The rules are constant and exist once; a network joins by set elements alone, so a join costs the same with a thousand
// networks as with none (plain hash sets with masked keys; interval sets are rebuilt as they grow). The elements are
//
//	bridges  virbr0                     the bridge is one of ours: what no rule accepts is rejected
//	same     virbr0 . virbr0            guests of the network reach each other
//	net24    virbr0 . 192.168.122.0     guests reach the outside, and answers come back (a set per prefix length)
//	nat24    192.168.122.0              and their source address is masqueraded
//	in24     virbr0 . 192.168.122.0     and the outside reaches the guests
//
//	devnet24 virbr0 . 192.168.122.0 . eth0  as net24, by one link alone
//	devnat24 192.168.122.0 . eth0           as nat24, for what leaves by that link
//	devin24  virbr0 . 192.168.122.0 . eth0  as in24, by that link
//
//	snat24       192.168.122.0 : 192.0.2.1-192.0.2.9               what that source becomes, instead of the outgoing link's address
//	snatports24  192.168.122.0 : 192.0.2.1-192.0.2.9 . 1024-65535  the same for TCP and UDP, with the ports
//	ports24_2000_3000  192.168.122.0                               TCP and UDP from it get these ports of the link's address
//
//	forwards      192.0.2.1 . tcp . 8080 : 192.168.122.10 . 80  a port of the host leads to a guest
//	forwards_any  tcp . 8080 : 192.168.122.10 . 80              that of every address of the host does
//	targets       virbr0 . 192.168.122.10 . tcp . 80            and that guest is reached, and may answer
//	hairpin24     virbr0 . 192.168.122.0                        guests of its network reach it that way too
//
//	ip6/…    the same for IPv6, where no addresses can be named
//
// The sets of a prefix length and their rules are added when the first network with it joins, those with a link apart from
// those without; a table appears with its first element and disappears with its last. So a host without IPv6 networks has no IPv6 rules.
//
// Two sets more are filled by packets and are no elements: sent and received count, by bridge, what is let through; see Traffic.
//
// What the tables hold is read once, and again when nf_tables is in another state than we left it in: the kernel numbers its
// states. So a request costs what it touches, and one question.
//
// What is guaranteed: an Apply is one transaction, also across both tables, applied as a whole or not at all. Rules that
// somebody removed or changed are noticed by Observe, which then reports no elements of that table, so that the next plan
// adds them all and Apply rebuilds the table around the elements that are there. What is not: an accept here does not
// outweigh a drop in another table; `taproom doctor` finds those.
//
// The order in forward is libvirt's: traffic that stays on a bridge, then answers to a network, then nothing else to one,
// then traffic from a network, then nothing else from one. So two networks do not reach each other. One whose guests the
// outside reaches is reached by the guests of others as well, if those reach the outside; an isolated one never gets out.
package firewall
