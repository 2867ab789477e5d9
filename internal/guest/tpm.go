package guest

import (
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// Companion is a program that serves one of QEMU's devices and has to run beside it.
type Companion struct {
	Device string    // its alias: tpm0
	File   string    // QEMU's end of the socket, among the files of the Config
	TPM    *spec.TPM // either is nil
	Share  *spec.Filesystem
	// Passt is how passt is told of a NIC's addresses and ports; empty but not nil for one that takes the host's.
	Passt []string
	Log   string // where it writes, in place of a log of the daemon's; "" for that
}

// tpms settles models and versions. A TPM 1.2 is what tpm-tis has always been, and a tpm-crb is a TPM 2.0 by definition.
func (c *completer) tpms() error {
	for i := range c.dev.TPMs {
		t := &c.dev.TPMs[i]
		t.Model = def(t.Model, "tpm-tis")
		if !c.fam.isaDebug {
			return unsupported("tpm", "model=%q is not possible on machine %s; use pc or q35", t.Model, c.d.OS.Type.Machine)
		}
		if b := &t.Backend; b.Type == "emulator" {
			b.Version = def(b.Version, map[bool]string{true: "2.0", false: "1.2"}[t.Model == "tpm-crb"])
			if b.PersistentState == "no" {
				b.PersistentState = "" // as libvirt shows it
			}
		} else {
			b.Source.Mode = def(b.Source.Mode, "connect")
		}
	}
	return nil
}

// tpms connects QEMU with the program that is the TPM.
func (c *compiler) tpms() error {
	for i := range c.dev.TPMs {
		t := &c.dev.TPMs[i]
		id, file := t.Alias.Name, t.Alias.Name+"-socket"
		if t.Backend.Type == "emulator" {
			c.companion(Companion{Device: id, File: file, TPM: t})
		} else {
			c.need(Need{Name: file, Path: t.Backend.Source.Path, Access: Dial, Device: id})
		}
		c.cfg.Chardevs = append(c.cfg.Chardevs, qemu.Chardev{ID: "chr" + id, Backend: "socket", Props: qemu.Props{{Key: "fd", Value: qemu.FD(file)}}})
		c.flag("-tpmdev", qemu.Option{Head: "emulator", Props: qemu.Props{{Key: "id", Value: "tpm-" + id}, {Key: "chardev", Value: "chr" + id}}})
		if err := c.device(device(t.Model, id).With("tpmdev", "tpm-"+id), nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) companion(p Companion) { c.out.Companions = append(c.out.Companions, p) }

// Companions says which programs there are that serve devices.
type Companions struct {
	SWTPM, VirtioFSD bool
}

// tpmOf lists what can be chosen for a TPM.
func tpmOf(fam family, installed Companions) *spec.DomainCapsDevice {
	enums := []spec.DomainCapsEnum{spec.Enum("model", "tpm-tis", "tpm-crb")}
	if installed.SWTPM {
		enums = append(enums, spec.Enum("backendModel", "emulator", "external"), spec.Enum("backendVersion", "1.2", "2.0"))
	} else {
		enums = append(enums, spec.Enum("backendModel", "external"))
	}
	return spec.Device(fam.isaDebug, enums...)
}
