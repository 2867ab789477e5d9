package engine

import (
	"errors"
	"net/netip"
	"slices"

	"taproom/internal/engine/nwfilters"
	"taproom/internal/host"
	"taproom/internal/network/vnet"
	"taproom/internal/spec"
)

// aroundFiltered is where a filtered link lies: no guest learns an address that its network or the bridge has, nor claims one
// that is in none of its network's subnets. A link that a client bound is looked for on the host.
func (e *Engine) aroundFiltered(b nwfilters.Binding) (nwfilters.Around, error) {
	at := nwfilters.Around{Bridge: b.Bridge}
	if at.Bridge == "" {
		link, err := e.k.LinkByName(b.Port)
		if err == nil && link.Master != 0 {
			link, err = e.k.LinkByIndex(link.Master)
			at.Bridge = link.Name
		}
		if err != nil && !errors.Is(err, host.ErrNoLink) {
			return at, err
		}
	}
	if at.Bridge == "" {
		return at, nil
	}
	for _, n := range e.networks.all() {
		if live := n.view().live; live != nil && live.BridgeName() == at.Bridge {
			at.Reserved, at.Within = keptOf(live)
		}
	}
	bridge, err := e.k.LinkByName(at.Bridge)
	if errors.Is(err, host.ErrNoLink) { // it is made again with its network's addresses
		return at, nil
	}
	if err != nil {
		return at, err
	}
	has, err := e.k.Addresses(bridge.Index)
	for _, p := range has {
		if !slices.Contains(at.Reserved, p.Addr()) {
			at.Reserved = append(at.Reserved, p.Addr())
		}
	}
	if errors.Is(err, host.ErrNoLink) {
		err = nil
	}
	return at, err
}

// keptOf are the addresses that a network keeps for itself, and the prefixes of which its guests may claim others. A family
// that the network has no subnet of is not bounded.
func keptOf(doc *spec.Network) (reserved []netip.Addr, within []netip.Prefix) {
	within = slices.Clone(vnet.Subnets(doc))
	if len(within) == 0 {
		return vnet.Addresses(doc), nil
	}
	for _, all := range []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)} {
		if !slices.ContainsFunc(within, func(p netip.Prefix) bool { return p.Addr().Is4() == all.Addr().Is4() }) {
			within = append(within, all)
		}
	}
	return vnet.Addresses(doc), within
}
