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

// subnets are those of networks that are active, and of those that are just being started or changed.
type subnets struct {
	mu    sync.Mutex
	known map[*network]subnetsOf // as they were last read of a document
	asked map[*network]subnetsOf
}

// subnetsOf are the subnets of a document.
type subnetsOf struct {
	doc *spec.Network
	of  []netip.Prefix
}

// claimSubnets refuses a network whose subnets overlap with those of another active one, or lead elsewhere on the host
// already. Nobody else gets them until release is called.
func (e *Engine) claimSubnets(n *network, doc *spec.Network) (release func(), err error) {
	release, err = e.claimBefore(n, subnetsOf{doc, vnet.Subnets(doc)})
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
		for _, theirs := range s.have(o) {
			for _, m := range mine.of {
				if m.Overlaps(theirs) {
					return nil, fmt.Errorf("its subnet %s overlaps with %s of network '%s', which is active; choose another one, or stop that network (virsh net-destroy %s)", m, theirs, o.label, o.label)
				}
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

// forget is for a network that has gone.
func (s *subnets) forget(n *network) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, n)
}

// have are the subnets that a network has, or will have. The caller holds the lock.
func (s *subnets) have(n *network) []netip.Prefix {
	asked := s.asked[n].of
	live := n.view().live
	if live == nil {
		delete(s.known, n)
		return asked
	}
	k, ok := s.known[n]
	if !ok || k.doc != live {
		if s.known == nil {
			s.known = map[*network]subnetsOf{}
		}
		k = subnetsOf{live, vnet.Subnets(live)}
		s.known[n] = k
	}
	return append(asked[:len(asked):len(asked)], k.of...)
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
