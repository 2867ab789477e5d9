package guest

import (
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// filesystems settles what shared folders leave open.
func (c *completer) filesystems() error {
	for i := range c.dev.Filesystems {
		f := &c.dev.Filesystems[i]
		if !c.fam.pci() {
			return unsupported("filesystem", "shared folders are not possible on machine %s; use pc or q35", c.d.OS.Type.Machine)
		}
		f.Type, f.AccessMode = def(f.Type, "mount"), def(f.AccessMode, "passthrough")
		f.Model = "" // there is one, and libvirt does not show it
	}
	return nil
}

// filesystems connects QEMU with the programs that share folders.
func (c *compiler) filesystems() error {
	for i := range c.dev.Filesystems {
		f := &c.dev.Filesystems[i]
		id, file := f.Alias.Name, f.Alias.Name+"-socket"
		if f.Source.Socket != "" {
			c.need(Need{Name: file, Path: f.Source.Socket, Access: Dial, Device: id})
		} else {
			c.companion(Companion{Device: id, File: file, Share: f})
		}
		chardev := "chr-vu-" + id
		c.cfg.Chardevs = append(c.cfg.Chardevs, qemu.Chardev{ID: chardev, Backend: "socket", Props: qemu.Props{{Key: "fd", Value: qemu.FD(file)}}})
		p := device("vhost-user-fs-pci", id).With("chardev", chardev).With("tag", f.Target.Dir)
		if f.Driver.Queue != "" {
			n, err := number(f.Driver.Queue)
			if err != nil {
				return invalid("filesystem/driver", "queue=%q is no number", f.Driver.Queue)
			}
			p = p.With("queue-size", n)
		}
		if err := c.device(p, f.Address); err != nil {
			return err
		}
	}
	return nil
}

func filesystemOf(fam family, installed Companions) *spec.DomainCapsDevice {
	return spec.Device(fam.pci() && installed.VirtioFSD, spec.Enum("driverType", "virtiofs"))
}
