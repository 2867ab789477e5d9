package guest

import (
	"fmt"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// usbPorts is how many root ports a controller has.
func usbPorts(k *spec.Controller) int {
	switch k.Model {
	case "piix3-uhci":
		return 2
	case "ich9-ehci1", "ehci":
		return 6
	case "qemu-xhci", "nec-xhci":
		if n, err := strconv.Atoi(k.Ports); err == nil && n > 0 && n <= 15 {
			return n
		}
		return 4
	}
	return 0 // companions: their ports are the master's
}

// hubPorts is how many ports a hub has.
const hubPorts = 8

type usbDevice struct {
	who  string
	addr **spec.Address
	hub  bool
}

// usbTree is who is plugged in where. Ports behind a hub are "1.2": port 2 of the hub in port 1.
type usbTree struct {
	c     *completer
	taken map[string]string // who, by "bus:port"
	hubs  map[string]bool
}

// usbAddresses plugs USB devices into ports: hubs first, then disks, inputs and the rest. Where ports run out hubs are
// added, as with libvirt.
func (c *completer) usbAddresses() error {
	t := &usbTree{c: c, taken: map[string]string{}, hubs: map[string]bool{}}
	for _, u := range c.usbDevices() {
		if hasPort(u) {
			if err := t.claim(u); err != nil {
				return err
			}
		}
	}
	for key, who := range t.taken {
		if err := t.parent(key, who); err != nil {
			return err
		}
	}
	c.addHubs(t)
	for _, u := range c.usbDevices() {
		if hasPort(u) {
			continue
		}
		a, ok := t.free()
		if !ok {
			return unsupported("address", "%s: no USB port is free; add <controller type='usb' model='qemu-xhci' ports='15'/>", u.who)
		}
		*u.addr = moved(*u.addr, a)
		if err := t.claim(u); err != nil {
			return err
		}
	}
	return nil
}

func hasPort(u usbDevice) bool { return *u.addr != nil && (*u.addr).Port != "" }

// claim takes the port that a device has.
func (t *usbTree) claim(u usbDevice) error {
	a := *u.addr
	bus, err := number(a.Bus)
	if err != nil || a.Type != "usb" {
		return invalid("address", "%s: a USB device needs an address of type usb with a bus number", u.who)
	}
	parts := strings.Split(a.Port, ".")
	for i, part := range parts {
		most := hubPorts
		if i == 0 {
			most = t.c.rootPorts(bus)
		}
		if n, err := strconv.Atoi(part); err != nil || n < 1 || n > most {
			return invalid("address", "%s: USB bus %d has ports 1 to %d, and a hub has %d: not %s", u.who, bus, t.c.rootPorts(bus), hubPorts, a.Port)
		}
	}
	a.Bus = strconv.Itoa(bus)
	key := a.Bus + ":" + a.Port
	if other, used := t.taken[key]; used {
		return invalid("address", "%s and %s are on the same USB port (bus %d, port %s)", other, u.who, bus, a.Port)
	}
	t.taken[key] = u.who
	if u.hub {
		t.hubs[key] = true
	}
	return nil
}

// parent holds that a port behind a hub has that hub.
func (t *usbTree) parent(key, who string) error {
	if i := strings.LastIndex(key, "."); i >= 0 && !t.hubs[key[:i]] {
		return invalid("address", "%s: there is no USB hub in port %s; add one: <hub type='usb'/> with that port", who, key[strings.Index(key, ":")+1:i])
	}
	return nil
}

// free finds the first free port: of a controller, or of the hubs on it.
func (t *usbTree) free() (*spec.Address, bool) {
	for bus := range 256 {
		if port, ok := t.freeBelow(strconv.Itoa(bus)+":", t.c.rootPorts(bus)); ok {
			return &spec.Address{Type: "usb", Bus: strconv.Itoa(bus), Port: port}, true
		}
	}
	return nil, false
}

func (t *usbTree) freeBelow(prefix string, ports int) (string, bool) {
	at := func(p int) string { return prefix + strconv.Itoa(p) }
	for p := 1; p <= ports; p++ {
		if t.taken[at(p)] == "" {
			_, port, _ := strings.Cut(at(p), ":")
			return port, true
		}
	}
	for p := 1; p <= ports && strings.Count(prefix, ".") < 4; p++ { // USB has five tiers of hubs
		if t.hubs[at(p)] {
			if port, ok := t.freeBelow(at(p)+".", hubPorts); ok {
				return port, true
			}
		}
	}
	return "", false
}

// addHubs adds the hubs without which not all devices would find a port.
func (c *completer) addHubs(t *usbTree) {
	need, ports := 0, -len(t.taken)
	for bus := range 256 {
		ports += c.rootPorts(bus)
	}
	if ports+len(t.taken) == 0 {
		return // no USB at all
	}
	for _, u := range c.usbDevices() {
		if !hasPort(u) {
			need++
		}
		if u.hub {
			ports += hubPorts
		}
	}
	for ; need > ports && ports > -maxUSBDevices; ports += hubPorts - 1 {
		c.dev.Hubs = append(c.dev.Hubs, spec.Hub{Type: "usb"})
	}
}

// maxUSBDevices bounds what is looked at: a USB bus has 127 devices.
const maxUSBDevices = 127 * 256

func (c *completer) usbDevices() []usbDevice {
	var out []usbDevice
	add := func(who string, addr **spec.Address) { out = append(out, usbDevice{who: who, addr: addr}) }
	for i := range c.dev.Hubs {
		out = append(out, usbDevice{fmt.Sprintf("hub %d", i), &c.dev.Hubs[i].Address, true})
	}
	for i := range c.dev.Disks {
		if k := &c.dev.Disks[i]; k.Target.Bus == "usb" {
			add(diskName(k), &k.Address)
		}
	}
	for i := range c.dev.Controllers {
		if k := &c.dev.Controllers[i]; k.Type == "ccid" {
			add(controllerName(k), &k.Address)
		}
	}
	for i := range c.dev.Interfaces {
		n := &c.dev.Interfaces[i]
		if d, _ := nicDriver(n.Model.Type); d.usb {
			add(nicName(n, i), &n.Address)
		}
	}
	for i := range c.dev.Inputs {
		if n := &c.dev.Inputs[i]; n.Bus == "usb" {
			add(fmt.Sprintf("input %s %d", n.Type, i), &n.Address)
		}
	}
	for i := range c.dev.Sounds {
		if s := &c.dev.Sounds[i]; s.Model == "usb" {
			add(soundName(i), &s.Address)
		}
	}
	for i := range c.dev.Serials {
		if s := &c.dev.Serials[i]; s.Target.Type == "usb-serial" {
			add(fmt.Sprintf("serial %d", i), &s.Address)
		}
	}
	for i := range c.dev.RedirDevs {
		add(fmt.Sprintf("redirdev %d", i), &c.dev.RedirDevs[i].Address)
	}
	return out
}

// rootPorts is how many ports the controller of a bus has; 0 when there is none.
func (c *completer) rootPorts(bus int) int {
	for i := range c.dev.Controllers {
		if k := &c.dev.Controllers[i]; k.Type == "usb" && index(k) == bus && usbPorts(k) > 0 {
			return usbPorts(k)
		}
	}
	return 0
}
