package vnetd

import (
	"fmt"
	"maps"
	"os"

	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
)

// holds lists the descriptors that a network has.
func (n *network) holds() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append(n.held.names(), n.log.names()...)
}

func (n *network) config() helper.Network {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cores.config
}

func (n *network) observed() helper.Observed {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.cores.config
	o := helper.Observed{UUID: c.UUID, Bridge: c.Bridge, Index: n.held.index(), Fingerprint: n.finger, Damaged: n.log.damaged}
	if n.link != nil {
		index, _, err := n.link.bound()
		if err != nil {
			index = -1
		}
		o.Index = index
	}
	return o
}

func (n *network) leases() []lease.Record {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.cores.running(n.all.clock.Now())
	out := make([]lease.Record, len(all))
	for i, l := range all {
		out[i] = n.all.clock.Record(l)
	}
	return out
}

func (n *network) statistics() helper.Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link != nil {
		n.stats.Dropped += n.link.dropped()
	}
	s := n.stats
	s.Refused = maps.Clone(s.Refused)
	s.Records = n.log.records
	s.Leases = len(n.cores.running(n.all.clock.Now()))
	if n.say.dns != nil {
		d := n.say.dns.Stats()
		s.DNS = &d
	}
	return s
}

func (n *network) compact(to *os.File) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	st, err := to.Stat()
	if err != nil {
		return err
	}
	if st.Size() != 0 {
		return fmt.Errorf("the new lease file has %d bytes already", st.Size())
	}
	return n.log.compact(to, n.cores.history())
}

func (n *network) commit() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = false
	return n.log.commit(n.cores.remembered())
}
