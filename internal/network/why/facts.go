package why

import "net/netip"

// Facts are what is known of one network or guest, and of the host around it.
type Facts struct {
	Object string // "network 'default'" or "guest 'web'"
	Label  string // the comment that repairs carry
	Ours   string // the name of our own nftables tables

	Network  string // its name; "" for a bridge that is none of ours
	Mode     string // nat, route, open, isolated; "" for a bridge that is none of ours
	Subnets  []netip.Prefix
	Serves   bool // DHCP or DNS
	Bridge   string
	Tap      string // of the guest; "" when a network is asked about
	Plugged  bool   // the tap is a port of the bridge, and up
	BridgeUp bool   // it is there, and up

	Source     netip.Addr // the guest's address
	SourceFrom string     // lease, neighbour, document or free (nobody has it)
	To         netip.Addr
	Port       uint16 // 0: an echo
	Sport      uint16 // the guest's port, or the identifier of the echo
	Proto      string

	Forwarding bool   // of the family, by the bridge's own setting
	ForwardAll bool   // by the machine's
	RPFilter   int    // of the bridge, as it counts: 0 none, 1 strict, 2 loose
	BridgeNF   bool   // frames that stay on a bridge pass the rules of IP
	Route      Route  // where the kernel sends the packet
	Squatter   string // who has port 53 of the network's address, when it is not us
	Overlaps   []Overlap
	Taken      *Forward // a port of ours that the packet is for; nil when it is for none

	Tables []Table
	Traced bool   // a probe was sent, and the kernel said what it met
	Untold string // why there was none
	Hops   []Hop
}

// Route is what the kernel says of the packet's way; of one that is rewritten, from there on.
type Route struct {
	Error   string // the kernel's word for there being none; "" when there is one
	Local   bool   // the host itself is meant
	Out     string // the link it leaves by
	OutUp   bool   // which has a carrier
	Gateway netip.Addr
	// Default says that there is a default route at all.
	Default bool
}

// Overlap is a route of somebody else into a subnet of the network.
type Overlap struct {
	Prefix netip.Prefix
	Link   string
}

// Hop is what a probe met, as the kernel tells it.
type Hop struct {
	Family  string
	Table   string
	Chain   string
	Handle  uint64 // of a rule; 0 is the policy or the end of a chain
	Verdict string // accept, drop, jump, goto, return or continue
	Policy  bool   // the verdict is the chain's policy
}

// v6 reports whether the packet is one of IPv6.
func (f *Facts) v6() bool { return f.To.Is6() }

// stays reports whether the packet is for another guest of the same network.
func (f *Facts) stays() bool {
	if _, elsewhere := f.Rewritten(); elsewhere {
		return false
	}
	for _, s := range f.Subnets {
		if s.Contains(f.To) && !f.Route.Local {
			return true
		}
	}
	return false
}

// packet is the probe, on its way from the bridge.
func (f *Facts) packet() Packet {
	out := f.Route.Out
	if f.stays() {
		out = f.Bridge
	}
	p := Packet{In: f.Bridge, Out: out, Src: f.Source, Dst: f.To, Proto: f.Proto, Sport: f.Sport, Dport: f.Port, State: "new", Local: f.Route.Local}
	if to, ok := f.Rewritten(); ok {
		p.Dst, p.Dport = to.Addr(), to.Port()
	}
	return p
}
