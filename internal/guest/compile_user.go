package guest

import (
	"fmt"
	"strconv"
	"strings"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// maxForwards bounds the ports that QEMU's own user network forwards: each is a socket of its own.
const maxForwards = 1024

// userNetdev is the host's side of a NIC without a link on the host.
func (c *compiler) userNetdev(n *spec.Interface, i int, id string) error {
	if n.Passt() {
		c.passt(n, id)
		return nil
	}
	return c.slirp(n, i, id)
}

// passt connects a NIC with the passt that carries its frames.
func (c *compiler) passt(n *spec.Interface, id string) {
	file := n.Alias.Name + "-passt"
	c.companion(Companion{Device: n.Alias.Name, File: file, Passt: passtOptions(n), Log: n.Backend.LogFile})
	c.cfg.Netdevs = append(c.cfg.Netdevs, qemu.Props{
		{Key: "type", Value: "stream"},
		{Key: "id", Value: id},
		{Key: "server", Value: false},
		{Key: "addr", Value: qemu.Props{{Key: "type", Value: "fd"}, {Key: "str", Value: qemu.FD(file)}}},
	})
}

// passtOptions say what a document chooses; the rest passt takes from the host's link with the default route.
func passtOptions(n *spec.Interface) []string {
	o := []string{}
	for k := range n.IPs {
		subnet := n.IPs[k].Subnet()
		o = append(o, "--address", subnet.Addr().String())
		if subnet.Addr().Is4() {
			o = append(o, "--netmask", strconv.Itoa(subnet.Bits()))
		}
	}
	if n.Source != nil && n.Source.Dev != "" {
		o = append(o, "--interface", n.Source.Dev)
	}
	for k := range n.Forwards {
		f := &n.Forwards[k]
		o = append(o, "--"+f.Proto+"-ports", passtForward(f))
	}
	return o
}

// passtForward is a forwarding as passt writes it: [address][%device]/ports, "all" where none are named.
func passtForward(f *spec.PortForward) string {
	var ports []string
	for k := range f.Ranges {
		first, last, to := f.Ranges[k].Ports()
		one := portRange(first, last)
		switch {
		case f.Ranges[k].Exclude == "yes":
			one = "~" + one
		case to != first:
			one += ":" + portRange(to, to+last-first)
		}
		ports = append(ports, one)
	}
	if len(ports) == 0 {
		ports = []string{"all"}
	}
	at := f.Address
	if f.Dev != "" {
		at += "%" + f.Dev
	}
	if at != "" {
		at += "/"
	}
	return at + strings.Join(ports, ",")
}

// portRange is one port, or several in a row.
func portRange(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

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
