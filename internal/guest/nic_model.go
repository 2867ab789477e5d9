package guest

import (
	"slices"
	"strings"

	"taproom/internal/spec"
)

// nic is the QEMU device behind an interface model.
type nic struct {
	driver string // virtio's without the part that names the bus
	plug   plug   // 0: not on PCI
	usb    bool
}

// nicModels are the models that libvirt knows for PCs, and what QEMU has besides: libvirt hands those on by name.
func nicModels() map[string]nic {
	m := map[string]nic{
		"virtio":                  {driver: "virtio-net", plug: plugPCIe | hot},
		"virtio-transitional":     {driver: "virtio-net", plug: virtioPlug("virtio-transitional")},
		"virtio-non-transitional": {driver: "virtio-net", plug: virtioPlug("virtio-non-transitional")},
		"e1000e":                  {driver: "e1000e", plug: plugPCIe | hot},
		"igb":                     {driver: "igb", plug: plugPCIe | hot},
		"usb-net":                 {driver: "usb-net", usb: true},
	}
	for _, name := range []string{
		"e1000", "e1000-82544gc", "e1000-82545em", "i82550", "i82551", "i82557a", "i82557b", "i82557c", "i82558a", "i82558b",
		"i82559a", "i82559b", "i82559c", "i82559er", "i82562", "i82801", "ne2k_pci", "pcnet", "rtl8139", "tulip", "vmxnet3",
	} {
		m[name] = nic{driver: name, plug: plugPCI | hot}
	}
	return m
}

// nicDriver is the device of a model.
func nicDriver(model string) (nic, bool) {
	d, known := nicModels()[model]
	return d, known
}

// nicModelNames are the models for a machine and an emulator, for messages: the usual ones first.
func (c *completer) nicModelNames() string {
	if !c.fam.pci() {
		return "virtio"
	}
	usual := []string{"virtio", "e1000", "e1000e", "rtl8139"}
	var rest []string
	for name, d := range nicModels() {
		if !slices.Contains(usual, name) && c.hasNIC(d) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	last := len(rest) - 1
	return strings.Join(append(usual, rest[:last]...), ", ") + " or " + rest[last]
}

// hasNIC reports whether the emulator has it. Virtio's own is always there.
func (c *completer) hasNIC(d nic) bool { return d.driver == "virtio-net" || c.host.hasDevice(d.driver) }

// nicModel settles a NIC's model.
func (c *completer) nicModel(n *spec.Interface, i int) error {
	if n.Model == nil {
		n.Model = &spec.InterfaceModel{}
	}
	n.Model.Type = def(n.Model.Type, map[bool]string{true: "rtl8139", false: "virtio"}[c.fam.pci()])
	d, known := nicDriver(n.Model.Type)
	switch {
	case !known:
		return unsupported("interface/model", "%s: type=%q is not implemented; use %s", nicName(n, i), n.Model.Type, c.nicModelNames())
	case !c.fam.pci() && n.Model.Type != "virtio":
		return unsupported("interface/model", "%s: machine %s has no PCI bus; use virtio", nicName(n, i), c.d.OS.Type.Machine)
	case !c.hasNIC(d):
		return unsupported("interface/model", "%s: %s has no %s; use %s", nicName(n, i), c.dev.Emulator, n.Model.Type, c.nicModelNames())
	}
	return nil
}
