package portforward

import (
	"net/netip"

	"taproom/internal/network/firewall"
	"taproom/internal/network/helper"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// elements are those of the firewall by which a forward leads to an address of its guest. That at an address of the loopback
// needs none.
func (f Forward) elements(n *spec.Network, guest netip.Addr) []state.Element {
	if f.Address.IsLoopback() {
		return nil
	}
	var out []state.Element
	for i := range f.End - f.Port + 1 {
		from, to := netip.AddrPortFrom(f.Address, f.Port+i), netip.AddrPortFrom(guest, f.ToPort+i)
		out = append(out, firewall.ForwardPort(f.Protocol, from, n.BridgeName(), to)...)
	}
	for _, ip := range n.IPs {
		if p, err := ip.Subnet(); err == nil && p.Addr().Is4() == guest.Is4() {
			out = append(out, firewall.Hairpin(n.BridgeName(), p))
		}
	}
	return out
}

// loopback is what the host's loopback needs for that: a forward of all addresses is one of the loopback's too.
func (f Forward) loopback(guest netip.Addr) []helper.Forward {
	at := f.Address
	switch {
	case at.IsValid() && !at.IsLoopback():
		return nil
	case at.IsValid():
	case guest.Is4():
		at = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	default:
		at = netip.IPv6Loopback()
	}
	var out []helper.Forward
	for i := range f.End - f.Port + 1 {
		out = append(out, helper.Forward{Protocol: f.Protocol, Listen: netip.AddrPortFrom(at, f.Port+i), To: netip.AddrPortFrom(guest, f.ToPort+i)})
	}
	return out
}
