package guest

import (
	"taproom/internal/spec"
)

// Complete fills in what the document leaves open. It keeps every address it finds, and refuses a document whose
// addresses clash or whose devices have nowhere to go. The order of its steps is the order in which libvirt appends
// implicit devices: it shows in dumpxml and decides the addresses.
func Complete(d *spec.Domain, f HostFacts) error {
	c := completer{d: d, host: f}
	return c.complete()
}

// CompleteRunning is Complete for the document of a running guest that a device was added to, and of a saved guest:
// names of devices stay, and so does how many interrupts the NICs have, whatever was plugged since they were counted.
func CompleteRunning(d *spec.Domain, f HostFacts) error {
	c := completer{d: d, host: f, running: true}
	return c.complete()
}

func (c *completer) complete() error {
	if c.d.Devices == nil {
		c.d.Devices = &spec.Devices{}
	}
	c.dev = c.d.Devices
	steps := []func() error{
		c.forget, c.identity, c.genID, c.enlightenments, c.machine, c.firmware, c.memory, c.cpu, c.boot, c.clock, c.lifecycle,
		c.diskOrder, c.controllerOrder,
		c.disks, c.interfaces, c.serials, c.channels,
		c.redirections, c.defaultControllers, c.inputs, c.filesystems, c.tpms, c.graphics, c.audios, c.sounds, c.videos, c.smallDevices, c.vsock, c.threads,
		c.driveAddresses, c.driveControllers,
		c.virtioSerialControllers, c.virtioSerialAddresses, c.smartcards,
		c.usbAddresses, c.pciAddresses, c.mmioAddresses, c.deviceOptions,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// completer carries one Complete.
type completer struct {
	d    *spec.Domain
	dev  *spec.Devices
	host HostFacts
	fam  family

	running bool
}
