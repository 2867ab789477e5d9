package state

import (
	"maps"
	"net/netip"
	"slices"

	"taproom/internal/host"
)

// State is what should exist, or does exist. Maps that are nil are empty.
type State struct {
	Bridges  map[string]Bridge  // by name
	Ports    map[string]Port    // by name
	Macvlans map[string]Macvlan // by name
	Lowers   map[string]Lower   // by name; links that macvlans lie on and that are not ours
	Sysctls  map[string]string  // by path below /proc/sys; only those that should have a value
	Elements map[Element]bool   // of the firewall's sets; the value is always true
	Services map[string]Service // by the network's UUID
	Shapers  map[string]Shaper  // by name
	Shapes   map[string]Shape   // by the name of the link
	// SwitchPorts are ports of Open vSwitch, by name.
	SwitchPorts map[string]SwitchPort
}

// Bridge is a bridge of a network.
type Bridge struct {
	Owner     string // UUID of the network
	MAC       string // "" is any
	MTU       int    // 0 is any
	STP       bool
	Delay     int            // forward delay in hundredths of a second; with STP the kernel keeps it within 2 to 30 s
	Addresses []netip.Prefix // sorted by host.ComparePrefix; without link-local ones of IPv6
	// Routes lead to what is behind its ports; sorted by host.CompareRoute. Observed are those of ours alone.
	Routes []host.StaticRoute
	NoIPv6 bool // IPv6 is switched off on it
	// LinkLocal are its link-local addresses of IPv6; desired there is one, or none, which leaves them to the kernel.
	LinkLocal []netip.Prefix
	// Static says that the kernel gives it no IPv6 address by itself and believes no router: what is behind it are guests.
	Static bool
	Up     bool
	// VLANs has it look at VLAN tags, without which the kernel leaves no port out of promiscuous mode. NoVLANs says that the
	// kernel cannot; it is only observed.
	VLANs, NoVLANs bool
	// Fence says which packets are not forwarded from its guests, or to them, regardless of firewall rules.
	Fence host.Fence
	// Shelter is added to Fence while the Env is Sheltered. Only desired.
	Shelter host.Fence
	// LearnsLinkLocal says that it learns addresses from frames that it passes on to nobody (host.Bridge). Only observed: no bridge of
	// ours is to.
	LearnsLinkLocal bool
}

// Port is a tap on a bridge. Making one yields descriptors, which whoever carries the plan out must pass on.
type Port struct {
	Owner  string // UUID of the guest
	MAC    string // of the host's end; "" is any
	Master string // the bridge; "" is none
	MTU    int    // 0 is any
	NoIPv6 bool
	Up     bool
	Queues int // 0 is 1; counts only when the tap is made
	// Coalesce is how many frames it gathers; 0 is what the kernel does by itself. It counts only when the tap is made.
	Coalesce uint32
	Isolated bool // it does not reach its bridge's other isolated ports
	// Managed says that its bridge learns no addresses from it and sends it no frames for unknown ones, but has been told
	// Table: the addresses behind it, in lower case, sorted, with spaces between.
	Managed bool
	Table   string
	// Anywhere says that its bridge is not looked at: whoever made it a port of one goes on doing so. Only desired.
	Anywhere bool
	// Leaving says that somebody was about to remove it and did not. Only observed.
	Leaving bool
	// Held says that a guest has its descriptors: the tap is changed and never made, and may go with the guest at any
	// moment. Only desired.
	Held bool
}

// Element is a member of one of the firewall's sets, as the firewall writes it: {"bridges", "virbr0"}.
type Element struct {
	Set, Key string
}

// Service is what is served on a bridge.
type Service struct {
	Bridge      string
	Fingerprint string // tells two configurations apart
	Config      string // for the backend; not compared, and empty when observed
	Index       int    // of the link it is bound to; only observed
}

// Clone returns a copy that shares nothing.
func (s State) Clone() State {
	c := State{
		Bridges: maps.Clone(s.Bridges), Ports: maps.Clone(s.Ports), Macvlans: maps.Clone(s.Macvlans), Lowers: maps.Clone(s.Lowers), Sysctls: maps.Clone(s.Sysctls),
		Elements: maps.Clone(s.Elements), Services: maps.Clone(s.Services), SwitchPorts: cloneSwitchPorts(s.SwitchPorts),
		Shapers: maps.Clone(s.Shapers), Shapes: maps.Clone(s.Shapes), // trees do not change
	}
	for name, b := range c.Bridges {
		b.Addresses, b.LinkLocal, b.Routes = slices.Clone(b.Addresses), slices.Clone(b.LinkLocal), slices.Clone(b.Routes)
		c.Bridges[name] = b
	}
	for name, v := range c.Macvlans {
		v.Addresses = slices.Clone(v.Addresses)
		c.Macvlans[name] = v
	}
	return c
}

// Merge returns what both say. Where both name a thing, other wins.
func (s State) Merge(other State) State {
	m, o := s.Clone(), other.Clone()
	m.Bridges = merge(m.Bridges, o.Bridges)
	m.Ports = merge(m.Ports, o.Ports)
	m.Macvlans = merge(m.Macvlans, o.Macvlans)
	m.Lowers = merge(m.Lowers, o.Lowers)
	m.Sysctls = merge(m.Sysctls, o.Sysctls)
	m.Elements = merge(m.Elements, o.Elements)
	m.Services = merge(m.Services, o.Services)
	m.SwitchPorts = merge(m.SwitchPorts, o.SwitchPorts)
	m.Shapers, m.Shapes = merge(m.Shapers, o.Shapers), merge(m.Shapes, o.Shapes)
	return m
}

func merge[K comparable, V any](a, b map[K]V) map[K]V {
	if a == nil {
		return b
	}
	maps.Copy(a, b)
	return a
}

// WithoutShapes is all of it but what bounds traffic.
func (s State) WithoutShapes() State {
	s.Shapers, s.Shapes = nil, nil
	return s
}

// told are the macvtaps whose guests say what they are to take.
func (s State) told() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Macvlans)) {
		if s.Macvlans[name].Told {
			out = append(out, name)
		}
	}
	return out
}

// Scope returns what has to be observed to compare with the states given: what any of them names.
func (s State) Scope(others ...State) Scope {
	for _, o := range others {
		s = s.Merge(o)
	}
	bridges := map[string]bool{}
	for _, p := range s.SwitchPorts {
		bridges[p.Bridge] = true
	}
	return Scope{
		Routes:   s.hasRoutes(),
		Bridges:  slices.Sorted(maps.Keys(s.Bridges)),
		Ports:    slices.Sorted(maps.Keys(s.Ports)),
		Macvlans: slices.Sorted(maps.Keys(s.Macvlans)),
		Lowers:   slices.Sorted(maps.Keys(s.Lowers)),
		Told:     s.told(),
		Sysctls:  slices.Sorted(maps.Keys(s.Sysctls)),
		Elements: slices.SortedFunc(maps.Keys(s.Elements), compareElements),
		Networks: slices.Sorted(maps.Keys(s.Services)),

		Shapers: slices.Sorted(maps.Keys(s.Shapers)), Shapes: slices.Sorted(maps.Keys(s.Shapes)),

		SwitchPorts: slices.Sorted(maps.Keys(s.SwitchPorts)), SwitchBridges: slices.Sorted(maps.Keys(bridges)),
	}
}
