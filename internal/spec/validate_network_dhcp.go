package spec

import (
	"net/netip"
	"path"
	"strings"
)

func (d *DHCP) check(subnet netip.Prefix) error {
	for i := range d.Ranges {
		r := &d.Ranges[i]
		first, last, err := r.Addrs()
		if err != nil {
			return invalid("ip/dhcp/range", "%s", err)
		}
		if err := inside(subnet, first, last); err != nil {
			return err
		}
		for j := range i {
			a, b, err := d.Ranges[j].Addrs()
			if err == nil && !last.Less(a) && !b.Less(first) {
				return invalid("ip/dhcp/range", "%s to %s overlaps with %s to %s", first, last, a, b)
			}
		}
		if _, err := r.Lease.Duration(); err != nil {
			return invalid("ip/dhcp/range/lease", "%s", err)
		}
	}
	if err := d.checkHosts(subnet); err != nil {
		return err
	}
	return d.Bootp.check(subnet)
}

func (b *Bootp) check(subnet netip.Prefix) error {
	switch {
	case b == nil:
		return nil
	case subnet.Addr().Is6():
		return unsupported("ip/dhcp/bootp", "it is of IPv4; for IPv6 use dnsmasq:options with dhcp-option=option6:bootfile-url,URL")
	case b.File == "" || len(b.File) > 255 || control(b.File):
		return invalid("ip/dhcp/bootp/@file", "%q is no name of a file (1 to 255 bytes)", b.File)
	case b.Server == "":
		return nil
	}
	if a, err := parseAddr(b.Server); err != nil || !a.Is4() {
		return invalid("ip/dhcp/bootp/@server", "%q is no IPv4 address", b.Server)
	}
	return nil
}

// inside: a range lies in the subnet and leaves out what no host can have: its first address, and with IPv4 its last.
func inside(subnet netip.Prefix, first, last netip.Addr) error {
	for _, a := range []netip.Addr{first, last} {
		if !subnet.Contains(a) {
			return invalid("ip/dhcp/range", "%s is outside %s", a, subnet.Masked())
		}
	}
	if subnet.Bits() >= first.BitLen()-1 {
		return nil
	}
	if first == subnet.Masked().Addr() {
		return invalid("ip/dhcp/range", "start %s is the address of the subnet itself", first)
	}
	if first.Is4() && !subnet.Contains(last.Next()) {
		return invalid("ip/dhcp/range", "end %s is the broadcast address of %s", last, subnet.Masked())
	}
	return nil
}

func (d *DHCP) checkHosts(subnet netip.Prefix) error {
	const at = "ip/dhcp/host"
	taken := map[string]bool{}
	once := func(attr, value string) error {
		if taken[attr+" "+value] {
			return invalid(at+"/@"+attr, "%s is used by two hosts", value)
		}
		taken[attr+" "+value] = true
		return nil
	}
	for i := range d.Hosts {
		h := &d.Hosts[i]
		if err := h.check(i, subnet.Addr().Is6(), once); err != nil {
			return err
		}
		addr, err := parseAddr(h.IP)
		if err != nil {
			return invalid(at+"/@ip", "%s", err)
		}
		if !subnet.Contains(addr) {
			return invalid(at+"/@ip", "%s is outside %s", addr, subnet.Masked())
		}
		if addr == subnet.Addr() {
			return invalid(at+"/@ip", "%s is the address of the bridge", addr)
		}
		if err := once("ip", addr.String()); err != nil {
			return err
		}
		if _, err := h.Lease.Duration(); err != nil {
			return invalid(at+"/lease", "%s", err)
		}
	}
	return nil
}

// check looks at what a host is known by.
func (h *DHCPHost) check(i int, six bool, once func(attr, value string) error) error {
	const at = "ip/dhcp/host"
	if h.ID == "" && h.MAC == "" && h.Name == "" {
		if six {
			return invalid(at, "host %d has neither id nor name nor mac", i+1)
		}
		return invalid(at, "host %d has neither mac nor name", i+1)
	}
	if h.ID != "" {
		id, err := ParseClientID(h.ID)
		if err != nil {
			return invalid(at+"/@id", "%s", err)
		}
		if err := once("id", string(id)); err != nil {
			return invalid(at+"/@id", "%s is used by two hosts", h.ID)
		}
	}
	if h.MAC != "" {
		mac, err := parseUnicastMAC(h.MAC)
		if err != nil {
			return invalid(at+"/@mac", "%s", err)
		}
		if err := once("mac", mac.String()); err != nil {
			return err
		}
	}
	if h.Name == "" {
		return nil
	}
	if !hostName(h.Name) {
		return invalid(at+"/@name", "%q is no name of a host", h.Name)
	}
	return once("name", h.Name)
}

// cleanPath reports whether s is an absolute path without detours.
func cleanPath(s string) bool { return path.IsAbs(s) && path.Clean(s) == s && !control(s) }

// control reports whether there is a control character.
func control(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
