package guest

import (
	"strings"

	"taproom/internal/spec"
)

// virtualPort gives a port of Open vSwitch the name that those who control the switch know it by, where the document has
// none, and writes what it has as libvirt does.
func (c *completer) virtualPort(n *spec.Interface) {
	if n.OnSwitch() {
		if n.VirtualPort.Parameters == nil {
			n.VirtualPort.Parameters = &spec.VirtualPortParameters{}
		}
		p := n.VirtualPort.Parameters
		if id, err := spec.ParseUUID(p.InterfaceID); err == nil {
			p.InterfaceID = id.String()
		}
		p.InterfaceID = def(p.InterfaceID, c.host.newUUID().String())
	}
	if v := n.VLAN; v != nil {
		v.Trunk = map[bool]string{true: "yes"}[v.Trunks()]
		for i := range v.Tags {
			v.Tags[i].ID = def(strings.TrimLeft(v.Tags[i].ID, "0"), "0")
		}
	}
}
