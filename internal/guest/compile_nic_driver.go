package guest

import (
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// nicQueues is how many pairs of queues a NIC has. Models that are no virtio have one.
func nicQueues(n *spec.Interface, i int) (int, error) {
	if n.Driver == nil || n.Driver.Queues == "" || !n.Virtio() {
		return 1, nil
	}
	q, err := strconv.Atoi(n.Driver.Queues)
	if err != nil || q < 1 || q > 256 {
		return 0, invalid("interface/driver", "%s: queues=%q is no number between 1 and 256", nicName(n, i), n.Driver.Queues)
	}
	return q, nil
}

// nicDriverOptions adds what <driver> says of a virtio NIC and of no other device.
func (c *compiler) nicDriverOptions(p qemu.Props, n *spec.Interface, queues int) qemu.Props {
	if queues > 1 {
		p = p.With("mq", true)
	}
	switch {
	case !c.fam.pci():
	case c.fewer:
		p = p.With("vectors", c.vectors)
	case queues > 1:
		p = p.With("vectors", 2*queues+2) // one per ring, one for the control queue, one for changes
	}
	if n.Teaming != nil && n.Teaming.Type == "persistent" {
		p = p.With("failover", true)
	}
	d := n.Driver
	if d == nil {
		return p
	}
	if tx := map[string]string{"iothread": "bh", "timer": "timer"}[d.TxMode]; tx != "" {
		p = p.With("tx", tx)
	}
	for _, size := range []struct{ property, said string }{{"rx_queue_size", d.RxQueueSize}, {"tx_queue_size", d.TxQueueSize}} {
		if k, err := strconv.Atoi(size.said); err == nil {
			p = p.With(size.property, k)
		}
	}
	host, guest := d.Host, d.Guest
	if host == nil {
		host = &spec.NICOffloads{}
	}
	if guest == nil {
		guest = &spec.NICOffloads{}
	}
	for _, s := range []struct{ property, said string }{
		{"rss", d.RSS},
		{"hash", d.RSSHashReport},
		{"csum", host.CSum},
		{"gso", host.GSO},
		{"host_tso4", host.TSO4},
		{"host_tso6", host.TSO6},
		{"host_ecn", host.ECN},
		{"host_ufo", host.UFO},
		{"mrg_rxbuf", host.MrgRxBuf},
		{"guest_csum", guest.CSum},
		{"guest_tso4", guest.TSO4},
		{"guest_tso6", guest.TSO6},
		{"guest_ecn", guest.ECN},
		{"guest_ufo", guest.UFO},
	} {
		if s.said != "" {
			p = p.With(s.property, s.said == "on")
		}
	}
	return p
}

// CanVHost reports whether a NIC's packets could go through vhost-net and its document does not say otherwise: it is
// virtio's, and on a tap.
func CanVHost(n *spec.Interface) bool {
	switch n.Type {
	case "network", "bridge", "direct", "ethernet":
	default:
		return false
	}
	return n.Virtio() && (n.Driver == nil || n.Driver.Name != "qemu")
}

// HasVHost reports whether they do, in a document of a guest that runs.
func HasVHost(n *spec.Interface) bool {
	return CanVHost(n) && n.Driver != nil && n.Driver.Name == "vhost"
}
