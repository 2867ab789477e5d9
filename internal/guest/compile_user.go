package guest

import (
	"fmt"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// maxForwards bounds the ports that QEMU's own user network forwards: each is a socket of its own.
const maxForwards = 1024

// slirp is the host's side of a NIC whose network is QEMU itself.
func (c *compiler) slirp(n *spec.Interface, i int, id string) error {
	p := qemu.Props{{Key: "type", Value: "user"}, {Key: "id", Value: id}}
	for k := range n.IPs {
		subnet := n.IPs[k].Subnet()
		if subnet.Addr().Is4() {
			p = p.With("net", subnet.String())
			continue
		}
		p = p.With("ipv6-prefix", subnet.Masked().Addr().String()).With("ipv6-prefixlen", subnet.Bits())
	}
	var forwards []qemu.Props
	for k := range n.Forwards {
		f := &n.Forwards[k]
		for _, to := range forwarded(f.Ranges) {
			if len(forwards) == maxForwards {
				return unsupported("interface/portForward", "%s: QEMU's own user network forwards at most %d ports; add <backend type='passt'/> for more", nicName(n, i), maxForwards)
			}
			forwards = append(forwards, qemu.Props{{Key: "str", Value: fmt.Sprintf("%s:%s:%d-:%d", f.Proto, f.Address, to.host, to.guest)}})
		}
	}
	if len(forwards) > 0 {
		p = p.With("hostfwd", forwards)
	}
	c.cfg.AnyTCP = true
	c.cfg.Netdevs = append(c.cfg.Netdevs, p)
	return nil
}

// forward is one port of the host and the guest's that it leads to.
type forward struct{ host, guest int }

// forwarded are the ports of ranges without those that others exclude.
func forwarded(ranges []spec.PortRange) []forward {
	excluded := map[int]bool{}
	for i := range ranges {
		if ranges[i].Exclude == "yes" {
			for first, last, _ := ranges[i].Ports(); first <= last; first++ {
				excluded[first] = true
			}
		}
	}
	var out []forward
	for i := range ranges {
		if ranges[i].Exclude == "yes" {
			continue
		}
		for first, last, to := ranges[i].Ports(); first <= last; first, to = first+1, to+1 {
			if !excluded[first] {
				out = append(out, forward{first, to})
			}
		}
	}
	return out
}
