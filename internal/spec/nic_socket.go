package spec

import "net/netip"

// SocketAddress is where a UDP tunnel begins on this host.
type SocketAddress struct {
	Address string `xml:"address,attr,omitempty"`
	Port    string `xml:"port,attr,omitempty"`
	Extra
}

// Socket reports whether a NIC's frames go through a socket of QEMU's own, to other QEMUs: over TCP (server, client), to a
// group (mcast), or through a tunnel (udp).
func (n *Interface) Socket() bool {
	switch n.Type {
	case "server", "client", "mcast", "udp":
		return true
	}
	return false
}

// nicSocketRules judge what sockets alone have.
func nicSocketRules() map[string]rule {
	port := number(1, 65535)
	return map[string]rule{"devices/interface/source/@port": port, "devices/interface/source/local/@port": port}
}

// checkSocket checks where a socket is, and where it leads.
func (n *Interface) checkSocket() error {
	const at = "devices/interface/source/"
	if !n.Socket() {
		return nil
	}
	if n.Source == nil || n.Source.Port == "" {
		return invalid(at+"@port", "it is missing")
	}
	if n.Type != "server" || n.Source.Address != "" { // a server without one listens on all of the host's
		if err := socketAddress(at+"@address", n.Source.Address, n.Type == "mcast"); err != nil {
			return err
		}
	}
	local := n.Source.Local
	switch {
	case n.Type != "udp":
		return nil
	case local == nil || local.Port == "":
		return invalid(at+"local/@port", "it is missing: a tunnel has two ends")
	}
	return socketAddress(at+"local/@address", local.Address, false)
}

// socketAddress checks an address that QEMU's sockets take: one of IPv4, since QEMU is let look up no names.
func socketAddress(at, s string, group bool) error {
	if s == "" {
		return invalid(at, "it is missing")
	}
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return unsupported(at, "%q is no address, and QEMU looks up no names; give the address", s)
	case !a.Is4():
		return unsupported(at, "%s: QEMU's sockets between guests are for IPv4", s)
	case group != a.IsMulticast():
		return invalid(at, "%s: type='mcast' has the address of a group (224.0.0.0 to 239.255.255.255), and the others have that of a machine", s)
	}
	return nil
}
