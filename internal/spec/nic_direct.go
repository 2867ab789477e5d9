package spec

import "strings"

// checkDirect checks what only macvtaps have.
func (n *Interface) checkDirect() error {
	const at = "devices/interface/source/"
	src := n.Source
	if src == nil {
		src = &InterfaceSource{}
	}
	switch {
	case n.Type != "direct" && src.Mode != "":
		return unsupported(at+"@mode", "it is for type='direct'")
	case n.Type != "direct":
		return nil
	case src.Dev == "":
		return invalid(at+"@dev", "it is missing: the link of the host that the macvtap lies on")
	case !linkName(src.Dev):
		return invalid(at+"@dev", "%q is no name of a link (1 to 15 characters, no '/', no white space)", src.Dev)
	}
	return nil
}

// checkMACs refuses two NICs with one address: whatever is in between sends both their frames to one of them. Each
// user network is alone with its NIC, and a failover pair has to have one address.
func (d *Devices) checkMACs() error {
	seen := map[string]bool{}
	for i := range d.Interfaces {
		n := &d.Interfaces[i]
		if n.MAC == nil || n.Teaming != nil || n.Type == "user" {
			continue
		}
		mac := strings.ToLower(strings.TrimSpace(n.MAC.Address))
		if seen[mac] {
			return invalid("devices/interface/mac/@address", "two NICs have the address %s; change one, or leave it out to be given one", mac)
		}
		seen[mac] = true
	}
	return nil
}
