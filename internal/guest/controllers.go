package guest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// controllerName names a controller in messages.
func controllerName(k *spec.Controller) string { return "controller " + k.Type + " " + k.Index }

// index is a controller's number; Complete has checked that it is one.
func index(k *spec.Controller) int {
	n, _ := strconv.Atoi(k.Index)
	return n
}

// controllerOrder puts controllers into libvirt's order: by number within a type, where the first of the type stands.
func (c *completer) controllerOrder() error {
	var out []spec.Controller
	for _, k := range c.dev.Controllers {
		n := -1
		if k.Index != "" {
			most := 4095
			if k.Type == "pci" {
				most = 255 // the number of its bus
			}
			v, err := strconv.Atoi(strings.TrimSpace(k.Index))
			if err != nil || v < 0 || v > most {
				return invalid("controller", "index=%q of a %s controller is no number up to %d", k.Index, k.Type, most)
			}
			n = v
			k.Index = strconv.Itoa(n)
		}
		out = slices.Insert(out, controllerSlot(out, &k, n), k)
	}
	c.dev.Controllers = out
	for i := range out {
		if out[i].Index == "" {
			out[i].Index = strconv.Itoa(c.freeIndex(i))
		}
	}
	return c.checkControllers()
}

func controllerSlot(out []spec.Controller, k *spec.Controller, n int) int {
	at := -1
	for i := len(out) - 1; i >= 0; i-- {
		o := &out[i]
		if o.Type != k.Type {
			continue
		}
		if n < 0 {
			return i + 1
		}
		switch {
		case o.Index != "" && index(o) > n, o.Index == k.Index && o.Master != nil && k.Master == nil:
			at = i
		case at < 0:
			at = i + 1
		}
	}
	if at < 0 {
		return len(out)
	}
	return at
}

// freeIndex numbers controller i. Companions of a USB 2 controller share its number.
func (c *completer) freeIndex(i int) int {
	k := &c.dev.Controllers[i]
	if k.Type == "usb" && strings.HasPrefix(k.Model, "ich9-uhci") {
		for j := i - 1; j >= 0; j-- {
			if o := &c.dev.Controllers[j]; o.Type == "usb" && o.Model == "ich9-ehci1" {
				return index(o)
			}
		}
	}
	used := map[string]bool{}
	for j := range c.dev.Controllers {
		if o := &c.dev.Controllers[j]; o.Type == k.Type {
			used[o.Index] = true
		}
	}
	n := 0
	if k.Type == "pci" && k.Model != "pci-root" && k.Model != "pcie-root" {
		n = 1 // the root is bus 0, wherever it stands
	}
	for used[strconv.Itoa(n)] {
		n++
	}
	return n
}

// controller finds a controller by type and number.
func (c *completer) controller(kind string, n int) *spec.Controller {
	for i := range c.dev.Controllers {
		if k := &c.dev.Controllers[i]; k.Type == kind && k.Index == strconv.Itoa(n) {
			return k
		}
	}
	return nil
}

func (c *completer) checkControllers() error {
	seen := map[string]bool{}
	for i := range c.dev.Controllers {
		k := &c.dev.Controllers[i]
		key := k.Type + k.Index
		if k.Type == "usb" && strings.HasPrefix(k.Model, "ich9-") {
			key += k.Model
		}
		if seen[key] {
			return invalid("controller", "two %s controllers have index %s", k.Type, k.Index)
		}
		seen[key] = true
		if err := c.checkController(k); err != nil {
			return err
		}
	}
	return nil
}

// controllerModels lists what is implemented, the default first.
func controllerModels(kind string) []string {
	switch kind {
	case "usb":
		return []string{"", "piix3-uhci", "qemu-xhci", "nec-xhci", "ich9-ehci1", "ich9-uhci1", "ich9-uhci2", "ich9-uhci3", "ehci", "none"}
	case "scsi":
		return []string{"lsilogic", "virtio-scsi", "virtio-transitional", "virtio-non-transitional"}
	case "virtio-serial":
		return []string{"", "virtio", "virtio-transitional", "virtio-non-transitional"}
	case "ide", "sata", "fdc", "ccid":
		return []string{""}
	case "pci":
		return []string{pcRoot, pcieRoot, "pcie-root-port", "pcie-to-pci-bridge", "pci-bridge", "dmi-to-pci-bridge"}
	}
	return nil
}

