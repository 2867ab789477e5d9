package engine

import (
	"slices"

	"taproom/internal/guest"
	"taproom/internal/spec"
)

// hardware is what a guest consists of at one moment: what is written down of it, its document, and what was prepared for
// it. Once others see the guest it does not change any more: whoever holds the domain's slot publishes another one. So a
// reader that asks twice may see two; one that needs parts that belong together asks once.
type hardware struct {
	rec  record
	head definition   // of doc
	doc  *spec.Domain // completed, with addresses and aliases
	rt   guest.Runtime
}

// hardware is what the guest consists of now.
func (run *running) hardware() *hardware { return run.has.Load() }

// has reports whether there is a device of that name.
func (h *hardware) has(name string) bool {
	return slices.Contains(aliases(h.doc), name) || slices.ContainsFunc(h.rec.Pins.Added, func(i int) bool { return guest.VCPUName(i) == name })
}

// pin keeps what the run has fixed.
func (h *hardware) pin(p guest.Pins) {
	p.Added, p.Made = h.rec.Pins.Added, h.rec.Pins.Made
	h.rec.Pins = p
}

// compileHardware compiles what a guest that runs shall consist of, and fills in what follows from its record.
func (e *Engine) compileHardware(d *domain, h, before *hardware) (*guest.Compiled, error) {
	var err error
	if h.rt, err = e.runtime(d, h.rec); err != nil {
		return nil, err
	}
	h.rt.Now = before.rt.Now
	c, err := e.compileGuest(h.doc, h.rt)
	if err == nil {
		h.rec.Pins, h.rt.Pins = c.Pins, c.Pins
	}
	return c, err
}

// without is h without some devices, by their names. Virtual CPUs that were plugged in have names too.
func (h *hardware) without(names []string) *hardware {
	next := *h
	next.doc = h.doc.Clone()
	for _, v := range slices.Backward(next.doc.Devices.List()) { // what stands behind moves up
		if !slices.Contains(names, v.Alias()) {
			continue
		}
		if n, ok := v.Value.(*spec.Interface); ok {
			next.rec = next.rec.withoutNIC(slices.IndexFunc(next.doc.Devices.Interfaces, func(o spec.Interface) bool { return o.Alias == n.Alias }))
		}
		if v.Kind == "vsock" {
			next.rec.CID = 0
		}
		next.doc.Devices.Delete(v)
	}
	next.rec.Pins.Added = slices.DeleteFunc(slices.Clone(h.rec.Pins.Added), func(i int) bool { return slices.Contains(names, guest.VCPUName(i)) })
	if len(next.rec.Pins.Added) != len(h.rec.Pins.Added) {
		next.doc.PlugVCPUs(h.rec.Pins.VCPUs, next.rec.Pins.Added)
	}
	next.head = headOf(next.doc)
	return &next
}

// withoutNIC is the record without the port of a NIC, if it has one. NICs are counted.
func (r record) withoutNIC(i int) record {
	var ports []port
	for _, p := range r.Ports {
		switch {
		case p.NIC == i:
			continue
		case p.NIC > i:
			p.NIC--
		}
		ports = append(ports, p)
	}
	r.NICs--
	r.Ports = ports
	return r
}

// nic is the NIC of a port, with what its network gives it.
func (h *hardware) nic(p port) *spec.Interface { return p.whole(&h.doc.Devices.Interfaces[p.NIC]) }

// whole is a NIC with what its network gives it.
func (p port) whole(nic *spec.Interface) *spec.Interface {
	if p.Share == nil {
		return nic
	}
	whole := nic.With(*p.Share)
	return &whole
}

func (run *running) rec() *record       { return &run.has.Load().rec }
func (run *running) head() *definition  { return &run.has.Load().head }
func (run *running) doc() *spec.Domain  { return run.has.Load().doc }
func (run *running) rt() *guest.Runtime { return &run.has.Load().rt }
