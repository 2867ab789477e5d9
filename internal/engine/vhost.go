package engine

import (
	"errors"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// withVHost is a document that says of each virtio NIC on a link of the host whether its packets go through the kernel's
// vhost-net: where it leaves that open they do when vhost-net works, and one that asks for it has it or is an error. What is
// decided stays for as long as the guest runs; NICs for which skip is true have been decided.
func (e *Engine) withVHost(doc *spec.Domain, skip func(*spec.Interface) bool) (*spec.Domain, error) {
	if doc.Devices == nil {
		return doc, nil
	}
	var probed bool
	var broken error
	out := doc
	for i := range doc.Devices.Interfaces {
		n := &doc.Devices.Interfaces[i]
		if !guest.CanVHost(n) || skip(n) {
			continue
		}
		if !probed {
			probed, broken = true, e.k.ProbeVHostNet()
		}
		asked := n.Driver != nil && n.Driver.Name == "vhost"
		switch {
		case asked && broken != nil:
			return nil, virterr.New(virterr.ConfigUnsupported, "interface %s: driver name='vhost': vhost-net was requested for an interface, but is unavailable: %w%s", n.MAC.Address, broken, vhostRemedy(broken))
		case asked, broken != nil:
			continue
		}
		if out == doc {
			out = doc.Clone()
		}
		into := &out.Devices.Interfaces[i]
		if into.Driver == nil {
			into.Driver = &spec.NICDriver{}
		}
		into.Driver.Name = "vhost"
	}
	return out, nil
}

// vhostRemedy is what an administrator, or whoever wrote the document, can do.
func vhostRemedy(err error) string {
	var missing *host.Missing
	if errors.As(err, &missing) {
		return "; load the module with `modprobe vhost_net`, or use name='qemu'"
	}
	return "; let root use " + host.VHostNet + ", or use name='qemu'"
}

// nicStatus lists the NICs of a guest that runs, with what moves their packets: vhost where a NIC has it and the kernel's
// workers are there.
func (e *Engine) nicStatus(run *running) []own.NICStatus {
	now := run.hardware()
	var out []own.NICStatus
	workers := -1
	for i := range now.doc.Devices.Interfaces {
		n := &now.doc.Devices.Interfaces[i]
		s := own.NICStatus{MAC: n.MAC.Address, Type: n.Type, Model: n.Model.Type, Datapath: "qemu"}
		if i < len(now.rt.NICs) {
			s.Link = now.rt.NICs[i].Tap
		}
		if guest.HasVHost(n) {
			if workers < 0 { // a process that is gone has none
				workers, _ = e.k.VHostWorkers(now.rec.PID, now.rec.Cgroup)
			}
			if workers > 0 {
				s.Datapath = "vhost"
			}
		}
		out = append(out, s)
	}
	return out
}
