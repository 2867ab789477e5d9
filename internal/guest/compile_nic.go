package guest

import (
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

func (c *compiler) interfaces() error {
	for i := range c.dev.Interfaces {
		if err := c.nic(&c.dev.Interfaces[i], i); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) nic(n *spec.Interface, i int) error {
	d, known := nicDriver(n.Model.Type)
	if !known {
		return unsupported("interface/model", "%s: type=%q is not implemented", nicName(n, i), n.Model.Type)
	}
	queues, err := nicQueues(n, i)
	if err != nil {
		return err
	}
	host := "host" + n.Alias.Name
	if err := c.netdev(n, i, host, queues); err != nil {
		return err
	}
	driver := d.driver
	if driver == "virtio-net" {
		driver = c.virtio(driver, n.Model.Type)
	}
	p := qemu.Props{
		{Key: "driver", Value: driver}, {Key: "netdev", Value: host}, {Key: "id", Value: n.Alias.Name}, {Key: "mac", Value: n.MAC.Address},
	}
	if n.Virtio() {
		p = c.nicDriverOptions(p, n, queues)
	}
	if n.MTU != nil && d.driver == "virtio-net" {
		mtu, err := strconv.ParseUint(n.MTU.Size, 10, 16)
		if err != nil || mtu < 68 {
			return invalid("interface/mtu", "%s: size=%q is none between 68 and 65535", nicName(n, i), n.MTU.Size)
		}
		p = p.With("host_mtu", int(mtu))
	}
	if n.Link != nil && n.Link.State == "up" {
		c.out.Startup.LinksUp = append(c.out.Startup.LinksUp, n.Alias.Name)
	}
	if n.Link != nil && n.Link.State == "down" {
		c.out.Startup.LinksDown = append(c.out.Startup.LinksDown, n.Alias.Name)
	}
	return c.device(c.booting(p, n.Alias.Name), n.Address)
}

// netdev is the host's side of a NIC.
func (c *compiler) netdev(n *spec.Interface, i int, id string, queues int) error {
	if n.Type == "user" {
		return c.userNetdev(n, i, id)
	}
	if n.Socket() {
		return c.socketNetdev(n, i, id, queues)
	}
	if n.GivenTap() {
		return c.givenTap(n, i, id, queues)
	}
	if n.Type != "network" && n.Type != "bridge" && n.Type != "direct" && n.Type != "ethernet" {
		return unsupported("interface", "%s: type=%q is not implemented; use network, bridge, direct, user, ethernet, server, client, mcast or udp", nicName(n, i), n.Type)
	}
	if i >= len(c.rt.NICs) || c.rt.NICs[i].Tap == "" {
		return invalid("interface", "%s: no tap was prepared for it", nicName(n, i))
	}
	r := c.rt.NICs[i]
	var taps, vhosts qemu.FDs
	for q := range queues {
		for _, f := range []struct {
			names *qemu.FDs
			name  string
			need  Need
			want  bool
		}{
			{&taps, "tap", Need{Path: r.Tap, Access: TapQueue}, true},
			{&vhosts, "vhost", Need{Path: "/dev/vhost-net", Access: VHostNet}, r.VHost},
		} {
			if !f.want {
				continue
			}
			f.need.Name, f.need.Device = f.name+strconv.Itoa(i)+"."+strconv.Itoa(q), nicName(n, i)
			*f.names = append(*f.names, f.need.Name)
			c.need(f.need)
		}
	}
	p := descriptors(qemu.Props{{Key: "type", Value: "tap"}}, "fd", taps)
	if len(vhosts) > 0 {
		p = descriptors(p.With("vhost", true), "vhostfd", vhosts)
	}
	c.cfg.Netdevs = append(c.cfg.Netdevs, sendBuffer(p, n).With("id", id))
	return nil
}

// sendBuffer adds how much of what the guest receives may wait on the tap; QEMU counts 0 as without bound.
func sendBuffer(p qemu.Props, n *spec.Interface) qemu.Props {
	if n.Tune == nil || n.Tune.SndBuf == "" {
		return p
	}
	size, _ := strconv.Atoi(n.Tune.SndBuf) // a rule has judged it
	return p.With("sndbuf", size)
}

// givenTap connects a NIC with a tap that is there already.
func (c *compiler) givenTap(n *spec.Interface, i int, id string, queues int) error {
	if queues > 1 {
		return unsupported("interface/driver", "%s: a tap that is there already is used with one queue", nicName(n, i))
	}
	need := Need{Name: "tap" + strconv.Itoa(i), Path: n.Target.Dev, Access: GivenTap, Device: nicName(n, i)}
	c.need(need)
	p := qemu.Props{{Key: "type", Value: "tap"}, {Key: "fd", Value: qemu.FD(need.Name)}}
	if i < len(c.rt.NICs) && c.rt.NICs[i].VHost {
		vhost := Need{Name: "vhost" + strconv.Itoa(i), Path: "/dev/vhost-net", Access: VHostNet, Device: nicName(n, i)}
		c.need(vhost)
		p = p.With("vhost", true).With("vhostfd", qemu.FD(vhost.Name))
	}
	c.cfg.Netdevs = append(c.cfg.Netdevs, sendBuffer(p, n).With("id", id))
	return nil
}

// descriptors adds one descriptor, or several in the plural.
func descriptors(p qemu.Props, key string, names qemu.FDs) qemu.Props {
	if len(names) == 1 {
		return p.With(key, qemu.FD(names[0]))
	}
	return p.With(key+"s", names)
}
