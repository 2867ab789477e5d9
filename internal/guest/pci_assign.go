package guest

import (
	"fmt"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// pciAddresses gives every PCI device a place. A first pass on a scratch topology finds out which buses have to be
// added; the second one, with those buses as controllers of the document, hands out the places. The detour shows: new
// bridges take places before all other devices.
func (c *completer) pciAddresses() error {
	if !c.fam.pci() {
		return nil
	}
	placed := c.nicsPlaced()
	t, err := c.assign(true)
	if err != nil {
		return err
	}
	had := c.pciModels()
	if err := c.spare(t, len(had)); err != nil {
		return err
	}
	for i := 1; i < len(t.buses); i++ {
		if i < len(had) && had[i] != "" {
			continue
		}
		needs := bridgePlug(t.buses[i].model)
		if _, err := t.next(needs, 0, fmt.Sprintf("controller pci %d", i)); err != nil {
			return err
		}
		c.addController("pci", i, t.buses[i].model)
	}
	if t, err = c.assign(false); err != nil {
		return err
	}
	c.multifunction(t)
	c.bridgeTargets()
	if err := c.ioSpace(t); err != nil {
		return err
	}
	if err := c.portsReserve(len(had)); err != nil {
		return err
	}
	return c.shareInterrupts(placed)
}

// spare keeps one root port for hot-plug, once: in a document that leaves its buses to us.
func (c *completer) spare(t *topology, had int) error {
	if c.fam.root != pcieRoot || had > 1 || len(t.buses) <= had {
		return nil
	}
	_, err := t.next(plugPCIe|hot, 0, "a spare root port")
	return err
}

// assign goes through all devices. In a trial it changes only its own topology, not the document.
func (c *completer) assign(trial bool) (*topology, error) {
	t := &topology{fam: c.fam, grows: trial}
	for i, model := range c.pciModels() {
		if model == "" { // a hole in the numbering: filled like a missing bus
			model = map[bool]string{true: "pci-bridge", false: "pcie-root-port"}[i > 0 && c.fam.root == pcRoot]
		}
		t.buses = append(t.buses, newBus(model))
	}
	devices := c.pciDevices()
	if len(c.dev.Videos) > 0 && videoOnPCI(&c.dev.Videos[0]) {
		devices = append(devices, pciDevice{who: "video 0", addr: &c.dev.Videos[0].Address, needs: c.videoPlug()})
	}
	for _, dev := range devices {
		p, ok, err := readPlace(*dev.addr, dev.who)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if err := t.reserve(p, dev.needs, dev.who); err != nil {
			return nil, err
		}
		if !trial {
			multi := (*dev.addr).MultiFunction
			*dev.addr = moved(*dev.addr, p.address())
			(*dev.addr).MultiFunction = multi
		}
	}
	given := map[**spec.Address]bool{} // by what is the device's own: names are for people, and two NICs may have one MAC
	put := func(dev pciDevice, p place) {
		given[dev.addr] = true
		if !trial {
			*dev.addr = moved(*dev.addr, p.address())
		}
	}
	if err := c.chipset(t, devices, put); err != nil {
		return nil, err
	}
	for _, dev := range devices {
		if _, ok, _ := readPlace(*dev.addr, dev.who); ok || given[dev.addr] {
			continue
		}
		p, err := t.place(dev, c)
		if err != nil {
			return nil, err
		}
		put(dev, p)
	}
	return t, nil
}

// place finds a place for one device: beside the others of its set, or the next free one.
func (t *topology) place(dev pciDevice, c *completer) (place, error) {
	if dev.set == "" {
		return t.next(dev.needs, dev.function, dev.who)
	}
	for i, b := range t.buses {
		for n := range b.slots {
			for _, owner := range b.slots[n].owner {
				if strings.HasPrefix(owner, dev.set) {
					p := place{i, n, dev.function}
					return p, t.reserve(p, dev.needs, dev.who)
				}
			}
		}
	}
	if c.fam.root == pcieRoot {
		for _, n := range []int{0x1d, 0x1a} { // where the ICH9 has its two sets
			if p := (place{0, n, dev.function}); !t.used(p) {
				return p, t.reserve(p, dev.needs, dev.who)
			}
		}
	}
	return t.next(dev.needs, dev.function, dev.who)
}

// multifunction marks function 0 of a slot that holds more: without the mark a guest looks no further.
func (c *completer) multifunction(t *topology) {
	for _, dev := range c.allPCI() {
		p, ok, _ := readPlace(*dev.addr, dev.who)
		if !ok || p.function != 0 || (*dev.addr).MultiFunction != "" {
			continue
		}
		for _, owner := range t.buses[p.bus].slots[p.slot].owner[1:] {
			if owner != "" {
				(*dev.addr).MultiFunction = "on"
			}
		}
	}
}

func (c *completer) allPCI() []pciDevice {
	out := c.pciDevices()
	if len(c.dev.Videos) > 0 && videoOnPCI(&c.dev.Videos[0]) {
		out = append(out, pciDevice{who: "video 0", addr: &c.dev.Videos[0].Address, needs: c.videoPlug()})
	}
	return out
}

// bridgeTargets writes what the guest sees of bridges: chassis and port numbers, made from index and place.
func (c *completer) bridgeTargets() {
	for i := range c.dev.Controllers {
		k := &c.dev.Controllers[i]
		if k.Type != "pci" || k.Index == "0" {
			continue
		}
		name := map[string]string{
			"pcie-to-pci-bridge": "pcie-pci-bridge", "dmi-to-pci-bridge": "i82801b11-bridge",
		}[k.Model]
		if k.PCIModel == nil {
			k.PCIModel = &spec.PCIModel{Name: def(name, k.Model)}
		}
		if k.Model != "pcie-root-port" && k.Model != "pci-bridge" {
			continue
		}
		if k.Target == nil {
			k.Target = &spec.ControllerTarget{}
		}
		if k.Model == "pci-bridge" {
			k.Target.ChassisNr = def(k.Target.ChassisNr, k.Index)
			continue
		}
		p, _, _ := readPlace(k.Address, controllerName(k))
		k.Target.Chassis = def(k.Target.Chassis, k.Index)
		k.Target.Port = def(k.Target.Port, "0x"+strconv.FormatInt(int64(p.slot<<3|p.function), 16))
	}
}
