package engine

import (
	"strconv"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/spec"
)

// ListDomains implements server.Domains.
func (e *Engine) ListDomains(dst []server.Domain) []server.Domain {
	for _, d := range e.domains.all() {
		if v := d.view(); v.exists() {
			dst = append(dst, v.ref)
		}
	}
	return dst
}

// DomainByName implements server.Domains.
func (e *Engine) DomainByName(name string) (server.Domain, error) {
	if d, ok := e.domains.named(name); ok {
		if v := d.view(); v.exists() {
			return v.ref, nil
		}
	}
	return server.Domain{}, virterr.DomainNotFound("name", name)
}

// DomainByUUID implements server.Domains.
func (e *Engine) DomainByUUID(uuid spec.UUID) (server.Domain, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return server.Domain{}, err
	}
	return d.view().ref, nil
}

// DomainByID implements server.Domains.
func (e *Engine) DomainByID(id int32) (server.Domain, error) {
	for _, d := range e.domains.all() {
		if v := d.view(); id >= 0 && v.ref.ID == id {
			return v.ref, nil
		}
	}
	return server.Domain{}, virterr.DomainNotFound("id", strconv.Itoa(int(id)))
}

// domain finds a domain by UUID, or says that there is none.
func (e *Engine) domain(uuid spec.UUID) (*domain, error) {
	if d, ok := e.domains.uuid(uuid); ok && d.view().exists() {
		return d, nil
	}
	return nil, virterr.DomainNotFound("uuid", uuid.String())
}

// domainNamed finds a domain by name or UUID.
func (e *Engine) domainNamed(what string) (*domain, error) {
	if d, ok := e.domains.named(what); ok && d.view().exists() {
		return d, nil
	}
	if u, err := spec.ParseUUID(what); err == nil {
		return e.domain(u)
	}
	return nil, virterr.DomainNotFound("name", what)
}

// running returns what runs of a domain, or says that it does not.
func (d *domain) running() (*running, error) {
	if r := d.view().run; r != nil {
		return r, nil
	}
	return nil, virterr.New(virterr.OperationInvalid, "domain '%s' is not running", d.label)
}

// DomainInfo implements server.Domains.
func (e *Engine) DomainInfo(uuid spec.UUID) (server.DomainInfo, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return server.DomainInfo{}, err
	}
	v := d.view()
	if v.run != nil {
		return e.runningInfo(v), nil
	}
	if v.def == nil { // transient, and it has just ended
		return server.DomainInfo{}, virterr.DomainNotFound("uuid", uuid.String())
	}
	h := v.def.head
	return server.DomainInfo{State: v.ref.State, MaxMemKiB: h.MaxMemKiB, MemKiB: h.MemKiB, VCPUs: h.VCPUs}, nil
}

func (e *Engine) runningInfo(v *view) server.DomainInfo {
	h := v.run.head()
	info := server.DomainInfo{State: v.ref.State, MaxMemKiB: h.MaxMemKiB, MemKiB: v.run.balloonKiB.Load(), VCPUs: h.VCPUs}
	if use, err := e.k.ProcStat(v.run.rec().PID, v.run.rec().PIDStart); err == nil { // it may just have ended
		info.CPUTimeNS = uint64(use.User + use.System)
	}
	return info
}

// DomainVCPUs implements server.Domains.
func (e *Engine) DomainVCPUs(uuid spec.UUID, flags uint32) (int32, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return 0, err
	}
	v := d.view()
	live := flags&server.VCPULive != 0 || flags&server.VCPUConfig == 0 && v.run != nil
	var h definition
	switch {
	case live && v.run == nil:
		_, err := d.running()
		return 0, err
	case live:
		h = *v.run.head()
	case v.def == nil:
		return 0, transient(d)
	default:
		h = v.def.head
	}
	if flags&server.VCPUMaximum != 0 {
		return int32(h.MaxVCPUs), nil
	}
	return int32(h.VCPUs), nil
}

// transient is the answer to what needs a definition on a domain that has none.
func transient(d *domain) error {
	return virterr.New(virterr.OperationInvalid, "transient domain '%s' has no persistent configuration", d.label)
}

// DomainMessages implements server.Domains.
func (e *Engine) DomainMessages(uuid spec.UUID, flags uint32) ([]string, error) {
	const deprecation, tainting = 1, 2
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	var out []string
	if run := d.view().run; run != nil && (flags == 0 || flags&tainting != 0) {
		for _, t := range run.rec().Tainted {
			out = append(out, "tainted: "+t)
		}
	}
	if run := d.view().run; run != nil && flags == 0 {
		if how := guest.Crowded(run.hardware().doc); how != "" {
			out = append(out, how)
		}
	}
	_ = deprecation // nothing that is served is deprecated by QEMU so far
	return out, nil
}
