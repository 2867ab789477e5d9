package engine

import "taproom/internal/network/state"

// managed reports whether a network's bridge learns nothing of its guests, and is told what is behind each port: as long as the
// network is active and its document says so (macTableManager='libvirt').
func (e *Engine) managed(network string) bool {
	n, ok := e.networks.named(network)
	if !ok {
		return false
	}
	live := n.view().live
	return live != nil && live.Bridge != nil && live.Bridge.MACTableManager == "libvirt"
}

// manage says what a port's bridge is told of it.
func (p *port) manage(s *state.Port, managed bool) {
	s.Managed, s.Table = managed && p.Switch == nil, ""
	if s.Managed {
		s.Table = p.Guest // before it says anything else
	}
}
