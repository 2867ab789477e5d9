package proto

// Connect asks for the appliance's NIC to be brought up. Addresses are texts.
type Connect struct {
	MAC     []byte   // 6 bytes, the NIC's own address from then on; empty: as it is
	Address string   // with the length of its network's prefix; "": a DHCP server says it, and the rest
	Gateway string   // "": there is none
	DNS     []string // servers
}

// Code implements Message.
func (m *Connect) Code(c *Coder) {
	c.Bytes(&m.MAC)
	c.String(&m.Address)
	c.String(&m.Gateway)
	c.Strings(&m.DNS)
}

// Link is an appliance's NIC on its network.
type Link struct {
	Name    string
	MAC     []byte
	Address string // with the length of its network's prefix
	Gateway string // "" for none
	DNS     []string
}

// Code implements Message.
func (m *Link) Code(c *Coder) {
	c.String(&m.Name)
	c.Bytes(&m.MAC)
	c.String(&m.Address)
	c.String(&m.Gateway)
	c.Strings(&m.DNS)
}
