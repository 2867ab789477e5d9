package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/host"
	"taproom/internal/network/firewall"
	"taproom/internal/network/packet"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// ipForward is needed as soon as one network has a way out, and never switched off again: others may rely on it too.
const ipForward = "net/ipv4/ip_forward"

const (
	modeNAT      = "nat"
	modeRoute    = "route"
	modeOpen     = "open"
	modeBridge   = "bridge"
	modeIsolated = ""

	modeHostdev = "hostdev" // nothing is made for it

	modePrivate, modeVEPA, modePassthrough = "private", "vepa", "passthrough"
)

// Compile returns what should exist while the network is active. The document is complete: it has a UUID and, where the
// host forwards for it, a bridge name. Errors are *spec.InvalidError and *spec.UnsupportedError.
func Compile(n *spec.Network) (state.State, error) {
	mode, err := forwardMode(n)
	if err != nil || !n.Routed() {
		return state.State{}, err
	}
	if n.UUID == nil {
		return state.State{}, invalid("uuid", "the network has none yet")
	}
	bridge, err := compileBridge(n)
	if err != nil {
		return state.State{}, err
	}
	name := n.Bridge.Name
	s := state.State{Elements: map[state.Element]bool{}}
	for i, ip := range n.IPs {
		subnet, err := subnet(i, ip)
		if err != nil {
			return state.State{}, err
		}
		bridge.Addresses = append(bridge.Addresses, subnet)
		for _, e := range elements(n, mode, subnet) {
			s.Elements[e] = true
		}
	}
	slices.SortFunc(bridge.Addresses, host.ComparePrefix)
	if bridge.Routes, err = staticRoutes(n); err != nil {
		return state.State{}, err
	}
	bridge.Fence, bridge.Shelter = Fence(n), Shelter(n)
	if mode != modeIsolated {
		s.Sysctls = map[string]string{ipForward: "1"}
	}
	families := []string{""}
	if n.HasIPv6() {
		families = append(families, ip6)
		if err := withIPv6(n, &bridge); err != nil {
			return state.State{}, err
		}
		if mode != modeIsolated {
			s.Sysctls[state.ForwardIPv6] = "1"
		}
	}
	for _, family := range families {
		if mode != modeOpen {
			s.Elements[state.Element{Set: family + "bridges", Key: name}] = true
			s.Elements[state.Element{Set: family + "same", Key: name + " . " + name}] = true
		}
	}
	if e, ok := zone(n); ok {
		s.Elements[e] = true
	}
	s.Bridges = map[string]state.Bridge{name: bridge}
	s.Services, err = compileServices(n, mode)
	return s, err
}

// forwardMode returns how the network reaches the outside, and refuses what the firewall's rules cannot do yet.
func forwardMode(n *spec.Network) (string, error) {
	if err := checkZone(n); err != nil {
		return "", err
	}
	f := n.Forward
	if f == nil {
		return modeIsolated, nil
	}
	mode := f.Mode
	if mode == "" {
		mode = modeNAT
	}
	switch {
	case mode == modeHostdev:
		return "", unsupported("forward/@mode", "guests are not given PCI functions of the host yet; use mode='passthrough', where they get the links of the functions of <pf dev='…'/>, or those named by <interface dev='…'/>")
	case n.Routed() || mode == modeBridge || mode == modePrivate || mode == modeVEPA || mode == modePassthrough:
	default:
		return "", unsupported("forward/@mode", "%s is not implemented; use nat, route, open, bridge, private, vepa, passthrough or no <forward>", mode)
	}
	return mode, nil
}

// Fence is the fence that the bridge of a network has at all times: nothing is forwarded from or to an isolated network.
func Fence(n *spec.Network) host.Fence {
	if n.Forward == nil {
		return host.ClosedFence()
	}
	return host.Fence{}
}

// Shelter is the fence against packets that otherwise only the firewall's rules keep from the guests of a network: packets from
// outside to guests behind NAT. An isolated network has a fence at all times, and guests of any other network are reached anyway.
func Shelter(n *spec.Network) host.Fence {
	mode, err := forwardMode(n)
	if err != nil || mode != modeNAT || !n.Routed() {
		return host.Fence{}
	}
	return host.Fence{To4: true, To6: n.HasIPv6() && n.Forward.NAT != nil && n.Forward.NAT.IPv6 == "yes"}
}