func (c *completer) checkController(k *spec.Controller) error {
	models := controllerModels(k.Type)
	if models == nil {
		return unsupported("controller", "type=%q is not implemented", k.Type)
	}
	if k.Type == "pci" && k.Model == "" && k.Index == "0" {
		k.Model = c.fam.root
	}
	switch {
	case k.Type == "scsi":
		k.Model = def(k.Model, models[0])
	case k.Type == "usb" && k.Index == "0":
		k.Model = def(k.Model, c.fam.usb)
	}
	if k.Type == "usb" && k.Model == "" {
		k.Model = def(c.fam.usb, "none")
	}
	if !slices.Contains(models, k.Model) {
		return unsupported("controller", "%s: model=%q is not implemented; use %s", controllerName(k), k.Model, strings.Join(trimEmpty(models), ", "))
	}
	if !c.fam.pci() && (k.Type != "virtio-serial" || !c.virtioModel(def(k.Model, "virtio"))) && (k.Type != "usb" || k.Model != "none") {
		return unsupported("controller", "%s: machine %s has no PCI bus", controllerName(k), c.d.OS.Type.Machine)
	}
	if k.Type == "pci" && (k.Index == "0") != (k.Model == c.fam.root) {
		return invalid("controller", "%s: PCI bus 0 of machine %s is a %s and no other is, not model=%q", controllerName(k), c.d.OS.Type.Machine, c.fam.root, k.Model)
	}
	if _, set := k.Driver.Attr("queues"); set && !(k.Type == "scsi" && virtioSCSI(k.Model)) {
		return unsupported("controller/driver", "%s: queues are for virtio-scsi", controllerName(k))
	}
	if k.Type == "ide" && !(c.fam.ide && k.Index == "0") {
		return unsupported("controller", "%s: machine %s has %s", controllerName(k), c.d.OS.Type.Machine,
			map[bool]string{true: "one IDE controller, index 0", false: "no IDE"}[c.fam.ide])
	}
	return nil
}

func trimEmpty(in []string) []string {
	return slices.DeleteFunc(slices.Clone(in), func(s string) bool { return s == "" })
}

// addController appends one unless it is there.
func (c *completer) addController(kind string, n int, model string) {
	if c.controller(kind, n) == nil {
		c.dev.Controllers = append(c.dev.Controllers, spec.Controller{Type: kind, Index: strconv.Itoa(n), Model: model})
	}
}

// defaultControllers adds what every machine of the family has.
func (c *completer) defaultControllers() error {
	if !c.fam.pci() {
		return nil
	}
	if !slices.ContainsFunc(c.dev.Controllers, func(k spec.Controller) bool { return k.Type == "usb" }) {
		c.addController("usb", 0, c.fam.usb)
	}
	if c.fam.sata {
		c.addController("sata", 0, "")
	}
	c.addController("pci", 0, c.fam.root)
	return nil
}

// driveControllers adds the controllers that drive addresses point to. Lower numbers come into being with higher ones.
func (c *completer) driveControllers() error {
	for _, kind := range []string{"scsi", "fdc", "ide", "sata"} {
		last := -1
		for i := range c.dev.Disks {
			if k := &c.dev.Disks[i]; k.Target.Bus == kind {
				n, err := number(k.Address.Controller)
				if err != nil || n > 255 {
					return invalid("disk", "%s: controller %q is no number up to 255", diskName(k), k.Address.Controller)
				}
				last = max(last, n)
			}
		}
		if kind == "ide" && last > 0 {
			return unsupported("disk", "machine %s has one IDE controller with two buses of two drives", c.d.OS.Type.Machine)
		}
		if kind == "fdc" && last > 0 {
			return unsupported("disk", "only two floppy drives are possible")
		}
		model := ""
		if kind == "scsi" {
			model = "lsilogic"
		}
		for n := 0; n <= last; n++ {
			c.addController(kind, n, model)
		}
	}
	return nil
}

// number reads a number of an address: decimal, or hexadecimal behind 0x; empty is 0.
func number(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 0, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return int(n), nil
}
