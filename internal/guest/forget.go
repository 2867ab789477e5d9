package guest

import (
	"slices"

	"taproom/internal/spec"
)

// Forget drops from a document what belongs to a run and not to what the document says of its devices.
func Forget(d *spec.Domain) error {
	c := completer{d: d, dev: d.Devices}
	return c.forget()
}

// forget drops what belongs to a run and not to a definition. Users edit the document of a running guest and define
// the result.
func (c *completer) forget() error {
	c.d.ID = ""
	for i := range c.dev.Disks {
		k := &c.dev.Disks[i]
		if k.Source != nil {
			k.Source.Index = ""
		}
		for b := k.BackingStore; b != nil; b = b.BackingStore {
			b.Index = ""
		}
	}
	for i := range c.dev.Interfaces {
		if n := &c.dev.Interfaces[i]; n.Type == "network" && n.Source != nil {
			n.Source.PortID, n.Source.Bridge = "", ""
		}
	}
	if v := c.dev.Vsock; v != nil && v.CID != nil && v.CID.Auto == "yes" {
		v.CID.Address = ""
	}
	for _, v := range slices.Concat(pointers(c.dev.Serials), pointers(c.dev.Parallels), pointers(c.dev.Consoles), pointers(c.dev.Channels)) {
		v.TTY = ""
		if v.Type == "pty" {
			v.Source = nil // the kernel numbers terminals
		}
		if v.Target != nil {
			v.Target.State = ""
		}
	}
	c.d.SecLabels = slices.DeleteFunc(c.d.SecLabels, func(l spec.SecLabel) bool {
		return l.Type == "dynamic" && len(l.Elements) > 0
	})
	return nil
}
