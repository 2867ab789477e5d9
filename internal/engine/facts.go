package engine

import (
	"context"
	"errors"
	"sync"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// facts is what is asked of the host once: its emulators, and whether KVM works.
type facts struct {
	prober  *qemu.Prober
	kvmOnce func() qemu.KVM
}

// openFacts prepares the probes. Nothing is run before somebody asks.
func (e *Engine) openFacts(context.Context) error {
	uid, err := e.uids.Take()
	if err != nil {
		return err
	}
	e.facts = &facts{
		prober: &qemu.Prober{
			Kernel: e.k, Launcher: e.cfg.Launch, CacheDir: e.paths.Cache, RunDir: e.paths.Run, Timeout: e.cfg.ReadyWithin,
			Confinement: e.confinement(uid),
			Env: func(binary string) (env, firmware []string) {
				beside := qemu.Locate(binary)
				return beside.Env, beside.Firmware
			},
		},
		kvmOnce: sync.OnceValue(func() qemu.KVM { return qemu.ProbeKVM(e.ctx, e.k) }),
	}
	return nil
}

// kvm says whether KVM works, and why not.
func (e *Engine) kvm() qemu.KVM { return e.kvmOnce() }

// capabilities asks an emulator what it can do.
func (e *Engine) capabilities(ctx context.Context, emulator string) (*qemu.Capabilities, error) {
	c, err := e.prober.Probe(ctx, emulator)
	var start *qemu.StartError
	switch {
	case err == nil:
		return c, nil
	case errors.As(err, &start) && errors.Is(err, qemu.ErrBinary):
		return nil, virterr.New(virterr.ConfigUnsupported, "%w; %s", err, anotherEmulator)
	}
	return nil, virterr.New(virterr.InternalError, "an emulator does not say what it can do: %w; %s", err, anotherEmulator)
}

// emulatorOf is the QEMU that runs a document.
func (e *Engine) emulatorOf(doc *spec.Domain) string {
	if doc.Devices != nil && doc.Devices.Emulator != "" {
		return doc.Devices.Emulator
	}
	return e.cfg.Emulator
}

// hostFacts is what completing a document has to know.
func (e *Engine) hostFacts(ctx context.Context, emulator string) (guest.HostFacts, error) {
	c, err := e.capabilities(ctx, emulator)
	if err != nil {
		return guest.HostFacts{}, err
	}
	f := guest.HostFacts{
		Arch: c.Arch, Emulator: emulator, DefaultMachine: "pc", ChannelDirs: []string{e.paths.Guests()},
		Devices: c.Devices, Chardevs: c.Chardevs, Firmware: e.firmware, NVRAMDir: e.paths.NVRAM(), NVRAMTaken: e.nvramTaken,
	}
	for _, m := range c.Machines {
		f.Machines = append(f.Machines, guest.Machine{Name: m.Name, Alias: m.Alias, MaxCPUs: m.CPUMax})
	}
	if kvm := e.kvm(); !kvm.Usable {
		f.KVM = errors.New(kvm.Reason)
	}
	return f, nil
}
