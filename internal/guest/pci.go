package guest

import (
	"fmt"
	"slices"
	"strconv"

	"taproom/internal/spec"
)

// place is where a device sits on PCI, domain 0.
type place struct{ bus, slot, function int }

func (p place) String() string { return fmt.Sprintf("0000:%02x:%02x.%d", p.bus, p.slot, p.function) }

func (p place) address() *spec.Address {
	return &spec.Address{
		Type: "pci", Domain: "0x0000", Bus: fmt.Sprintf("0x%02x", p.bus),
		Slot: fmt.Sprintf("0x%02x", p.slot), Function: fmt.Sprintf("0x%x", p.function),
	}
}

// moved is the place that a device was given, with what nobody knows of the address it had.
func moved(had, to *spec.Address) *spec.Address {
	if had != nil {
		to.Extra = had.Extra
	}
	return to
}

// plug says what a device needs of a slot, or what a slot takes.
type plug uint

const (
	plugPCI       plug = 1 << iota // conventional PCI
	plugPCIe                       // PCI Express
	plugRootPort                   // a root port: only on the root complex
	plugPCIeToPCI                  // a bridge from a root port to conventional PCI
	plugDMI                        // the ICH9's own bridge
	plugPCIBridge                  // a bridge between conventional buses
	hot                            // can be unplugged
	aggregate                      // shares a slot with others of its kind
)

const plugKinds = plugPCI | plugPCIe | plugRootPort | plugPCIeToPCI | plugDMI | plugPCIBridge

// bus is one PCI bus: which slots it has, what they take and who is in them.
type bus struct {
	model       string
	takes       plug
	first, last int
	slots       [32]slot
}

type slot struct {
	owner     [8]string
	aggregate bool
}

func (s *slot) empty() bool { return s.owner == [8]string{} }

func newBus(model string) *bus {
	b := &bus{model: model, first: 1, last: 31}
	switch model {
	case pcRoot, "pci-bridge", "pcie-to-pci-bridge":
		b.takes = plugPCI | plugPCIBridge | hot
	case pcieRoot:
		b.takes = plugPCIe | plugRootPort | plugPCIeToPCI | plugDMI
	case "pcie-root-port":
		b.takes, b.first, b.last = plugPCIe|plugPCIeToPCI|hot, 0, 0
	case "dmi-to-pci-bridge":
		b.takes, b.first = plugPCI|plugPCIBridge, 0
	}
	return b
}

// bridgePlug is what a PCI controller itself needs.
func bridgePlug(model string) plug {
	switch model {
	case "pcie-root-port":
		return plugRootPort | aggregate
	case "pcie-to-pci-bridge":
		return plugPCIeToPCI | hot
	case "dmi-to-pci-bridge":
		return plugDMI
	}
	return plugPCIBridge
}

// accepts reports whether a device that is free to go anywhere may be put on the bus.
func (b *bus) accepts(needs plug) bool {
	return b.takes&needs&plugKinds != 0 && (needs&hot == 0 || b.takes&hot != 0)
}

// tolerates is what a document may ask for: QEMU does not mind a conventional device on the root complex.
func (b *bus) tolerates(needs plug) bool {
	takes := b.takes
	if takes&(plugPCI|plugPCIe) != 0 {
		takes |= plugPCI | plugPCIe
	}
	return takes&needs&plugKinds != 0
}

// topology is the tree of buses with who sits where.
type topology struct {
	fam   family
	buses []*bus
	grows bool // buses may be added
}

// reserve puts a device where the document or the chipset wants it.
func (t *topology) reserve(p place, needs plug, who string) error {
	if p.bus >= len(t.buses) {
		if !t.grows || p.bus > 255 {
			return invalid("address", "%s: PCI bus %d does not exist; add its controller", who, p.bus)
		}
		t.growTo(p.bus, needs)
	}
	b := t.buses[p.bus]
	if p.slot < b.first || p.slot > b.last || p.function > 7 || p.slot < 0 || p.function < 0 {
		return invalid("address", "%s: PCI address %s: a %s has slots %d to %d with functions 0 to 7", who, p, b.model, b.first, b.last)
	}
	if !b.tolerates(needs) {
		return invalid("address", "%s: PCI address %s: a %s does not take this device", who, p, b.model)
	}
	s := &b.slots[p.slot]
	if other := s.owner[p.function]; other != "" {
		return invalid("address", "PCI address %s is used by %s and %s", p, other, who)
	}
	if s.empty() {
		s.aggregate = needs&aggregate != 0
	}
	s.owner[p.function] = who
	return nil
}

