package spec

import (
	"math/bits"
	"slices"
	"strings"
)

// APIC is <apic eoi=>: eoi switches KVM's paravirtual end of interrupt.
type APIC struct {
	State string `xml:"state,attr,omitempty"`
	EOI   string `xml:"eoi,attr,omitempty"`
	Extra
}

// HyperV are the enlightenments that make Windows run well, in the order in which libvirt writes them.
type HyperV struct {
	Mode            string     `xml:"mode,attr,omitempty"` // custom or passthrough
	Relaxed         *State     `xml:"relaxed"`
	VAPIC           *State     `xml:"vapic"`
	Spinlocks       *Spinlocks `xml:"spinlocks"`
	VPIndex         *State     `xml:"vpindex"`
	Runtime         *State     `xml:"runtime"`
	SynIC           *State     `xml:"synic"`
	STimer          *STimer    `xml:"stimer"`
	Reset           *State     `xml:"reset"`
	VendorID        *VendorID  `xml:"vendor_id"`
	Frequencies     *State     `xml:"frequencies"`
	ReEnlightenment *State     `xml:"reenlightenment"`
	TLBFlush        *TLBFlush  `xml:"tlbflush"`
	IPI             *State     `xml:"ipi"`
	EVMCS           *State     `xml:"evmcs"`
	AVIC            *State     `xml:"avic"`
	EMSRBitmap      *State     `xml:"emsr_bitmap"`
	XMMInput        *State     `xml:"xmm_input"`
	Extra
}

// Spinlocks says how often a guest tries a lock before it tells the hypervisor; Retries is at least 4095.
type Spinlocks struct {
	State   string `xml:"state,attr"`
	Retries string `xml:"retries,attr,omitempty"`
	Extra
}

// STimer are synthetic timers; Direct mode delivers them as interrupts.
type STimer struct {
	State  string `xml:"state,attr"`
	Direct *State `xml:"direct"`
	Extra
}

// VendorID is the hypervisor's name as the guest reads it, up to twelve characters.
type VendorID struct {
	State string `xml:"state,attr"`
	Value string `xml:"value,attr,omitempty"`
	Extra
}

// TLBFlush is the paravirtual flush, with the ways to ask for it that came later.
type TLBFlush struct {
	State    string `xml:"state,attr"`
	Direct   *State `xml:"direct"`
	Extended *State `xml:"extended"`
	Extra
}

// KVMFeatures are what KVM itself tells guests, in the order in which libvirt writes them.
type KVMFeatures struct {
	Hidden        *State     `xml:"hidden"`
	HintDedicated *State     `xml:"hint-dedicated"`
	PollControl   *State     `xml:"poll-control"`
	PVIPI         *State     `xml:"pv-ipi"`
	DirtyRing     *DirtyRing `xml:"dirty-ring"`
	Extra
}

// DirtyRing is how many pages KVM remembers as written per processor: a power of two from 1024 to 65536.
type DirtyRing struct {
	State string `xml:"state,attr"`
	Size  string `xml:"size,attr,omitempty"`
	Extra
}

// enlightenRules judges what Windows guests are told, and what KVM tells.
func enlightenRules() map[string]rule {
	m := map[string]rule{
		"features/apic/@eoi":                       onOff(),
		"features/hyperv/@mode":                    values("custom passthrough", "host-model"),
		"features/kvm/dirty-ring/@state":           onOff(),
		"features/hyperv/spinlocks/@retries":       number(0xfff, 1<<32-1),
		"features/hyperv/vendor_id/@value":         pattern(`[^,]{1,12}`, "a name of up to twelve characters without a comma"),
		"features/hyperv/stimer/direct/@state":     onOff(),
		"features/hyperv/tlbflush/direct/@state":   onOff(),
		"features/hyperv/tlbflush/extended/@state": onOff(),
		"features/kvm/dirty-ring/@size":            number(1024, 65536),
	}
	for _, name := range []string{
		"relaxed", "vapic", "spinlocks", "vpindex", "runtime", "synic", "stimer", "reset", "vendor_id", "frequencies",
		"reenlightenment", "tlbflush", "ipi", "evmcs", "avic", "emsr_bitmap", "xmm_input",
	} {
		m["features/hyperv/"+name+"/@state"] = onOff()
	}
	for _, name := range []string{"hidden", "hint-dedicated", "poll-control", "pv-ipi"} {
		m["features/kvm/"+name+"/@state"] = onOff()
	}
	return m
}

