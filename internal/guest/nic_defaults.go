package guest

import (
	"fmt"
	"strings"

	"taproom/internal/spec"
)

// nicName names a NIC in messages.
func nicName(n *spec.Interface, i int) string {
	if n.MAC != nil && n.MAC.Address != "" {
		return "interface " + n.MAC.Address
	}
	return fmt.Sprintf("interface %d", i)
}

func (c *completer) interfaces() error {
	for i := range c.dev.Interfaces {
		n := &c.dev.Interfaces[i]
		if n.MAC == nil {
			n.MAC = &spec.MAC{}
		}
		n.MAC.Address = strings.ToLower(strings.TrimSpace(def(n.MAC.Address, c.host.newMAC())))
		if n.Type == "direct" && n.Source != nil {
			n.Source.Mode = def(n.Source.Mode, "vepa")
		}
		if err := c.nicModel(n, i); err != nil {
			return err
		}
		c.virtualPort(n)
		if n.Target != nil && n.Target.Managed != "no" && n.Target.Dev != "" && automaticNIC(n.Target.Dev) {
			n.Target = nil // came back with a live document; the next start picks its own
		}
	}
	return nil
}

// automaticNIC reports whether a host-side name is of a pattern that names are handed out from.
func automaticNIC(dev string) bool {
	for _, prefix := range []string{"vnet", "macvtap", "macvlan"} {
		if rest, ok := strings.CutPrefix(dev, prefix); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return false
}
