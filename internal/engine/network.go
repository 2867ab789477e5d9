package engine

import (
	"sync"
	"sync/atomic"

	"taproom/internal/api/server"
	"taproom/internal/engine/job"
	"taproom/internal/network/state"
	"taproom/internal/network/vnet"
	"taproom/internal/spec"
)

// network is one virtual network, active or not. As with domains, readers take its view and writers hold the slot.
type network struct {
	uuid  spec.UUID
	label string
	slot  job.Slot
	mu    sync.Mutex
	seen  atomic.Pointer[netView]
	// means is what the document says that was compiled last: a start, and all that looks after a network, ask several times.
	means atomic.Pointer[meaning]
	// within is what the document that is active says of addresses: each network that comes asks all others.
	within atomic.Pointer[subnetsOf]
}

// meaning is what a document of a network says. Neither is changed any more.
type meaning struct {
	doc   *spec.Network
	state state.State
}

// netView is what is true of a network at one moment.
type netView struct {
	ref  server.Network
	def  *defined      // nil for a transient network
	live *spec.Network // nil when inactive
	// trace is of its start; nil when an earlier daemon started it.
	trace *job.Trace
}

// exists reports whether there is anything to show.
func (v *netView) exists() bool { return v.def != nil || v.live != nil }

// is reports whether a network is as a document says: its definition, and what is active. The two differ after a change of
// one alone, and when a daemon died between them.
func (v *netView) is(doc *spec.Network) bool {
	text := string(doc.Format())
	return v.def != nil && string(v.def.xml) == text && (v.live == nil || string(v.live.Format()) == text)
}

func (n *network) id() spec.UUID  { return n.uuid }
func (n *network) name() string   { return n.label }
func (n *network) view() *netView { return n.seen.Load() }

func (n *network) update(change func(v *netView)) *netView {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := *n.seen.Load()
	change(&v)
	n.seen.Store(&v)
	return &v
}

// newNetwork returns an inactive network.
func newNetwork(uuid spec.UUID, name string, def *defined) *network {
	n := &network{uuid: uuid, label: name}
	v := &netView{ref: server.Network{Name: name, UUID: uuid, Persistent: def != nil}, def: def}
	if def != nil {
		v.ref.Autostart, v.ref.Bridge = def.head.Autostart, def.head.Bridge
	}
	n.seen.Store(v)
	return n
}

// compiled is vnet.Compile, which is made once for a document of a network that is known.
func (e *Engine) compiled(doc *spec.Network) (state.State, error) {
	var n *network
	if doc.UUID != nil {
		n, _ = e.networks.uuid(*doc.UUID)
	}
	if n != nil {
		if m := n.means.Load(); m != nil && m.doc == doc {
			return m.state.Clone(), nil
		}
	}
	s, err := vnet.Compile(doc)
	if err == nil && n != nil {
		n.means.Store(&meaning{doc, s.Clone()})
	}
	return s, err
}
