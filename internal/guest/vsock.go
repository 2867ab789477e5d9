package guest

import (
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// VsockDevice is the host's end of guests' vsocks.
const VsockDevice = "/dev/vhost-vsock"

// vsock settles its model, and who chooses its number.
func (c *completer) vsock() error {
	v := c.dev.Vsock
	if v == nil {
		return nil
	}
	v.Model = def(v.Model, "virtio")
	driver := "vhost-vsock-device"
	if c.fam.pci() {
		driver = "vhost-vsock-pci"
	}
	switch {
	case !c.virtioModel(v.Model):
		return unsupported("vsock", "model=%q is not possible on machine %s; use virtio", v.Model, c.d.OS.Type.Machine)
	case !c.host.hasDevice(driver):
		return unsupported("vsock", "emulator %s has no %s; remove the device, or name another emulator", c.dev.Emulator, driver)
	}
	if v.CID == nil {
		v.CID = &spec.CID{}
	}
	if v.CID.Auto == "" {
		v.CID.Auto = "yes"
		if v.CID.Address != "" {
			v.CID.Auto = "no"
		}
	}
	return nil
}

// vsock hands QEMU a descriptor on which the number is claimed already.
func (c *compiler) vsock() error {
	v := c.dev.Vsock
	if v == nil {
		return nil
	}
	cid, err := CID(v, c.rt.CID)
	if err != nil {
		return err
	}
	name := "vhost-" + v.Alias.Name
	c.need(Need{Name: name, Path: VsockDevice, Access: VHostVsock, Device: v.Alias.Name})
	return c.device(device(c.virtio("vhost-vsock", v.Model), v.Alias.Name).With("guest-cid", cid).With("vhostfd", qemu.FD(name)), v.Address)
}

// CID is the number of a completed document's vsock: the document's own, or the one that was claimed for this run.
func CID(v *spec.Vsock, claimed uint32) (uint32, error) {
	if v.CID.Auto == "yes" {
		if claimed == 0 {
			return 0, invalid("vsock", "no number was claimed for it")
		}
		return claimed, nil
	}
	n, err := strconv.ParseUint(v.CID.Address, 10, 32)
	if err != nil {
		return 0, invalid("vsock/cid", "address=%q is no number", v.CID.Address)
	}
	return uint32(n), nil
}

// liveVsock shows the number that was claimed.
func liveVsock(v *spec.Vsock, rt Runtime) {
	if v != nil && v.CID.Auto == "yes" && rt.CID != 0 {
		v.CID.Address = strconv.FormatUint(uint64(rt.CID), 10)
	}
}
