package engine

import (
	"fmt"
	"sync"

	"taproom/internal/api/server"
	"taproom/internal/engine/store"
	"taproom/internal/spec"
)

// madePort is what is written down of a port that a client made.
type madePort struct {
	Network spec.UUID `json:"network"`
}

// madePorts are ports of active networks that clients made, for NICs of their own. They end with the network's activity.
type madePorts struct {
	*store.Store[madePort]
	mu  sync.Mutex
	all map[spec.UUID]map[spec.UUID]*spec.NetworkPort // by network and port; documents do not change
}

// openMadePorts reads what an earlier daemon wrote down.
func (e *Engine) openMadePorts() (err error) {
	m := &e.madePorts
	if m.Store, err = store.Open[madePort](e.k, e.paths.NetworkPorts(), false); err != nil {
		return err
	}
	items, damaged, err := m.Load()
	if err != nil {
		return err
	}
	e.problem.damaged(e.log, damaged, "")
	for _, i := range items {
		doc, err := spec.ParseNetworkPort(i.Doc)
		if err != nil || doc.UUID == nil {
			e.problem.add(e.log, fmt.Sprintf("port %s of a network cannot be read: %v", i.Key, err))
			continue
		}
		m.keep(i.Head.Network, doc)
	}
	return nil
}

func (m *madePorts) keep(network spec.UUID, doc *spec.NetworkPort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[spec.UUID]map[spec.UUID]*spec.NetworkPort{}
	}
	if m.all[network] == nil {
		m.all[network] = map[spec.UUID]*spec.NetworkPort{}
	}
	m.all[network][*doc.UUID] = doc
}

// put writes a port down.
func (m *madePorts) put(network spec.UUID, doc *spec.NetworkPort) error {
	err := m.Put(store.Item[madePort]{Key: doc.UUID.String(), Head: madePort{Network: network}, Doc: doc.Format()})
	if err == nil {
		m.keep(network, doc)
	}
	return err
}

// remove forgets a port of a network.
func (m *madePorts) remove(network, id spec.UUID) error {
	if _, ok := m.get(network, id); !ok {
		return server.NoNetworkPort(id)
	}
	if err := m.Delete(id.String()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all[network], id)
	return nil
}

// clear forgets all ports of a network.
func (m *madePorts) clear(network spec.UUID) error {
	for _, id := range m.of(network) {
		if err := m.remove(network, id); err != nil {
			return err
		}
	}
	return nil
}

func (m *madePorts) get(network, id spec.UUID) (*spec.NetworkPort, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	doc, ok := m.all[network][id]
	return doc, ok
}

// has reports whether any network has such a port.
func (m *madePorts) has(id spec.UUID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ports := range m.all {
		if ports[id] != nil {
			return true
		}
	}
	return false
}

// of lists a network's.
func (m *madePorts) of(network spec.UUID) []spec.UUID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []spec.UUID
	for id := range m.all[network] {
		out = append(out, id)
	}
	return out
}

// sweepPorts forgets the ports of networks that are not active: a daemon that was killed while it stopped one left them.
func (e *Engine) sweepPorts() error {
	e.madePorts.mu.Lock()
	var gone []spec.UUID
	for network := range e.madePorts.all {
		if n, ok := e.networks.uuid(network); !ok || n.view().live == nil {
			gone = append(gone, network)
		}
	}
	e.madePorts.mu.Unlock()
	for _, network := range gone {
		if err := e.madePorts.clear(network); err != nil {
			return err
		}
	}
	return nil
}
