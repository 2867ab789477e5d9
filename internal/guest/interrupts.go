package guest

import (
	"fmt"
	"strconv"

	"taproom/internal/spec"
)

// A processor of a PC tells 256 interrupts apart. Exceptions and the guest's own kernel have some fifty of them, and a device
// for which none is left does not work at all: not with interrupts by message (MSI-X), and not on a line either, which needs
// one too. A root port takes one and a virtio NIC three, so that with one processor 48 of 82 NICs had a driver that gave up.
// Where it would come to that, all of a guest's virtio NICs have fewer: two, one for changes and one for the queues; or none,
// and then they share the lines of PCI.
const (
	interruptsOfProcessor = 200 // for devices
	interruptsOfLines     = 24  // of all processors', for the clock, ISA and the eight lines of PCI
	interruptsOfSharing   = 2   // of a virtio NIC whose queues share one
)

// interruptsURI is the namespace of the element in a document's metadata that says how many virtio NICs have. It is in the
// document because it shows in their configuration space, and so has to stay for as long as the guest runs or is saved.
const interruptsURI = "urn:taproom:interrupts"

// shareInterrupts notes how many interrupts virtio NICs have, when they cannot have what they would. A document that had a
// place for each NIC and says nothing of it stays as it is: a guest may have been saved with it by an earlier build.
func (c *completer) shareInterrupts(placed bool) error {
	if _, said := nicVectors(c.d); c.running || placed && !said {
		return nil
	}
	i, text := interruptsOf(c.d), ""
	if vectors, fewer := i.share(); fewer {
		text = fmt.Sprintf("<interfaces vectors='%d'/>", vectors)
	}
	changed, err := c.d.Metadata.WithElement(interruptsURI, "interrupts", text, c.d.Extra.Attrs)
	if err != nil {
		return invalid("metadata", "%v", err)
	}
	c.d.Metadata = changed
	return nil
}

// nicsPlaced reports whether all virtio NICs have their addresses.
func (c *completer) nicsPlaced() bool {
	for i := range c.dev.Interfaces {
		if n := &c.dev.Interfaces[i]; n.Virtio() && n.Address == nil {
			return false
		}
	}
	return true
}

// nicVectors is what a document says of its virtio NICs.
func nicVectors(d *spec.Domain) (vectors int, said bool) {
	text, ok, err := d.Metadata.Element(interruptsURI, d.Extra.Attrs)
	if !ok || err != nil {
		return 0, false
	}
	for _, vectors := range []int{0, interruptsOfSharing} {
		if text == fmt.Sprintf("<interfaces vectors='%d'/>", vectors) {
			return vectors, true
		}
	}
	return 0, false
}

// interrupts are those that a guest's devices take when it boots.
type interrupts struct {
	processors int
	nics       int // virtio NICs
	full       int // what they would take
	others     int // what everything else takes
	queues     int // and for each processor
}

// interruptsOf counts them, as a guest with Linux takes them.
func interruptsOf(d *spec.Domain) interrupts {
	n, err := d.OnlineVCPUs()
	if err != nil {
		n = 1 // refused elsewhere
	}
	i := interrupts{processors: int(n)}
	for k := range d.Devices.Interfaces {
		switch nic := &d.Devices.Interfaces[k]; {
		case nic.Virtio():
			i.nics++
			i.full += 2*NICQueues(nic) + 1 // one for each queue, and one for changes
		default:
			i.others += 3 // e1000e; others have a line
		}
	}
	for k := range d.Devices.Controllers {
		switch kind := &d.Devices.Controllers[k]; {
		case kind.Type == "pci":
			i.others++
		case kind.Type == "scsi":
			i.others, i.queues = i.others+3, i.queues+1
		case kind.Type == "usb" && kind.Model == "none":
		default:
			i.others += 3
		}
	}
	for k := range d.Devices.Disks {
		if d.Devices.Disks[k].Target.Bus == "virtio" {
			i.others, i.queues = i.others+1, i.queues+1
		}
	}
	const small = 3 // balloon, source of random numbers, vsock: as many as it may be
	i.others += small * (2 + len(d.Devices.RNGs) + len(d.Devices.Filesystems) + len(d.Devices.Inputs))
	return i
}

// room is what there is for NICs.
func (i interrupts) room() int {
	return i.processors*(interruptsOfProcessor-i.queues) - interruptsOfLines - i.others
}

// share says how many interrupts each virtio NIC has, when they cannot all have what they would.
func (i interrupts) share() (vectors int, fewer bool) {
	switch {
	case i.nics == 0 || i.full <= i.room():
		return 0, false
	case i.nics*interruptsOfSharing <= i.room():
		return interruptsOfSharing, true
	}
	return 0, true
}

// enough says how many processors they could have what they would with; 0 when no number of them is enough.
func (i interrupts) enough() int {
	each := interruptsOfProcessor - i.queues
	if each <= 0 {
		return 0
	}
	return (i.full + i.others + interruptsOfLines + each - 1) / each
}

// Crowded says, in words for whoever administers it, how a guest copes with more NICs than its processors have interrupts
// for; "" when they have.
func Crowded(d *spec.Domain) string {
	i := interruptsOf(d)
	vectors, said := nicVectors(d)
	if _, fewer := i.share(); !fewer && !said {
		return ""
	}
	var how string
	switch {
	case !said:
		how = "those that find none left do not work"
	case vectors == 0:
		how = "so they have no MSI-X and share the lines of PCI"
	default:
		how = "so the queues of each share one"
	}
	if n := i.enough(); n > 0 {
		how += fmt.Sprintf("; with %s they all have their own", plural(n, "processor"))
	}
	return fmt.Sprintf("its %d virtio NICs would take %d interrupts by message, and its other devices leave %d of those of %s: %s",
		i.nics, i.full, max(i.room(), 0), plural(i.processors, "processor"), how)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
