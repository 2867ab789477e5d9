package spec

// Forward is how the network reaches the outside: nat (default mode), route, open, bridge, private, vepa, passthrough; nil is
// isolated.
type Forward struct {
	Mode    string         `xml:"mode,attr,omitempty"`
	Dev     string         `xml:"dev,attr,omitempty"` // the first of Interfaces, as it was written before there were several
	Managed string         `xml:"managed,attr,omitempty"`
	Driver  *ForwardDriver `xml:"driver"`
	NAT     *NAT           `xml:"nat"`
	// PFs is an SR-IOV NIC, one at most, whose functions guests get: their links, or in mode hostdev they themselves.
	PFs []ForwardInterface `xml:"pf"`
	// Interfaces are links of the host: for nat and route the one way out, for the others what guests are put on, by turns.
	Interfaces []ForwardInterface `xml:"interface"`
	Addresses  []ForwardAddress   `xml:"address"` // mode hostdev
	Extra
}

// ForwardInterface is a link of the host.
type ForwardInterface struct {
	Dev         string `xml:"dev,attr,omitempty"`
	Connections string `xml:"connections,attr,omitempty"` // live documents only
	Extra
}

// NAT narrows what addresses and ports are masqueraded to: see Sources.
type NAT struct {
	IPv6    string       `xml:"ipv6,attr,omitempty"`
	Address *AddressSpan `xml:"address"`
	Port    *AddressSpan `xml:"port"`
	Extra
}

// AddressSpan is start to end, both included.
type AddressSpan struct {
	Start string `xml:"start,attr"`
	End   string `xml:"end,attr"`
	Extra
}

// Routed reports whether the host forwards packets between the network's bridge and the outside, or to nowhere: it has a
// bridge of ours. The others use what is there already.
func (n *Network) Routed() bool {
	if n.Forward == nil {
		return true
	}
	switch n.Forward.Mode {
	case "", "nat", "route", "open":
		return true
	}
	return false
}

// BridgeName is the bridge that guests are plugged into; "" where each gets a macvtap on a link of the host.
func (n *Network) BridgeName() string {
	if n.Bridge == nil {
		return ""
	}
	return n.Bridge.Name
}

// DirectMode is the mode of the macvtaps that guests get; "" where they are plugged into a bridge.
func (n *Network) DirectMode() string {
	switch {
	case n.Routed() || n.Forward.Mode == "bridge" && len(n.Forward.Uplinks())+len(n.Forward.PFs) == 0:
		return ""
	}
	return n.Forward.Mode
}

// Uplinks are the links that a document names for its way out, each once.
func (f *Forward) Uplinks() []string {
	if f == nil {
		return nil
	}
	var out []string
	if f.Dev != "" {
		out = append(out, f.Dev)
	}
	for i := range f.Interfaces {
		if dev := f.Interfaces[i].Dev; i > 0 || f.Dev == "" || dev != f.Dev {
			out = append(out, dev)
		}
	}
	return out
}

// Complete fills in what libvirt does: the mode, and the first link in both places where it can be written.
func (f *Forward) Complete() {
	if f == nil {
		return
	}
	if f.Mode == "" {
		f.Mode = "nat"
	}
	switch {
	case f.Dev != "" && len(f.Interfaces) == 0:
		f.Interfaces = []ForwardInterface{{Dev: f.Dev}}
	case f.Dev == "" && len(f.Interfaces) > 0:
		f.Dev = f.Interfaces[0].Dev
	}
}

func (f *Forward) check(n *Network) error {
	mode := f.Mode
	if mode == "" {
		mode = "nat"
	}
	if len(n.IPs) == 0 && (mode == "nat" || mode == "route") {
		return invalid("forward", "there is no <ip>; mode %s needs an address", mode)
	}
	if err := f.checkLinks(mode); err != nil {
		return err
	}
	if err := f.checkPools(mode); err != nil {
		return err
	}
	if !n.Routed() {
		if err := n.checkHandedOut(); err != nil {
			return err
		}
	}
	if f.NAT == nil {
		return nil
	}
	if mode != "nat" {
		return invalid("forward/nat", "it is for mode nat, not %s", mode)
	}
	return f.NAT.check()
}

// checkLinks checks the links that a document names for its way out.
func (f *Forward) checkLinks(mode string) error {
	if f.Dev != "" && len(f.Interfaces) > 0 && f.Interfaces[0].Dev != f.Dev {
		return invalid("forward/interface/@dev", "the first, %q, must be that of <forward dev='%s'>", f.Interfaces[0].Dev, f.Dev)
	}
	links, seen := f.Uplinks(), map[string]bool{}
	for _, dev := range links {
		switch {
		case dev == "":
			return invalid("forward/interface/@dev", "it is missing")
		case !linkName(dev):
			return invalid("forward/interface/@dev", "%q is no name of a link (1 to 15 characters, no '/', no white space)", dev)
		case seen[dev]:
			return invalid("forward/interface/@dev", "%s is named twice", dev)
		}
		seen[dev] = true
	}
	switch mode {
	case "nat", "route":
		if len(links) > 1 {
			return invalid("forward/interface", "mode %s has one way out at most, not %d", mode, len(links))
		}
	case "open":
		if len(links) > 0 {
			return invalid("forward", "mode open has no rules, so its traffic is not tied to a link; leave %s out", links[0])
		}
	}
	return nil
}

// checkHandedOut checks a network whose guests are on what the host has already.
func (n *Network) checkHandedOut() error {
	mode, links := n.Forward.Mode, n.Forward.Uplinks()
	if mode != "hostdev" && len(n.Forward.PFs) > 0 {
		links = []string{n.Forward.PFs[0].Dev}
	}
	switch {
	case mode != "bridge" && n.BridgeName() != "":
		return invalid("bridge", "mode %s puts guests on links of the host; leave it out", mode)
	case mode != "bridge" && mode != "hostdev" && len(links) == 0:
		return invalid("forward/interface", "mode %s needs at least one <interface dev='…'/>", mode)
	case n.BridgeName() != "" && len(links) > 0:
		return invalid("forward", "guests are either on bridge %s or on %s; leave one of the two out", n.Bridge.Name, links[0])
	case mode == "bridge" && n.BridgeName() == "" && len(links) == 0:
		return invalid("forward", "mode bridge needs a <bridge name='…'/>, or at least one <interface dev='…'/>")
	case len(n.IPs) > 0:
		return unsupported("ip", "mode %s has no address of its own: the host does not answer there", mode)
	case n.DNS != nil:
		return unsupported("dns", "mode %s serves no names", mode)
	case n.Domain != nil:
		return unsupported("domain", "mode %s serves no names", mode)
	}
	return nil
}

// ParseForwardInterface reads an <interface> of a <forward>. Errors are of type *SyntaxError.
func ParseForwardInterface(doc []byte) (*ForwardInterface, error) {
	i := new(ForwardInterface)
	return i, decodeDocument(doc, "interface", i)
}
