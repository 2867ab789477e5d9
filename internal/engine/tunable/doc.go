// Package tunable reads and changes, by libvirt's names, what a document says of the host's resources: how a guest's
// threads are scheduled, how much memory it gets and on which NUMA nodes, how much of the host's disks. It is pure: what
// runs is brought to the changed document elsewhere.
package tunable

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// parameter is one of a set: its name, its type, and where a document has it.
type parameter struct {
	name  string
	typ   uint32 // as in package remote
	event string // what it is called in the event of a change; "" for one that is told of no such
	read  func(d *spec.Domain, live bool) server.Param
	write func(d *spec.Domain, p server.Param) error // the document is the caller's to judge as a whole
}

// parametersOf are the parameters of a set, in libvirt's order.
func parametersOf(set server.TunableSet) []parameter {
	switch set {
	case server.TunableScheduler:
		return scheduler()
	case server.TunableMemory:
		return memory()
	case server.TunableBlockIO:
		return blockIO()
	case server.TunableNUMA:
		return numa()
	}
	return nil
}

// Read is what a document says; where it says nothing of one that runs (live), what the kernel then does.
func Read(set server.TunableSet, d *spec.Domain, live bool) []server.Param {
	var out []server.Param
	for _, p := range parametersOf(set) {
		out = append(out, p.read(d, live))
	}
	return out
}

// Write puts parameters into a document. One that is not of the set, or of another type, is refused.
func Write(set server.TunableSet, d *spec.Domain, params []server.Param) error {
	all := parametersOf(set)
	for _, given := range params {
		p, err := known(all, given)
		if err != nil {
			return err
		}
		if err := p.write(d, given); err != nil {
			return err
		}
	}
	forgetEmpty(d)
	return nil
}

// typeNames are what libvirt calls the types of parameters.
func typeName(typ uint32) string {
	names := []string{"unknown", "int", "uint", "llong", "ullong", "double", "boolean", "string"}
	if int(typ) < len(names) {
		return names[typ]
	}
	return names[0]
}

func known(all []parameter, given server.Param) (parameter, error) {
	for _, p := range all {
		if p.name != given.Field {
			continue
		}
		if p.typ != given.Type {
			return p, virterr.New(virterr.InvalidArg, "invalid type '%s' for parameter '%s', expected '%s'", typeName(given.Type), given.Field, typeName(p.typ))
		}
		return p, nil
	}
	return parameter{}, virterr.New(virterr.ArgumentUnsupported, "parameter '%s' not supported", given.Field)
}

// Changed are the parameters of the event that tells of a change of a guest that runs: as the document says them now.
func Changed(set server.TunableSet, d *spec.Domain, params []server.Param) []server.Param {
	var out []server.Param
	for _, p := range parametersOf(set) {
		for _, given := range params {
			if given.Field == p.name && p.event != "" {
				now := p.read(d, true)
				now.Field = p.event
				out = append(out, now)
				break
			}
		}
	}
	return out
}

// forgetEmpty takes out elements in which nothing is said any more.
func forgetEmpty(d *spec.Domain) {
	if m := d.MemTune; m != nil && m.Hard == nil && m.Soft == nil && m.SwapHard == nil && len(m.Elements) == 0 {
		d.MemTune = nil
	}
	if b := d.BlkIOTune; b != nil && b.Weight == "" && len(b.Devices) == 0 && len(b.Elements) == 0 {
		d.BlkIOTune = nil
	}
	if c := d.CPUTune; c != nil && string((&spec.Domain{CPUTune: c}).Format()) == string((&spec.Domain{CPUTune: &spec.CPUTune{}}).Format()) {
		d.CPUTune = nil
	}
}

// outOfRange is a number that cannot be.
func outOfRange(name string, least, most int64) error {
	return virterr.New(virterr.InvalidArg, "value of '%s' is out of range [%d, %d]", name, least, most)
}

func uintParam(name string, n uint64) server.Param { return remote.Uint64Param(name, n) }
