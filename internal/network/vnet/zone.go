package vnet

import (
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// checkZone refuses a zone for a bridge that is somebody else's, and the zone that goes with rules where there are none.
func checkZone(n *spec.Network) error {
	if n.Bridge == nil || n.Bridge.Zone == "" || n.Forward == nil {
		return nil
	}
	switch n.Forward.Mode {
	case "", modeNAT, modeRoute:
	case modeOpen:
		if n.Bridge.Zone != firewalld.Zone {
			return nil
		}
		return unsupported("bridge/@zone", "%s lets through what rules of taproom's decide about, and a network of mode open has none; name another one", firewalld.Zone)
	default:
		return unsupported("bridge/@zone", "bridge %s is not ours: put it into its zone yourself (firewall-cmd --permanent --zone=%s --add-interface=%s)", n.Bridge.Name, n.Bridge.Zone, n.Bridge.Name)
	}
	return nil
}

// zone is the element of a document that asks for a zone of firewalld. Without one, a bridge with rules is in firewalld.Zone.
func zone(n *spec.Network) (state.Element, bool) {
	if n.Bridge.Zone == "" || n.Bridge.Zone == firewalld.Zone {
		return state.Element{}, false
	}
	return firewalld.Asked(n.Bridge.Name, n.Bridge.Zone), true
}
