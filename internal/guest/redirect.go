package guest

import (
	"fmt"
	"strconv"
	"strings"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// redirections settles what a client plugs in from afar: USB devices and cards.
func (c *completer) redirections() error {
	for i := range c.dev.RedirDevs {
		switch {
		case c.fam.usb == "":
			return unsupported("redirdev", "machine %s has no USB", c.d.OS.Type.Machine)
		case !c.host.hasDevice("usb-redir"):
			return unsupported("redirdev", "emulator %s has no USB redirection; %s", c.dev.Emulator, spiceModule)
		}
		c.dev.RedirDevs[i].Bus = def(c.dev.RedirDevs[i].Bus, "usb")
	}
	for i := range c.dev.Hubs {
		if c.fam.usb == "" {
			return unsupported("hub", "machine %s has no USB", c.d.OS.Type.Machine)
		}
		if c.dev.Hubs[i].Type != "usb" {
			return unsupported("hub", "type=%q is not implemented; use usb", c.dev.Hubs[i].Type)
		}
	}
	return nil
}

// smartcards gives each card reader a slot of a controller, and adds the controller. QEMU's has one slot.
func (c *completer) smartcards() error {
	if len(c.dev.Smartcards) > 0 && (c.fam.usb == "" || !c.host.hasDevice("ccid-card-passthru")) {
		return unsupported("smartcard", "emulator %s has no card readers on machine %s; %s", c.dev.Emulator, c.d.OS.Type.Machine, spiceModule)
	}
	taken := map[int]bool{}
	for pass := range 2 { // those that have a place go first
		for i := range c.dev.Smartcards {
			a := &c.dev.Smartcards[i].Address
			given := *a != nil && (*a).Controller != ""
			if given != (pass == 0) {
				continue
			}
			n := 0
			for ; !given && taken[n]; n++ {
			}
			if given {
				var err error
				if n, err = number((*a).Controller); err != nil || (*a).Type != "ccid" || def((*a).Slot, "0") != "0" {
					return invalid("smartcard/address", "smartcard %d: the address is of type ccid, with a controller and slot 0", i)
				}
			}
			if taken[n] {
				return invalid("smartcard/address", "controller ccid %d has one slot, for one card", n)
			}
			taken[n] = true
			*a = moved(*a, &spec.Address{Type: "ccid", Controller: strconv.Itoa(n), Slot: "0"})
			for m := 0; m <= n; m++ {
				c.addController("ccid", m, "")
			}
		}
	}
	return nil
}

// ccidReaders are the controllers of cards, which are USB devices.
func (c *compiler) ccidReaders() error {
	for i := range c.dev.Controllers {
		if k := &c.dev.Controllers[i]; k.Type == "ccid" {
			if err := c.device(c.controller(k), k.Address); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *compiler) smartcards() error {
	for i := range c.dev.Smartcards {
		s := &c.dev.Smartcards[i]
		id, err := c.chardev(&spec.Chardev{Type: s.Type, Source: s.Source, Protocol: s.Protocol, Log: s.Log, Alias: s.Alias}, "")
		if err != nil {
			return err
		}
		p := device("ccid-card-passthru", s.Alias.Name).With("chardev", id).With("bus", "ccid"+s.Address.Controller+".0")
		if err := c.device(p, nil); err != nil {
			return err
		}
	}
	return nil
}

// hubs come before what is plugged into them, the outer ones first.
func (c *compiler) hubs() error {
	for depth := range 6 {
		for i := range c.dev.Hubs {
			h := &c.dev.Hubs[i]
			if strings.Count(h.Address.Port, ".") != depth {
				continue
			}
			if err := c.device(device("usb-hub", h.Alias.Name), h.Address); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *compiler) redirections() error {
	filter, err := usbFilter(c.dev.RedirFilter)
	if err != nil {
		return err
	}
	for i := range c.dev.RedirDevs {
		r := &c.dev.RedirDevs[i]
		id, err := c.chardev(&spec.Chardev{Type: r.Type, Source: r.Source, Protocol: r.Protocol, Log: r.Log, Alias: r.Alias}, "")
		if err != nil {
			return err
		}
		p := qemu.Props{{Key: "driver", Value: "usb-redir"}, {Key: "chardev", Value: id}, {Key: "id", Value: r.Alias.Name}}
		if filter != "" {
			p = p.With("filter", filter)
		}
		if err := c.device(c.booting(p, r.Alias.Name), r.Address); err != nil {
			return err
		}
	}
	return nil
}

// usbFilter is QEMU's form of the rules: class:vendor:product:version:allow, joined by a bar. -1 fits all.
func usbFilter(f *spec.RedirFilter) (string, error) {
	if f == nil {
		return "", nil
	}
	var rules []string
	for _, r := range f.Devices {
		fields := make([]string, 0, 5)
		for _, x := range []struct {
			value string
			width int
		}{{r.Class, 2}, {r.Vendor, 4}, {r.Product, 4}} {
			if x.value == "" || x.value == "-1" {
				fields = append(fields, "-1")
				continue
			}
			n, err := number(x.value)
			if err != nil {
				return "", invalid("redirfilter/usbdev", "%v", err)
			}
			fields = append(fields, fmt.Sprintf("0x%0*X", x.width, n))
		}
		version, err := usbVersion(r.Version)
		if err != nil {
			return "", err
		}
		rules = append(rules, strings.Join(append(fields, version, map[bool]string{true: "1", false: "0"}[r.Allow == "yes"]), ":"))
	}
	return strings.Join(rules, "|"), nil
}

// usbVersion writes a version in binary-coded decimal, as a device's descriptor has it: 2.56 is 0x0256.
func usbVersion(v string) (string, error) {
	if v == "" || v == "-1" {
		return "-1", nil
	}
	major, minor, _ := strings.Cut(v, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(def(minor, "0"))
	if err != nil || err2 != nil || a > 99 || b > 99 {
		return "", invalid("redirfilter/usbdev", "version=%q is no version such as 2.56", v)
	}
	return fmt.Sprintf("0x%02d%02d", a, b), nil
}
