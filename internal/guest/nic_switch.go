package guest

import "taproom/internal/spec"

// virtualPort gives a port of Open vSwitch the name that those who control the switch know it by, where the document has
// none, and writes what it has as libvirt does.
func (c *completer) virtualPort(n *spec.Interface) {
	if n.OnSwitch() {
		n.NameOnSwitch(c.host.newUUID)
	}
	n.VLAN.Complete()
}
