// Package portforward compiles the ports of the host that a network's document has lead to its guests: to elements of the
// firewall, and to what the process serves that carries connections of the host's loopback. It is pure: who asks brings what is
// known of the guests.
package portforward

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"taproom/internal/network/helper"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// Guest is what is known of a guest that is named: an address of each family, or why there is none.
type Guest struct {
	Four, Six netip.Addr
	Why       string
}

// Forward is one, and where it leads now.
type Forward struct {
	spec.ForwardedPorts
	Live []netip.Addr // addresses of the guest, one of each family at most
	Why  string       // of one that leads nowhere
}

// prefix marks the services of the process for the loopback among a state's.
const prefix = "forward "

// ServiceKey is the key in a state of what the process for the loopback serves of a network.
func ServiceKey(uuid string) string { return prefix + uuid }

// OfLoopback returns the network's UUID of such a key.
func OfLoopback(key string) (uuid string, ok bool) {
	if len(key) > len(prefix) && key[:len(prefix)] == prefix {
		return key[len(prefix):], true
	}
	return "", false
}

// Named lists the guests that a network's forwards name.
func Named(n *spec.Network) []string {
	all, err := n.PortForwards()
	if err != nil { // the document was checked
		return nil
	}
	var names []string
	for _, f := range all {
		if f.Guest != "" && !slices.Contains(names, f.Guest) {
			names = append(names, f.Guest)
		}
	}
	return names
}

// Static is what the network's own document says of a guest: a <host name=> of its <dhcp>.
func Static(n *spec.Network, name string) (g Guest, ok bool) {
	return StaticOf(n, func(h spec.DHCPHost) bool { return h.Name == name })
}

// StaticOf is Static for the entries that match.
func StaticOf(n *spec.Network, match func(spec.DHCPHost) bool) (g Guest, ok bool) {
	for _, ip := range n.IPs {
		if ip.DHCP == nil {
			continue
		}
		for _, h := range ip.DHCP.Hosts {
			if a, err := netip.ParseAddr(h.IP); err == nil && match(h) {
				ok = true
				g.add(a)
			}
		}
	}
	return g, ok
}

// add takes an address, if there is none of its family yet.
func (g *Guest) add(a netip.Addr) {
	switch {
	case a.Is4() && !g.Four.IsValid():
		g.Four = a
	case a.Is6() && !g.Six.IsValid():
		g.Six = a
	}
}

// Add takes the addresses of another source, those of families that there are none of yet.
func (g *Guest) Add(all ...netip.Addr) {
	for _, a := range all {
		if a.IsValid() {
			g.add(a)
		}
	}
}

// Look says where a network's forwards lead.
func Look(n *spec.Network, known map[string]Guest) ([]Forward, error) {
	all, err := n.PortForwards()
	if err != nil {
		return nil, err
	}
	var out []Forward
	for _, p := range all {
		f := Forward{ForwardedPorts: p}
		g := Guest{Why: "nothing is known of a guest of that name"}
		switch k, ok := known[p.Guest]; {
		case p.Target.IsValid():
			g = Guest{}
			g.add(p.Target)
		case ok:
			g = k
		}
		for _, a := range []netip.Addr{g.Four, g.Six} {
			if a.IsValid() && fits(n, p, a) {
				f.Live = append(f.Live, a)
			}
		}
		if len(f.Live) == 0 {
			if f.Why = g.Why; f.Why == "" {
				f.Why = "the guest has no address of that family in the network's <ip>"
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// fits reports whether an address is one of the network's, and of the family that the host's is of.
func fits(n *spec.Network, p spec.ForwardedPorts, a netip.Addr) bool {
	if p.Address.IsValid() && p.Address.Is4() != a.Is4() {
		return false
	}
	return slices.ContainsFunc(n.IPs, func(ip spec.IP) bool {
		s, err := ip.Subnet()
		return err == nil && s.Contains(a) && s.Addr() != a
	})
}

// Compile returns what should exist for a network's forwards, without ports of the loopback that somebody else has. Errors are
// *spec.InvalidError.
func Compile(n *spec.Network, known map[string]Guest, without ...helper.Forward) (state.State, error) {
	all, err := Look(n, known)
	if err != nil || len(all) == 0 {
		return state.State{}, err
	}
	if n.UUID == nil {
		return state.State{}, &spec.InvalidError{Element: "uuid", Reason: "the network has none yet"}
	}
	s := state.State{Elements: map[state.Element]bool{}}
	loopback := helper.Network{UUID: *n.UUID, Bridge: n.BridgeName()}
	for _, f := range all {
		for _, guest := range f.Live {
			for _, e := range f.elements(n, guest) {
				s.Elements[e] = true
			}
			loopback.Forwards = append(loopback.Forwards, f.loopback(guest)...)
		}
	}
	loopback.Forwards = slices.DeleteFunc(loopback.Forwards, func(f helper.Forward) bool {
		return slices.ContainsFunc(without, func(w helper.Forward) bool { return w.Protocol == f.Protocol && w.Listen == f.Listen })
	})
	if len(loopback.Forwards) == 0 {
		return s, nil
	}
	if err := loopback.Validate(); err != nil {
		var bad *helper.InvalidError
		if errors.As(err, &bad) {
			return state.State{}, &spec.InvalidError{Element: bad.Field, Reason: bad.Reason}
		}
		return state.State{}, err
	}
	s.Services = map[string]state.Service{ServiceKey(n.UUID.String()): {
		Bridge: loopback.Bridge, Fingerprint: loopback.Fingerprint(), Config: string(loopback.JSON()),
	}}
	return s, nil
}

// ErrClash says that two networks want a port of the host.
var ErrClash = errors.New("port of the host is another network's")

// Clash refuses a network that wants a port which an other one has.
func Clash(n, other *spec.Network) error {
	ours, err := n.PortForwards()
	if err != nil || len(ours) == 0 {
		return err
	}
	theirs, err := other.PortForwards()
	if err != nil {
		return nil //nolint:nilerr // that network's own matter
	}
	for _, f := range ours {
		for _, g := range theirs {
			if spec.ForwardsClash(n, f, other, g) {
				return fmt.Errorf("%w: %s is to lead to %s, and network '%s' has %s lead to %s; forward another port, or at another address", ErrClash, f.At(), f.To(), other.Name, g.At(), g.To())
			}
		}
	}
	return nil
}