// used reports whether anybody sits in the place's slot.
func (t *topology) used(p place) bool {
	return p.bus < len(t.buses) && !t.buses[p.bus].slots[p.slot].empty()
}

// next finds the first place that takes the device, on the lowest bus, and puts it there.
func (t *topology) next(needs plug, function int, who string) (place, error) {
	for {
		for i, b := range t.buses {
			if !b.accepts(needs) {
				continue
			}
			if p, ok := b.free(needs, function); ok {
				p.bus = i
				return p, t.reserve(p, needs, who)
			}
		}
		if !t.grows || len(t.buses) > 255 || needs&plugRootPort != 0 {
			return place{}, t.full(needs, who)
		}
		t.growFor(needs)
	}
}

func (b *bus) free(needs plug, function int) (place, bool) {
	for n := b.first; n <= b.last; n++ {
		s := &b.slots[n]
		if s.empty() {
			return place{slot: n, function: function}, true
		}
		if needs&aggregate == 0 || !s.aggregate {
			continue
		}
		for f, owner := range s.owner {
			if owner == "" {
				return place{slot: n, function: f}, true
			}
		}
	}
	return place{}, false
}

// growFor adds the bus, or the pair of buses, that a device with no free slot needs.
func (t *topology) growFor(needs plug) {
	switch {
	case t.fam.root == pcRoot:
		t.buses = append(t.buses, newBus("pci-bridge"))
	case needs&(plugPCI|plugPCIBridge) != 0 && slices.ContainsFunc(t.buses, func(b *bus) bool { return b.takes&plugPCIBridge != 0 }):
		t.buses = append(t.buses, newBus("pci-bridge")) // behind the one there is, as libvirt has it
	case needs&(plugPCI|plugPCIBridge) != 0:
		t.buses = append(t.buses, newBus("pcie-root-port"), newBus("pcie-to-pci-bridge"))
	default:
		t.buses = append(t.buses, newBus("pcie-root-port"))
	}
}

// growTo adds buses up to one that a document names: whatever is in between becomes root ports or bridges.
func (t *topology) growTo(n int, needs plug) {
	for len(t.buses) < n {
		t.buses = append(t.buses, newBus(map[bool]string{true: "pci-bridge", false: "pcie-root-port"}[t.fam.root == pcRoot]))
	}
	switch {
	case t.fam.root == pcRoot:
		t.buses = append(t.buses, newBus("pci-bridge"))
	case needs&plugPCI != 0:
		t.buses = append(t.buses, newBus("pcie-to-pci-bridge"))
		if n == 1 { // the bridge needs a port of its own
			t.buses = append(t.buses, newBus("pcie-root-port"))
		}
	default:
		t.buses = append(t.buses, newBus("pcie-root-port"))
	}
}

// readPlace reads an address of type pci. ok is false when the document leaves the place open.
func readPlace(a *spec.Address, who string) (p place, ok bool, err error) {
	if a == nil || a.Type == "pci" && a.Domain+a.Bus+a.Slot+a.Function == "" {
		return place{}, false, nil
	}
	if a.Type == "unassigned" {
		return place{}, false, nil
	}
	if a.Type != "pci" {
		return place{}, false, invalid("address", "%s: type=%q does not fit; use pci", who, a.Type)
	}
	var n [4]int
	for i, s := range []string{a.Domain, a.Bus, a.Slot, a.Function} {
		if n[i], err = number(s); err != nil {
			return place{}, false, invalid("address", "%s: %v", who, err)
		}
	}
	if n[0] != 0 {
		return place{}, false, unsupported("address", "%s: PCI domain %d is not possible; use 0", who, n[0])
	}
	p = place{n[1], n[2], n[3]}
	return p, p != place{}, nil
}

// controllerIndexes returns the models of the PCI controllers by bus number; empty where there is none.
func (c *completer) pciModels() []string {
	var out []string
	for i := range c.dev.Controllers {
		k := &c.dev.Controllers[i]
		if k.Type != "pci" {
			continue
		}
		n, _ := strconv.Atoi(k.Index)
		for len(out) <= n {
			out = append(out, "")
		}
		out[n] = k.Model
	}
	return out
}