// check refuses what contradicts itself, and enlightenments that nobody knows.
func (h *HyperV) check() error {
	if h == nil {
		return nil
	}
	if err := unknownFeature("features/hyperv/", h.Elements); err != nil {
		return err
	}
	for name, state := range h.states() {
		if state == "" {
			return invalid("features/hyperv/"+name, "its state is missing; use on or off")
		}
	}
	switch {
	case h.Spinlocks != nil && h.Spinlocks.State == "on" && h.Spinlocks.Retries == "":
		return invalid("features/hyperv/spinlocks/@retries", "it is missing; use at least 4095")
	case h.VendorID != nil && h.VendorID.State == "on" && h.VendorID.Value == "":
		return invalid("features/hyperv/vendor_id/@value", "it is missing")
	}
	return nil
}

func (k *KVMFeatures) check() error {
	if k == nil {
		return nil
	}
	if err := unknownFeature("features/kvm/", k.Elements); err != nil {
		return err
	}
	for _, f := range k.Switches() {
		if f.State.State == "" {
			return invalid("features/kvm/"+f.Name, "its state is missing; use on or off")
		}
	}
	if r := k.DirtyRing; r != nil && r.State == "on" {
		n, err := ParseDecimal(r.Size, 65536)
		if err != nil || bits.OnesCount64(n) != 1 {
			return invalid("features/kvm/dirty-ring/@size", "%q is no power of two from 1024 to 65536", r.Size)
		}
	}
	return nil
}

// unknownFeature refuses a switch that libvirt may have one day: the guest would be another without it.
func unknownFeature(at string, elements []Element) error {
	for _, e := range elements {
		if !strings.Contains(e.XMLName.Local, ":") {
			return unsupported(at+e.XMLName.Local, "this feature is not known")
		}
	}
	return nil
}

// Switch is a feature that was written, by its name in documents.
type Switch struct {
	Name  string
	State *State
}

// Switches are the enlightenments that are nothing but on or off, as far as they were written, in libvirt's order.
func (h *HyperV) Switches() []Switch {
	return written(
		Switch{"relaxed", h.Relaxed}, Switch{"vapic", h.VAPIC}, Switch{"vpindex", h.VPIndex}, Switch{"runtime", h.Runtime},
		Switch{"synic", h.SynIC}, Switch{"reset", h.Reset}, Switch{"frequencies", h.Frequencies},
		Switch{"reenlightenment", h.ReEnlightenment}, Switch{"ipi", h.IPI}, Switch{"evmcs", h.EVMCS}, Switch{"avic", h.AVIC},
		Switch{"emsr_bitmap", h.EMSRBitmap}, Switch{"xmm_input", h.XMMInput},
	)
}

// Switches are the features that are nothing but on or off, as far as they were written, in libvirt's order.
func (k *KVMFeatures) Switches() []Switch {
	return written(
		Switch{"hidden", k.Hidden}, Switch{"hint-dedicated", k.HintDedicated}, Switch{"poll-control", k.PollControl},
		Switch{"pv-ipi", k.PVIPI},
	)
}

func written(all ...Switch) []Switch {
	return slices.DeleteFunc(all, func(s Switch) bool { return s.State == nil })
}

// states are what was written of each enlightenment.
func (h *HyperV) states() map[string]string {
	m := map[string]string{}
	for _, s := range h.Switches() {
		m[s.Name] = s.State.State
	}
	if h.Spinlocks != nil {
		m["spinlocks"] = h.Spinlocks.State
	}
	if h.STimer != nil {
		m["stimer"] = h.STimer.State
	}
	if h.VendorID != nil {
		m["vendor_id"] = h.VendorID.State
	}
	if h.TLBFlush != nil {
		m["tlbflush"] = h.TLBFlush.State
	}
	return m
}

func (d *Domain) checkFeatures() error {
	if d.Features == nil {
		return nil
	}
	if err := d.Features.HyperV.check(); err != nil {
		return err
	}
	return d.Features.KVM.check()
}
