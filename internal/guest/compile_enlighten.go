package guest

import (
	"strconv"
	"strings"

	"taproom/internal/qemu"
)

// enlightenments checks, at define time, what Windows guests are told.
func (c *completer) enlightenments() error {
	f := c.d.Features
	if f == nil || f.HyperV == nil {
		return nil
	}
	h := f.HyperV
	h.Mode = def(h.Mode, "custom")
	// QEMU has these for KVM. Without KVM it takes them and does nothing, but this one, of which it says that the kernel
	// does not allow it (7.2 and 10.0).
	if c.d.Type != "kvm" && h.Mode == "custom" && h.VPIndex != nil && h.VPIndex.State == "on" {
		return unsupported("features/hyperv/vpindex", "the number of a virtual processor is given by KVM only; use type='kvm', or leave it out")
	}
	return nil
}

// enlightenments are those that can be chosen under KVM, in libvirt's order.
func enlightenments() []string {
	return []string{
		"relaxed", "vapic", "spinlocks", "vpindex", "runtime", "synic", "stimer", "reset", "vendor_id", "frequencies",
		"reenlightenment", "tlbflush", "ipi", "evmcs", "avic", "emsr_bitmap", "xmm_input",
	}
}

// hyperv are the enlightenments as properties of the processor.
func (c *compiler) hyperv() qemu.Props {
	var p qemu.Props
	h := c.features().HyperV
	if h == nil {
		return nil
	}
	if h.Mode == "passthrough" {
		return p.With("hv-passthrough", true)
	}
	add := func(name, state string) {
		if state != "" {
			p = p.With("hv-"+strings.ReplaceAll(name, "_", "-"), state == "on")
		}
	}
	for _, s := range h.Switches() {
		add(s.Name, s.State.State)
	}
	if s := h.Spinlocks; s != nil && s.State == "on" {
		p = p.With("hv-spinlocks", s.Retries)
	}
	if s := h.STimer; s != nil {
		add("stimer", s.State)
		if s.Direct != nil && s.State == "on" {
			add("stimer-direct", s.Direct.State)
		}
	}
	if v := h.VendorID; v != nil && v.State == "on" {
		p = p.With("hv-vendor-id", v.Value)
	}
	if t := h.TLBFlush; t != nil {
		add("tlbflush", t.State)
		if t.Direct != nil && t.State == "on" {
			add("tlbflush-direct", t.Direct.State)
		}
		if t.Extended != nil && t.State == "on" {
			add("tlbflush-ext", t.Extended.State)
		}
	}
	return p
}

// kvmFeatures are what KVM tells the guest, as properties of the processor. Without KVM there is nothing to tell.
func (c *compiler) kvmFeatures() qemu.Props {
	var p qemu.Props
	f := c.features()
	if f.APIC != nil && f.APIC.EOI != "" {
		p = p.With("kvm-pv-eoi", f.APIC.EOI == "on")
	}
	if set, v := on(f.PVSpin); set {
		p = p.With("kvm-pv-unhalt", v)
	}
	if f.KVM == nil {
		return p
	}
	for _, s := range f.KVM.Switches() {
		if s.Name != "hidden" {
			p = p.With("kvm-"+s.Name, s.State.State == "on")
		} else if s.State.State == "on" {
			p = p.With("kvm", false)
		}
	}
	return p
}

// accelerator is KVM with what it keeps per processor, or TCG.
func (c *compiler) accelerator() (qemu.Option, error) {
	o := qemu.Option{Head: c.rt.Accel}
	if k := c.features().KVM; c.kvm() && k != nil && k.DirtyRing != nil && k.DirtyRing.State == "on" {
		n, err := strconv.Atoi(k.DirtyRing.Size)
		if err != nil {
			return o, invalid("features/kvm/dirty-ring", "size=%q is no number", k.DirtyRing.Size)
		}
		o.Props = o.Props.With("dirty-ring-size", n)
	}
	return o, nil
}
