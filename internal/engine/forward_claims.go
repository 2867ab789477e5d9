package engine

import (
	"fmt"
	"sync"

	"taproom/internal/network/portforward"
	"taproom/internal/spec"
)

// portClaims are the documents of networks that are just being started or changed: the ports of the host that these name are
// nobody else's meanwhile.
type portClaims struct {
	mu    sync.Mutex
	asked map[*network]*spec.Network
}

// claimOfHost claims what a network needs of the host that only one can have: its subnets, and its ports of the host. Nobody else gets
// them until release is called.
func (e *Engine) claimOfHost(n *network, doc *spec.Network) (release func(), err error) {
	subnets, err := e.claimSubnets(n, doc)
	if err != nil {
		return nil, err
	}
	ports, err := e.claimPorts(n, doc)
	if err != nil {
		subnets()
		return nil, err
	}
	return func() { ports(); subnets() }, nil
}

// claimPorts refuses a network that wants ports of the host which another one has, or is just getting, or more than there can be
// in all.
func (e *Engine) claimPorts(n *network, doc *spec.Network) (release func(), err error) {
	want, err := portforward.Ports(doc)
	if err != nil {
		return nil, err
	}
	if want == 0 {
		return func() {}, nil
	}
	c := &e.hostPorts
	c.mu.Lock()
	defer c.mu.Unlock()
	have := 0
	for _, o := range e.networks.all() {
		if o == n {
			continue
		}
		most := 0 // of what it has and what it will have
		for _, theirs := range []*spec.Network{c.asked[o], o.view().live} {
			if theirs == nil {
				continue
			}
			if err := portforward.Clash(doc, theirs); err != nil {
				return nil, err
			}
			if ports, err := portforward.Ports(theirs); err == nil { // else that network's own matter
				most = max(most, ports)
			}
		}
		have += most
	}
	if want+have > portforward.MaxPorts {
		return nil, fmt.Errorf("it forwards %d ports of the host, and other networks that are active %d; all together may forward %d: forward fewer, or stop a network that forwards many", want, have, portforward.MaxPorts)
	}
	if c.asked == nil {
		c.asked = map[*network]*spec.Network{}
	}
	c.asked[n] = doc
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, n)
	}, nil
}
