package spec

// ParseDHCPHost reads one <host> of a <dhcp>, as virNetworkUpdate carries it.
func ParseDHCPHost(doc []byte) (*DHCPHost, error) {
	h := new(DHCPHost)
	return h, decodeDocument(doc, "host", h)
}

// ParseDHCPRange reads one <range> of a <dhcp>.
func ParseDHCPRange(doc []byte) (*DHCPRange, error) {
	r := new(DHCPRange)
	return r, decodeDocument(doc, "range", r)
}
