package spec

// NetworkPort is a <networkport> document (libvirt, formatnetworkport.html): what one NIC has of a network.
type NetworkPort struct {
	UUID        *UUID          `xml:"uuid"`
	Owner       *PortOwner     `xml:"owner"`
	Group       string         `xml:"group,omitempty"` // the port group it belongs to
	MAC         *MAC           `xml:"mac"`
	VirtualPort *VirtualPort   `xml:"virtualport"`
	Bandwidth   *Bandwidth     `xml:"bandwidth"`
	VLAN        *NICVLAN       `xml:"vlan"`
	Port        *BridgePort    `xml:"port"`
	RxFilters   *PortRxFilters `xml:"rxfilters"`
	Plug        *PortPlug      `xml:"plug"`
	Extra
}

// PortOwner is the guest, or whatever else, that a port is for.
type PortOwner struct {
	Name string `xml:"name"`
	UUID *UUID  `xml:"uuid"`
	Extra
}

// PortRxFilters says whether what the guest says of its filters is believed.
type PortRxFilters struct {
	TrustGuest string `xml:"trustGuest,attr"`
	Extra
}

// PortPlug is what the port is plugged into: a network's own bridge (network), another one (bridge), or a link (direct).
type PortPlug struct {
	Type            string `xml:"type,attr"`
	Bridge          string `xml:"bridge,attr,omitempty"`
	MACTableManager string `xml:"macTableManager,attr,omitempty"`
	Dev             string `xml:"dev,attr,omitempty"`
	Mode            string `xml:"mode,attr,omitempty"`
	Extra
}

// ParseNetworkPort reads a <networkport> document. Errors are of type *SyntaxError.
func ParseNetworkPort(doc []byte) (*NetworkPort, error) {
	p := new(NetworkPort)
	if err := decodeDocument(doc, "networkport", p); err != nil {
		return nil, err
	}
	return p, nil
}

// Format returns the document in libvirt's layout.
func (p *NetworkPort) Format() []byte { return formatDocument("networkport", p) }

// Validate reports what is wrong with the document in itself; see Domain.Validate.
func (p *NetworkPort) Validate() error {
	rules := bandwidthRules("bandwidth")
	addRules(rules, map[string]rule{
		"port/@isolated":        yesNo(),
		"rxfilters/@trustGuest": yesNo(),
		"plug/@type":            values("network bridge direct", "hostdev-pci"),
		"vlan/tag/@id":          number(0, 4095),
		"vlan/tag/@nativeMode":  values("tagged untagged", ""),
		"virtualport/@type":     values("openvswitch", "802.1Qbg 802.1Qbh midonet"),
		"plug/@macTableManager": values("kernel libvirt", ""),
	})
	w := &walker{rules: rules, path: make([]byte, 0, 64)}
	if err := w.document(p, &p.Extra); err != nil {
		return err
	}
	switch {
	case p.Owner == nil || p.Owner.Name == "":
		return invalid("owner/name", "it is missing")
	case p.Owner.UUID == nil:
		return invalid("owner/uuid", "it is missing")
	case p.MAC == nil:
		return invalid("mac", "it is missing")
	}
	if _, err := parseUnicastMAC(p.MAC.Address); err != nil {
		return invalid("mac/@address", "%s", err)
	}
	if err := p.Bandwidth.Check("bandwidth", true); err != nil {
		return err
	}
	return p.VLAN.check("vlan")
}
