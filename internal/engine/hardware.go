package engine

import (
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

// nic is the NIC of a port.
func (h *hardware) nic(p port) *spec.Interface { return &h.doc.Devices.Interfaces[p.NIC] }

func (run *running) rec() *record       { return &run.has.Load().rec }
func (run *running) head() *definition  { return &run.has.Load().head }
func (run *running) doc() *spec.Domain  { return run.has.Load().doc }
func (run *running) rt() *guest.Runtime { return &run.has.Load().rt }
