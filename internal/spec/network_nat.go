package spec

import "net/netip"

// The ports that guests behind NAT get when nothing else is asked for: none that a server takes for a privileged program's.
const (
	NATFirstPort uint16 = 1024
	NATLastPort  uint16 = 65535
)

// Sources are what guests look like to the outside: addresses of IPv4 from first to last, both invalid where it is the
// outgoing link's, and ports. It may be called on nil. The document must have been validated.
func (n *NAT) Sources() (first, last netip.Addr, low, high uint16) {
	low, high = NATFirstPort, NATLastPort
	if n == nil {
		return first, last, low, high
	}
	if n.Address != nil {
		first, last, _ = n.Address.Addrs()
	}
	if n.Port != nil {
		low, high, _ = n.Port.Ports()
	}
	return first, last, low, high
}

func (n *NAT) check() error {
	if n.Address != nil {
		first, _, err := n.Address.Addrs()
		switch {
		case err != nil:
			return invalid("forward/nat/address", "%s", err)
		case !first.Is4():
			return invalid("forward/nat/address", "%s is no IPv4 address: guests are given other addresses in IPv4 only", first)
		case first.IsUnspecified() || first.IsMulticast() || first.IsLoopback():
			return invalid("forward/nat/address", "nobody outside answers to %s", first)
		}
	}
	if n.Port != nil {
		low, _, err := n.Port.Ports()
		switch {
		case err != nil:
			return invalid("forward/nat/port", "%s", err)
		case low == 0:
			return invalid("forward/nat/port", "ports are 1 to 65535")
		}
	}
	return nil
}
