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

type usbDevice struct {
	who  string
	addr **spec.Address
}

// usbAddresses plugs USB devices into ports: disks first, then inputs.
func (c *completer) usbAddresses() error {
	taken := map[string]string{}
	devices := c.usbDevices()
	for _, u := range devices {
		a := *u.addr
		if a == nil || a.Port == "" {
			continue
		}
		bus, err := number(a.Bus)
		if err != nil || a.Type != "usb" {
			return invalid("address", "%s: a USB device needs an address of type usb with a bus number", u.who)
		}
		root, err := strconv.Atoi(strings.Split(a.Port, ".")[0])
		if ports := c.rootPorts(bus); err != nil || root < 1 || root > ports {
			return invalid("address", "%s: USB bus %d has ports 1 to %d, not %s", u.who, bus, ports, a.Port)
		}
		if strings.Contains(a.Port, ".") {
			return unsupported("address", "%s: port %s is behind a hub, which is not implemented", u.who, a.Port)
		}
		a.Bus = strconv.Itoa(bus)
		key := a.Bus + ":" + a.Port
		if other, used := taken[key]; used {
			return invalid("address", "%s and %s are on the same USB port (bus %d, port %s)", other, u.who, bus, a.Port)
		}
		taken[key] = u.who
	}
	for _, u := range devices {
		if a := *u.addr; a != nil && a.Port != "" {
			continue
		}
		a, err := c.freeUSBPort(taken, u.who)
		if err != nil {
			return err
		}
		*u.addr = moved(*u.addr, a)
	}
	return nil
}

func (c *completer) usbDevices() []usbDevice {
	var out []usbDevice
	for i := range c.dev.Disks {
		if k := &c.dev.Disks[i]; k.Target.Bus == "usb" {
			out = append(out, usbDevice{diskName(k), &k.Address})
		}
	}
	for i := range c.dev.Inputs {
		if n := &c.dev.Inputs[i]; n.Bus == "usb" {
			out = append(out, usbDevice{fmt.Sprintf("input %s %d", n.Type, i), &n.Address})
		}
	}
	return out
}

// usbBus is the controller that carries bus n, or nil.
func (c *completer) usbBus(n int) *spec.Controller {
	for i := range c.dev.Controllers {
		if k := &c.dev.Controllers[i]; k.Type == "usb" && index(k) == n && usbPorts(k) > 0 {
			return k
		}
	}
	return nil
}

func (c *completer) rootPorts(bus int) int {
	if k := c.usbBus(bus); k != nil {
		return usbPorts(k)
	}
	return 0
}

func (c *completer) freeUSBPort(taken map[string]string, who string) (*spec.Address, error) {
	for bus := 0; bus < 256; bus++ {
		for p := 1; p <= c.rootPorts(bus); p++ {
			key := fmt.Sprintf("%d:%d", bus, p)
			if _, used := taken[key]; used {
				continue
			}
			taken[key] = who
			return &spec.Address{Type: "usb", Bus: strconv.Itoa(bus), Port: strconv.Itoa(p)}, nil
		}
	}
	return nil, unsupported("address", "%s: no USB port is free; add <controller type='usb' model='qemu-xhci' ports='15'/>", who)
}
