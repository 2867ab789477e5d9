package spec

// NICDriver is how a virtio NIC works: what carries its packets, its queues, and what of the packets' work is left to whom.
// The models that are no virtio have none of it: it is kept, and without effect, as with libvirt.
type NICDriver struct {
	Name          string       `xml:"name,attr,omitempty"`   // qemu, vhost; "" is vhost where the host has it
	TxMode        string       `xml:"txmode,attr,omitempty"` // iothread, timer
	IOEventFD     string       `xml:"ioeventfd,attr,omitempty"`
	EventIdx      string       `xml:"event_idx,attr,omitempty"`
	Queues        string       `xml:"queues,attr,omitempty"`        // pairs of them
	RxQueueSize   string       `xml:"rx_queue_size,attr,omitempty"` // in descriptors
	TxQueueSize   string       `xml:"tx_queue_size,attr,omitempty"` // QEMU makes it 256 with all backends but vhost-user
	RSS           string       `xml:"rss,attr,omitempty"`
	RSSHashReport string       `xml:"rss_hash_report,attr,omitempty"`
	Host          *NICOffloads `xml:"host"`
	Guest         *NICOffloads `xml:"guest"`
	Extra
}

// NICOffloads are what the host does for the guest, or the guest for the host; each on or off, or "" for QEMU's default.
type NICOffloads struct {
	CSum     string `xml:"csum,attr,omitempty"`
	GSO      string `xml:"gso,attr,omitempty"` // the host's alone, as MrgRxBuf is
	TSO4     string `xml:"tso4,attr,omitempty"`
	TSO6     string `xml:"tso6,attr,omitempty"`
	ECN      string `xml:"ecn,attr,omitempty"`
	UFO      string `xml:"ufo,attr,omitempty"`
	MrgRxBuf string `xml:"mrg_rxbuf,attr,omitempty"`
	Extra
}

// Virtio reports whether a NIC's model is virtio's, in whatever revision.
func (n *Interface) Virtio() bool {
	return n.Model != nil && (n.Model.Type == "virtio" || n.Model.Type == "virtio-transitional" || n.Model.Type == "virtio-non-transitional")
}

// nicDriverRules judges <driver> of interfaces.
func nicDriverRules() map[string]rule {
	const at = "devices/interface/driver/"
	m := map[string]rule{
		at + "@name":            values("qemu vhost", "kvm vfio xen"),
		at + "@txmode":          values("iothread timer", ""),
		at + "@ioeventfd":       onOff(),
		at + "@event_idx":       onOff(),
		at + "@queues":          number(1, 256),
		at + "@rx_queue_size":   queueSize("256 512 1024"),
		at + "@tx_queue_size":   queueSize("256 512 1024"),
		at + "@rss":             onOff(),
		at + "@rss_hash_report": onOff(),
		at + "guest/@gso":       refuse("it is the host's: <host gso='…'/>"),
		at + "guest/@mrg_rxbuf": refuse("it is the host's: <host mrg_rxbuf='…'/>"),
	}
	for _, side := range []string{"host/@", "guest/@"} {
		for _, what := range []string{"csum", "tso4", "tso6", "ecn", "ufo"} {
			m[at+side+what] = onOff()
		}
	}
	m[at+"host/@gso"], m[at+"host/@mrg_rxbuf"] = onOff(), onOff()
	return m
}

// queueSize allows the lengths that QEMU gives to a virtio NIC's queues: powers of two (virtio-net.c).
func queueSize(sizes string) rule {
	known := values(sizes, "")
	return func(v string, e *Element) finding {
		f := known(v, e)
		if f.reason != "" {
			f.reason += ": a queue has a power of two of descriptors"
		}
		return f
	}
}
