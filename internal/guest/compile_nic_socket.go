package guest

import (
	"net"
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// socketNetdev is a socket of QEMU's own to other QEMUs, which speak its protocol: each frame behind its length over TCP, or
// one in each datagram. Whoever reaches the port is on the guest's network.
func (c *compiler) socketNetdev(n *spec.Interface, i int, id string, queues int) error {
	if queues > 1 {
		return unsupported("interface/driver", "%s: type='%s' is used with one queue", nicName(n, i), n.Type)
	}
	to := net.JoinHostPort(n.Source.Address, n.Source.Port)
	port, _ := strconv.ParseUint(n.Source.Port, 10, 16) // a rule has judged it
	p := qemu.Props{{Key: "type", Value: "socket"}}
	switch n.Type {
	case "server":
		c.cfg.BindTCP = append(c.cfg.BindTCP, uint16(port))
		p = p.With("listen", to)
	case "client":
		c.cfg.ConnectTCP = append(c.cfg.ConnectTCP, uint16(port))
		p = p.With("connect", to)
	case "mcast":
		p = p.With("mcast", to)
	case "udp":
		p = p.With("udp", to).With("localaddr", net.JoinHostPort(n.Source.Local.Address, n.Source.Local.Port))
	}
	c.cfg.Netdevs = append(c.cfg.Netdevs, p.With("id", id))
	return nil
}
