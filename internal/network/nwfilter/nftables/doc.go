// Package nftables carries out Programs of network filters (package nwfilter) in nf_tables.
//
// # Layout
//
// A table of family bridge has nearly all of it. Its base chains stand behind br_netfilter (net/bridge/br_netfilter_hooks.c), at
// the two places that each frame of a port passes once: prerouting for what the port sends, wherever it goes, also to the
// host; postrouting for what it gets, wherever it comes from. A map leads from the port's name to the chain of its
// Program: attaching a port is an element in each of the two maps, and the values that its Program leaves open are
// elements of sets, keyed by the port. Ports that have the same Program share its chains.
//
// Frames to the group addresses that bridges keep to themselves (01:80:c2:00:00:00 to 0f, IEEE 802.1D table 7-10) do not pass
// prerouting: the kernel hands them to the host as if the port were no part of a bridge (net/bridge/br_input.c,
// br_handle_frame), by way of the bridge's input hook or, as Linux 6.18 does here, of no hook of bridges at all. So IP and ARP in
// them are dropped where the host would take them, by a table of family inet and one of family arp; the input chain judges what
// passes it. BPDUs of the bridge itself pass the output chain alone.
//
// # Redefinition
//
// A change is one transaction of the kernel, of any number of ports: the elements of the maps are replaced, and chains that
// nobody uses any more go. Where ports that are filtered get a Program that is new, its chains are made by a transaction
// before that, since a packet that is under way can see an element of a transaction before it sees the rules of a chain of the
// same one. So there is no moment in which a port has no chain or an empty one.
//
// # State
//
// Where the kernel has conntrack for bridges, rules ask it. Elsewhere they read bits of the packet's mark, 0x3f00, in which a
// table of family inet has noted the state of the connection: its chains see bridged packets because br_netfilter calls
// them. Those chains are there only while a Program asks for the state. The bits are taken away before the packet goes on to
// the host. A packet that nobody has noted, because br_netfilter is off or the frame has a VLAN's tag, has no state: no
// condition on one is met.
//
// # Headers that are cut short
//
// A condition on a byte that is not there breaks off the rule, so behind each rule that drops by the transport's header stands a jump to
// a chain that returns where the header reaches far enough, and drops otherwise. The kernel says of a header that is not there that
// it lacks every option of TCP; rules that accept by a missing option ask for the whole header before that.
//
// # What is not done
//
// Matches on sets of ip_set are refused, and limits of connections where the kernel lacks conntrack for bridges. A reject only drops
// where the kernel has no answer for bridges (CONFIG_NFT_BRIDGE_REJECT), and in direction in.
//
// # Damage
//
// The comment of each chain of a Program has the Program's key and a sum of the rules that it was made with. What somebody
// else changed does not fit it any more; Observe leaves out the ports that it concerns, and an Apply of these makes it good.
package nftables
