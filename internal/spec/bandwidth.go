package spec

// Bandwidth bounds traffic, as the guest sees it.
type Bandwidth struct {
	Inbound  *Rate `xml:"inbound"`
	Outbound *Rate `xml:"outbound"`
	Extra
}

// Rate is one direction's bound. Average, Peak and Floor are in KiB a second, Burst is in KiB.
type Rate struct {
	Average string `xml:"average,attr,omitempty"`
	Peak    string `xml:"peak,attr,omitempty"`
	Burst   string `xml:"burst,attr,omitempty"`
	Floor   string `xml:"floor,attr,omitempty"` // what is guaranteed; only inbound, and only of a NIC
	Extra
}

// mostRate is libvirt's largest number, in its parameters: 4 TiB/s.
const mostRate = 1<<32 - 1

// longestBurst is how many seconds a burst may last at its average: the kernel counts them in 32 bits of 64 ns.
const longestBurst = 274

// Same reports whether two bound alike; nil bounds nothing.
func (b *Bandwidth) Same(o *Bandwidth) bool {
	return (b == nil) == (o == nil) && (b == nil || string(formatDocument("bandwidth", b)) == string(formatDocument("bandwidth", o)))
}

// Check reports what is wrong with bounds, which at says the place of. A floor is a NIC's on a network, and with floors allowed.
func (b *Bandwidth) Check(at string, floors bool) error {
	if b == nil {
		return nil
	}
	if b.Outbound != nil && b.Outbound.Floor != "" {
		return unsupported(at+"/outbound/@floor", "only what comes in can be guaranteed; leave it out")
	}
	if b.Inbound != nil && b.Inbound.Floor != "" && !floors {
		return unsupported(at+"/inbound/@floor", "a floor is what a NIC has of its network's bandwidth: it is for interfaces of type='network'")
	}
	if err := b.Inbound.check(at + "/inbound"); err != nil {
		return err
	}
	return b.Outbound.check(at + "/outbound")
}

func (r *Rate) check(at string) error {
	if r == nil {
		return nil
	}
	switch {
	case r.Average == "" && (r.Peak != "" || r.Burst != ""):
		return invalid(at+"/@average", "it is missing, and peak and burst need it")
	case r.Average == "" && r.Floor == "":
		return invalid(at+"/@average", "it is missing")
	}
	n := map[string]uint64{}
	for name, v := range map[string]string{"average": r.Average, "peak": r.Peak, "burst": r.Burst} {
		if v == "" {
			continue
		}
		var err error
		if n[name], err = ParseDecimal(v, mostRate); err != nil {
			return invalid(at+"/@"+name, "%s", err)
		}
	}
	rate := n["average"]
	if n["peak"] > 0 { // below the average it may be what holds (qos.Limits.Kept)
		rate = min(rate, n["peak"])
	}
	if rate > 0 && n["burst"] > longestBurst*rate {
		return invalid(at+"/@burst", "at %d KiB/s it lasts longer than %d s; %d KiB is the most", rate, longestBurst, longestBurst*rate)
	}
	return nil
}

// bandwidthRules judges the numbers of a <bandwidth>.
func bandwidthRules(at string) map[string]rule {
	m := map[string]rule{}
	for _, way := range []string{"inbound", "outbound"} {
		for _, a := range []string{"average", "peak", "burst", "floor"} {
			m[at+"/"+way+"/@"+a] = number(0, mostRate)
		}
	}
	return m
}

// CheckBandwidth checks the bounds of a NIC: it has to have an end on the host.
func (n *Interface) CheckBandwidth() error {
	if n.Bandwidth == nil {
		return nil
	}
	switch n.Type {
	case "network", "bridge", "direct":
	case "ethernet":
		if n.GivenTap() {
			return unsupported("devices/interface/bandwidth", "the tap is somebody else's, who bounds it (tc qdisc)")
		}
	default:
		return unsupported("devices/interface/bandwidth", "an interface of type='%s' has no link on the host that could be bounded", n.Type)
	}
	return n.Bandwidth.Check("devices/interface/bandwidth", n.Type == "network")
}

// checkBandwidth checks the bounds of a network and of the NICs in its port groups.
func (n *Network) checkBandwidth() error {
	if n.Bandwidth != nil && !n.Routed() {
		mode := "bridge"
		if n.Forward != nil {
			mode = n.Forward.Mode
		}
		return unsupported("bandwidth", "the network has no bridge of its own with forward mode='%s'; bound its NICs, or port groups", mode)
	}
	if err := n.Bandwidth.Check("bandwidth", false); err != nil {
		return err
	}
	for i := range n.PortGroups {
		if err := n.PortGroups[i].Bandwidth.Check("portgroup/bandwidth", false); err != nil {
			return err
		}
	}
	return nil
}
