package guest

import (
	"slices"
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// option is something that <driver> says of virtio devices, whatever they are for.
type option struct {
	attr, property string
	pci            bool     // a matter of the PCI transport
	kinds          []string // nil: all
}

func virtioOptions() []option {
	return []option{
		{"iommu", "iommu_platform", false, nil},
		{"ats", "ats", true, nil},
		{"packed", "packed", false, nil},
		{"page_per_vq", "page-per-vq", true, nil},
		{"ioeventfd", "ioeventfd", true, []string{"disk", "controller", "interface"}},
		{"event_idx", "event_idx", false, []string{"disk", "interface"}},
	}
}

// isVirtio reports whether a device of a completed document is one of virtio's.
func isVirtio(v spec.AnyDevice) bool {
	switch d := v.Value.(type) {
	case *spec.Disk:
		return d.Target.Bus == "virtio"
	case *spec.Controller:
		return d.Type == "virtio-serial" || d.Type == "scsi" && virtioSCSI(d.Model)
	case *spec.Interface:
		return d.Virtio()
	case *spec.Input:
		return d.Bus == "virtio"
	case *spec.Video:
		return d.Model.Type == "virtio"
	case *spec.MemBalloon:
		return d.Model != "none"
	}
	return slices.Contains([]string{"filesystem", "rng", "vsock"}, v.Kind)
}

// deviceOptions refuses what a device of its kind, or in its place, does not have. For NICs that are no virtio it is without
// effect, as it is with libvirt.
func (c *completer) deviceOptions() error {
	for _, v := range c.dev.List() {
		for _, o := range virtioOptions() {
			said, ok := v.Attr("driver", o.attr)
			switch {
			case !ok || v.Kind == "interface" && !isVirtio(v):
			case said != "on" && said != "off":
				return invalid(v.Kind+"/driver", "%s=%q is not known; use on or off", o.attr, said)
			case !isVirtio(v) || o.kinds != nil && !slices.Contains(o.kinds, v.Kind):
				return unsupported(v.Kind+"/driver", "%s=%q: this %s is no virtio device that has it; leave it out", o.attr, said, v.Kind)
			case o.pci && !c.fam.pci():
				return unsupported(v.Kind+"/driver", "%s=%q: machine %s has no PCI bus; leave it out", o.attr, said, c.d.OS.Type.Machine)
			}
		}
		if index, ok := v.Attr("acpi", "index"); ok && (v.Address() == nil || v.Address().Type != "pci") {
			return unsupported(v.Kind+"/acpi", "index=%q: this %s is not on PCI; leave it out", index, v.Kind)
		}
		if n, ok := v.Value.(*spec.Interface); ok && n.ROM != nil && (n.Address == nil || n.Address.Type != "pci") {
			return unsupported("interface/rom", "%s is not on PCI and has no option ROM; leave it out", n.MAC.Address)
		}
	}
	return nil
}

// options adds to QEMU's devices what a document can say of each, whatever it is.
func (c *compiler) options() error {
	at := map[string]int{}
	for i, p := range c.cfg.Devices {
		if id, ok := p.Get("id").(string); ok {
			at[id] = i
		}
	}
	for _, v := range c.dev.List() {
		var more qemu.Props
		if isVirtio(v) {
			for _, o := range virtioOptions() {
				if said, ok := v.Attr("driver", o.attr); ok {
					more = more.With(o.property, said == "on")
				}
			}
		}
		if s, ok := v.Attr("acpi", "index"); ok {
			n, _ := strconv.Atoi(s) // a rule has judged it
			more = more.With("acpi-index", n)
		}
		if n, ok := v.Value.(*spec.Interface); ok {
			more = c.rom(more, n)
		}
		i, found := at[v.Alias()]
		switch {
		case len(more) == 0:
		case !found:
			return unsupported(v.Kind, "%s is a part of the machine and has no options", v.Alias())
		default:
			c.cfg.Devices[i] = append(c.cfg.Devices[i], more...)
		}
	}
	return nil
}

// rom is a NIC's option ROM: in the place of its own, hidden, or none.
func (c *compiler) rom(p qemu.Props, n *spec.Interface) qemu.Props {
	switch {
	case n.ROM == nil:
		return p
	case n.ROM.Enabled == "no":
		return p.With("romfile", "")
	}
	if n.ROM.Bar != "" {
		p = p.With("rombar", map[string]int{"on": 1}[n.ROM.Bar])
	}
	if n.ROM.File != "" { // QEMU reads it by name when it makes the device
		c.cfg.ReadOnly = append(c.cfg.ReadOnly, n.ROM.File)
		c.need(Need{Path: n.ROM.File, Access: Check, Device: "option ROM of " + n.Alias.Name, File: true})
		p = p.With("romfile", n.ROM.File)
	}
	return p
}
