package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"taproom/internal/host"
	"taproom/internal/network/state"
	"taproom/internal/network/vnet"
	"taproom/internal/spec"
)

// subnets are those of networks that are just being started or changed; what a network has is kept with it.
type subnets struct {
	mu    sync.Mutex
	asked map[*network]subnetsOf
}

// subnetsOf are the subnets of a document, and the addresses that a network has of it.
type subnetsOf struct {
	doc *spec.Network
	of  []netip.Prefix
	at  []netip.Addr
}

func readSubnets(doc *spec.Network) subnetsOf {
	return subnetsOf{doc: doc, of: vnet.Subnets(doc), at: vnet.Addresses(doc)}
}

// subnets are those that a network has; none when it is not active. Each document is read once.
func (n *network) subnets() subnetsOf {
	live := n.view().live
	if live == nil {
		return subnetsOf{}
	}
	if s := n.within.Load(); s != nil && s.doc == live {
		return *s
	}
	s := readSubnets(live)
	n.within.Store(&s)
	return s
}

// claimSubnets refuses a network whose subnets overlap with those of another active one, or lead elsewhere on the host
// already. Nobody else gets them until release is called.
func (e *Engine) claimSubnets(n *network, doc *spec.Network) (release func(), err error) {
	release, err = e.claimBefore(n, readSubnets(doc))
	if err != nil {
		return nil, err
	}
	if err := e.subnetIsFree(n, doc); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// claimBefore claims subnets before another network of ours does.
func (e *Engine) claimBefore(n *network, mine subnetsOf) (release func(), err error) {
	s := &e.subnets
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range e.networks.all() {
		if o == n {
			continue
		}
		for _, theirs := range [][]netip.Prefix{o.subnets().of, s.asked[o].of} {
			if m, t, both := overlap(mine.of, theirs); both {
				return nil, fmt.Errorf("its subnet %s overlaps with %s of network '%s', which is active; choose another one, or stop that network (virsh net-destroy %s)", m, t, o.label, o.label)
			}
		}
	}
	if s.asked == nil {
		s.asked = map[*network]subnetsOf{}
	}
	s.asked[n] = mine
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asked, n)
	}, nil
}

// overlap finds a subnet of some that has addresses of one of others.
func overlap(some, others []netip.Prefix) (one, other netip.Prefix, found bool) {
	for _, o := range others {
		for _, s := range some {
			if s.Overlaps(o) {
				return s, o, true
			}
		}
	}
	return one, other, false
}

// subnetIsFree refuses a network whose addresses are the host's, or are reachable some other way already.
func (e *Engine) subnetIsFree(n *network, doc *spec.Network) error {
	var own []int
	names := []string{doc.BridgeName()}
	if live := n.view().live; live != nil {
		names = append(names, live.BridgeName())
	}
	for _, name := range names {
		if l, err := e.k.LinkByName(name); err == nil && l.Alias == state.Alias(n.uuid.String()) { // an attempt that ended half-way leaves one too
			own = append(own, l.Index)
		}
	}
	if len(own) == 0 && e.nothingLeadsThere(doc) {
		return nil
	}
	routes, err := e.k.Routes()
	if err != nil && !errors.Is(err, host.ErrPartial) {
		return err
	}
	err = vnet.Collision(doc, routes, own...)
	var taken *vnet.CollisionError
	if errors.As(err, &taken) {
		if l, lerr := e.k.LinkByIndex(taken.Link); lerr == nil {
			taken.Name = l.Name
		}
	}
	if err != nil || len(own) > 0 {
		return err
	}
	for _, a := range vnet.Addresses(doc) {
		if hop, err := e.k.RouteOf(netip.Addr{}, a, 0); err == nil && hop.Local {
			return fmt.Errorf("the host has the address %s already (`ip address show to %s`); choose another one", a, a)
		}
	}
	return nil
}

// nothingLeadsThere reports whether it is certain, without a look at every route of the host, that none is in the way of a
// network: each of its addresses has no route, or one that is wider than the subnet. One for exactly the subnet, or for the
// address itself, would be taken instead.
func (e *Engine) nothingLeadsThere(doc *spec.Network) bool {
	if len(doc.Routes) > 0 { // several may lead to one subnet
		return false
	}
	for i := range doc.IPs {
		p, err := doc.IPs[i].Subnet()
		if err != nil {
			return false
		}
		m, found, err := e.k.MatchRoute(p.Addr())
		if err != nil || found && (!m.Main || m.To.Bits() >= p.Bits()) {
			return false
		}
	}
	return true
}
