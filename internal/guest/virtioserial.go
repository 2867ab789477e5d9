package guest

import (
	"fmt"
	"strconv"

	"taproom/internal/spec"
)

// maxSerialPorts is how many ports a virtio-serial controller has unless the document says less.
const maxSerialPorts = 31

// virtioSerialControllers adds the controllers that channels point to, and one where a channel or a virtio console
// needs any.
func (c *completer) virtioSerialControllers() error {
	last := -1
	for i := range c.dev.Consoles {
		if c.dev.Consoles[i].Target.Type == "virtio" {
			last = 0
		}
	}
	for i := range c.dev.Channels {
		last = max(last, 0)
		a := c.dev.Channels[i].Address
		if a == nil {
			continue
		}
		n, err := number(a.Controller)
		if err != nil || a.Type != "virtio-serial" || n > 255 {
			return invalid("channel", "%s: address must be of type virtio-serial with a controller up to 255", channelName(&c.dev.Channels[i], i))
		}
		last = max(last, n)
	}
	for n := 0; n <= last; n++ {
		c.addController("virtio-serial", n, "")
	}
	return nil
}

func channelName(n *spec.Chardev, i int) string {
	if n.Target != nil && n.Target.Name != "" {
		return "channel " + n.Target.Name
	}
	return fmt.Sprintf("channel %d", i)
}

type serialPort struct{ controller, port int }

// virtioSerialAddresses gives channels the first free port from 1 on; port 0 is kept for a console, as old guests
// expect. When all controllers are full another one is added.
func (c *completer) virtioSerialAddresses() error {
	taken := map[serialPort]string{}
	for i := range c.dev.Channels {
		n := &c.dev.Channels[i]
		if n.Address == nil || n.Address.Port == "" {
			continue
		}
		var p serialPort
		var err [3]error
		var bus int
		p.controller, err[0] = number(n.Address.Controller)
		bus, err[1] = number(n.Address.Bus)
		p.port, err[2] = number(n.Address.Port)
		for _, e := range err {
			if e != nil {
				return invalid("channel", "%s: address: %v", channelName(n, i), e)
			}
		}
		if bus != 0 || p.port >= c.serialPorts(p.controller) {
			return invalid("channel", "%s: controller virtio-serial %d has no bus %d, port %d", channelName(n, i), p.controller, bus, p.port)
		}
		if other, used := taken[p]; used {
			return invalid("channel", "%s and %s have the same address (controller %d, port %d)", other, channelName(n, i), p.controller, p.port)
		}
		taken[p] = channelName(n, i)
		n.Address = moved(n.Address, serialAddress(p))
	}
	for i := range c.dev.Channels {
		n := &c.dev.Channels[i]
		if n.Address != nil && n.Address.Port != "" {
			continue
		}
		p := c.freeSerialPort(taken, n)
		taken[p] = channelName(n, i)
		n.Address = moved(n.Address, serialAddress(p))
	}
	return nil
}

func (c *completer) freeSerialPort(taken map[serialPort]string, n *spec.Chardev) serialPort {
	first := 0
	if n.Address != nil {
		first, _ = number(n.Address.Controller)
	}
	for ctl := first; ; ctl++ {
		c.addController("virtio-serial", ctl, "")
		for p := 1; p < c.serialPorts(ctl); p++ {
			if _, used := taken[serialPort{ctl, p}]; !used {
				return serialPort{ctl, p}
			}
		}
	}
}

func (c *completer) serialPorts(ctl int) int {
	if k := c.controller("virtio-serial", ctl); k != nil {
		if n, err := strconv.Atoi(k.Ports); err == nil && n > 0 && n <= maxSerialPorts {
			return n
		}
	}
	return maxSerialPorts
}

func serialAddress(p serialPort) *spec.Address {
	return &spec.Address{Type: "virtio-serial", Controller: strconv.Itoa(p.controller), Bus: "0", Port: strconv.Itoa(p.port)}
}
