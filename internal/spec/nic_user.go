package spec

import (
	"net/netip"
	"strconv"
)

// NICAddress is an address of the guest's side of a user network: QEMU's own gives the guest one out of its network, passt
// this one.
type NICAddress struct {
	Family  string `xml:"family,attr,omitempty"` // ipv4, ipv6, or whatever the address is
	Address string `xml:"address,attr"`
	Prefix  string `xml:"prefix,attr,omitempty"`
	Extra
}

// PortForward are ports of the host at which a guest on a user network is reached.
type PortForward struct {
	Proto   string      `xml:"proto,attr"` // tcp or udp
	Address string      `xml:"address,attr,omitempty"`
	Dev     string      `xml:"dev,attr,omitempty"`
	Ranges  []PortRange `xml:"range"` // none means all ports
	Extra
}

// PortRange is one port, or several in a row; To is the guest's first, where it differs.
type PortRange struct {
	Start   string `xml:"start,attr"`
	End     string `xml:"end,attr,omitempty"`
	To      string `xml:"to,attr,omitempty"`
	Exclude string `xml:"exclude,attr,omitempty"` // yes: these are not forwarded
	Extra
}

// NICBackend is what serves a user network: passt, or (default) QEMU itself.
type NICBackend struct {
	Type    string `xml:"type,attr,omitempty"`
	LogFile string `xml:"logFile,attr,omitempty"`
	Extra
}

// Passt reports whether passt serves the NIC.
func (n *Interface) Passt() bool { return n.Backend != nil && n.Backend.Type == "passt" }

// Subnet returns the address with its length: 24 for IPv4 and 64 for IPv6 where the document says none. The document was
// checked.
func (a *NICAddress) Subnet() netip.Prefix {
	addr, err := netip.ParseAddr(a.Address)
	bits, perr := strconv.Atoi(a.Prefix)
	switch {
	case err != nil:
		return netip.Prefix{}
	case perr == nil:
	case addr.Is4():
		bits = 24
	default:
		bits = 64
	}
	return netip.PrefixFrom(addr, bits)
}

// Ports returns a range's numbers: the host's first and last, and the guest's first. The document was checked.
func (r *PortRange) Ports() (first, last, to int) {
	first, _ = strconv.Atoi(r.Start)
	last, to = first, first
	if n, err := strconv.Atoi(r.End); err == nil {
		last = n
	}
	if n, err := strconv.Atoi(r.To); err == nil {
		to = n
	}
	return first, last, to
}

// checkUser checks what only user networks have.
func (n *Interface) checkUser() error {
	const at = "devices/interface/"
	passt := n.Passt()
	switch {
	case n.Type != "user" && len(n.IPs) > 0:
		return unsupported(at+"ip", "it is for type='user'; elsewhere the network's DHCP gives addresses")
	case n.Type != "user" && len(n.Forwards) > 0:
		return unsupported(at+"portForward", "it is for type='user'")
	case n.Type != "user" && passt:
		return unsupported(at+"backend/@type", "passt is for type='user'")
	case !passt && n.Backend != nil && n.Backend.LogFile != "":
		return unsupported(at+"backend/@logFile", "it is for type='passt'")
	case n.Type == "user" && !passt && n.Source != nil && n.Source.Dev != "":
		return unsupported(at+"source/@dev", "QEMU's own user network follows the host's routes; add <backend type='passt'/> to choose a link")
	}
	if err := n.checkAddresses(); err != nil {
		return err
	}
	for i := range n.Forwards {
		if err := n.Forwards[i].check(passt); err != nil {
			return err
		}
	}
	return nil
}

func (n *Interface) checkAddresses() error {
	const at = "devices/interface/ip"
	seen := map[bool]bool{} // by whether it is IPv4
	for i := range n.IPs {
		a := &n.IPs[i]
		addr, err := parseAddr(a.Address)
		if err != nil {
			return invalid(at+"/@address", "%s", err)
		}
		v4 := addr.Is4()
		if a.Family != "" && v4 != (a.Family == "ipv4") {
			return invalid(at+"/@address", "%s is not of family %q", addr, a.Family)
		}
		if seen[v4] {
			return unsupported(at, "a user network has one address of each family")
		}
		seen[v4] = true
		least, most := 1, 120
		if v4 { // QEMU's addresses for itself need room; libvirt allows as much
			least, most = 4, 27
		}
		if bits := a.Subnet().Bits(); bits < least || bits > most {
			return invalid(at+"/@prefix", "%d is none between %d and %d", bits, least, most)
		}
	}
	return nil
}

func (f *PortForward) check(passt bool) error {
	const at = "devices/interface/portForward"
	addr := netip.Addr{}
	if f.Address != "" {
		var err error
		if addr, err = parseAddr(f.Address); err != nil {
			return invalid(at+"/@address", "%s", err)
		}
	}
	switch {
	case f.Proto == "":
		return invalid(at+"/@proto", "it is missing; use tcp or udp")
	case f.Dev != "" && !linkName(f.Dev):
		return invalid(at+"/@dev", "%q is no name of a link", f.Dev)
	case !passt && f.Dev != "":
		return unsupported(at+"/@dev", "QEMU's own user network forwards by address; name one, or add <backend type='passt'/>")
	case !passt && addr.Is6():
		return unsupported(at+"/@address", "QEMU's own user network forwards IPv4 only; add <backend type='passt'/>")
	case !passt && len(f.Ranges) == 0:
		return unsupported(at, "QEMU's own user network forwards single ports; name them with <range start='…'/>, or add <backend type='passt'/>")
	}
	for i := range f.Ranges {
		if err := f.Ranges[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (r *PortRange) check() error {
	const at = "devices/interface/portForward/range"
	if r.Start == "" {
		return invalid(at+"/@start", "it is missing")
	}
	first, last, to := r.Ports()
	switch {
	case last < first:
		return invalid(at+"/@end", "%d comes before %d", last, first)
	case to+last-first > 65535:
		return invalid(at+"/@to", "port %d of the guest does not exist", to+last-first)
	case r.Exclude == "yes" && r.To != "":
		return invalid(at+"/@to", "a range that is excluded goes nowhere")
	}
	return nil
}