func compileBridge(n *spec.Network) (state.Bridge, error) {
	doc := n.Bridge
	if doc == nil || doc.Name == "" {
		return state.Bridge{}, invalid("bridge/@name", "the network has none yet")
	}
	if len(doc.Name) > 15 || strings.ContainsAny(doc.Name, "/: \t\n\x00") || doc.Name == "." || doc.Name == ".." {
		return state.Bridge{}, invalid("bridge/@name", "%q is no name for a link: 1 to 15 bytes, without / : and space", doc.Name)
	}
	delay, err := centiseconds(doc.Delay)
	if err != nil {
		return state.Bridge{}, invalid("bridge/@delay", "%v", err)
	}
	// Without an IPv6 address in the document there is none: one that it does not name would be a way into the host. Guests
	// talk IPv6 to each other all the same, and ipv6='yes' asks for no more.
	b := state.Bridge{Owner: n.UUID.String(), STP: doc.STP != "off", Delay: delay, NoIPv6: true, Up: true, VLANs: doc.MACTableManager == "libvirt"}
	if n.MAC != nil {
		mac, err := spec.ParseMAC(n.MAC.Address)
		if err != nil {
			return b, invalid("mac/@address", "%v", err)
		}
		b.MAC = mac.String()
	}
	if n.MTU != nil {
		if b.MTU, err = strconv.Atoi(n.MTU.Size); err != nil || b.MTU < 68 || b.MTU > 65535 {
			return b, invalid("mtu/@size", "%q is not within 68 and 65535", n.MTU.Size)
		}
	}
	return b, nil
}

// centiseconds turns seconds, which may have decimals, into what the kernel counts in. The empty string is none.
func centiseconds(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= 1e6) { // NaN is neither
		return 0, fmt.Errorf("%q is no number of seconds up to a million", s)
	}
	return int(v*100 + 0.5), nil
}

// subnet returns the bridge's address of the i-th <ip> with its length.
func subnet(i int, ip spec.IP) (netip.Prefix, error) {
	path := fmt.Sprintf("ip[%d]", i+1)
	p, err := ip.Subnet()
	switch {
	case err != nil:
		return p, invalid(path, "%v", err)
	case p.Addr().Is6() != (ip.Family == "ipv6"):
		return p, unsupported(path+"/@family", "address %s is of another one", p.Addr())
	case p.Bits() == 0:
		return p, invalid(path, "a prefix length of 0 is every address there is")
	}
	return p, nil
}

// withIPv6 switches IPv6 on: with the addresses of the document and the link-local one that follows from the MAC, which
// advertisements and DHCPv6 come from. The kernel would make it too, but only when a port is up, and then asks around.
func withIPv6(n *spec.Network, b *state.Bridge) error {
	mac, ok := packet.ParseMAC(b.MAC)
	if !ok {
		return invalid("mac/@address", "the network has none yet")
	}
	if b.MTU != 0 && b.MTU < 1280 {
		return invalid("mtu/@size", "IPv6 needs an MTU of at least 1280, not %d", b.MTU)
	}
	b.NoIPv6, b.Static = false, true
	b.LinkLocal = []netip.Prefix{netip.PrefixFrom(mac.LinkLocal(), 64)}
	return nil
}

// ip6 marks elements of the firewall's table for IPv6.
const ip6 = "ip6/"

// elements are what lets a subnet through the firewall; package firewall says what each means. As with libvirt, NAT is of
// IPv4: an IPv6 subnet is routed, and reached from outside, unless the document wants it masqueraded too. With a link of the
// document's as the way out, each names that link too.
func elements(n *spec.Network, mode string, subnet netip.Prefix) []state.Element {
	if mode != modeNAT && mode != modeRoute {
		return nil
	}
	family, by, dev := "", "", ""
	if subnet.Addr().Is6() {
		family = ip6
	}
	if links := n.Forward.Uplinks(); len(links) > 0 {
		by, dev = "dev", " . "+links[0]
	}
	network := subnet.Masked().Addr().String()
	element := func(set, key string) state.Element {
		return state.Element{Set: family + by + set + strconv.Itoa(subnet.Bits()), Key: key + dev}
	}
	out := []state.Element{element("net", n.Bridge.Name+" . "+network)}
	hidden := mode == modeNAT && (subnet.Addr().Is4() || n.Forward.NAT != nil && n.Forward.NAT.IPv6 == "yes")
	if hidden {
		return append(append(out, element("nat", network)), sources(n.Forward.NAT, subnet)...)
	}
	return append(out, element("in", n.Bridge.Name+" . "+network))
}

// sources are what says which addresses and ports guests look like, where the document does. Addresses are of IPv4, as with
// libvirt: a subnet of IPv6 gets the ports alone.
func sources(nat *spec.NAT, subnet netip.Prefix) []state.Element {
	first, last, low, high := nat.Sources()
	to := firewall.Addresses{First: first, Last: last}
	if subnet.Addr().Is6() {
		to = firewall.Addresses{}
	}
	if !to.First.IsValid() && low == spec.NATFirstPort && high == spec.NATLastPort {
		return nil
	}
	return firewall.Sources(subnet, to, firewall.Ports{First: low, Last: high})
}

func invalid(element, format string, a ...any) error {
	return &spec.InvalidError{Element: element, Reason: fmt.Sprintf(format, a...)}
}

func unsupported(element, format string, a ...any) error {
	return &spec.UnsupportedError{Element: element, Reason: fmt.Sprintf(format, a...)}
}
