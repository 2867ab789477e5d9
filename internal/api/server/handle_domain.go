package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func bindDomainReads(p *program) {
	bindDomainLists(p)
	lookup := func(d Domain, err error, r *remote.Domain) error {
		*r = wireDomain(d)
		return err
	}
	bind(p, remote.ProcDomainLookupByID, func(q *request, a *remote.Int, r *remote.Domain) error {
		d, err := q.backend.DomainByID(a.N)
		return lookup(d, err, r)
	})
	bind(p, remote.ProcDomainLookupByName, func(q *request, a *remote.String, r *remote.Domain) error {
		d, err := q.backend.DomainByName(a.S)
		return lookup(d, err, r)
	})
	bind(p, remote.ProcDomainLookupByUUID, func(q *request, a *remote.UUID, r *remote.Domain) error {
		d, err := q.backend.DomainByUUID(a.UUID)
		return lookup(d, err, r)
	})
	bind(p, remote.ProcDomainGetInfo, func(q *request, a *remote.Domain, r *remote.DomainInfo) error {
		i, err := q.backend.DomainInfo(a.UUID)
		*r = remote.DomainInfo{State: i.State, MaxMem: i.MaxMemKiB, Memory: i.MemKiB, VCPUs: int32(i.VCPUs), CPUTime: i.CPUTimeNS}
		return err
	})
	bind(p, remote.ProcDomainGetMaxMemory, func(q *request, a *remote.Domain, r *remote.Uint64) error {
		i, err := q.backend.DomainInfo(a.UUID)
		r.N = i.MaxMemKiB
		return err
	})
	bind(p, remote.ProcDomainGetState, func(q *request, a *remote.DomainFlags, r *remote.DomainState) error {
		d, err := q.backend.DomainByUUID(a.UUID)
		r.State, r.Reason = d.State, d.Reason
		return err
	})
	bind(p, remote.ProcDomainGetAutostart, ask(func(d *Domain) int32 { return flag(d.Autostart) }))
	bind(p, remote.ProcDomainIsActive, ask(func(d *Domain) int32 { return flag(d.Active()) }))
	bind(p, remote.ProcDomainIsPersistent, ask(func(d *Domain) int32 { return flag(d.Persistent) }))
	bind(p, remote.ProcDomainIsUpdated, ask(func(d *Domain) int32 { return flag(d.Updated) }))
	bind(p, remote.ProcDomainGetOSType, func(q *request, a *remote.Domain, r *remote.String) error {
		_, err := q.backend.DomainByUUID(a.UUID)
		r.S = "hvm" // the only type there is
		return err
	})
	bind(p, remote.ProcDomainGetMaxVCPUs, func(q *request, a *remote.Domain, r *remote.Int) (err error) {
		r.N, err = q.backend.DomainVCPUs(a.UUID, VCPUMaximum)
		return err
	})
	bind(p, remote.ProcDomainGetVCPUsFlags, func(q *request, a *remote.DomainFlags, r *remote.Int) (err error) {
		if a.Flags&VCPUGuest != 0 {
			r.N, err = guestVCPUs(q, a)
			return err
		}
		r.N, err = q.backend.DomainVCPUs(a.UUID, a.Flags)
		return err
	})
	bind(p, remote.ProcDomainGetMessages, func(q *request, a *remote.DomainFlags, r *remote.Strings) (err error) {
		r.S, err = q.backend.DomainMessages(a.UUID, a.Flags)
		return err
	})
	bind(p, remote.ProcDomainGetXMLDesc, func(q *request, a *remote.DomainFlags, r *remote.String) (err error) {
		if a.Flags&XMLSecure != 0 && q.conn.isReadOnly() {
			return virterr.New(virterr.OperationDenied, "virDomainGetXMLDesc with secure flag").In(virterr.FromDom)
		}
		r.S, err = q.backend.DomainXML(q.ctx, a.UUID, a.Flags)
		return err
	})
	bindDomainNothing(p)
}

// ask answers a question that the list of domains answers.
func ask(f func(*Domain) int32) func(*request, *remote.Domain, *remote.Int) error {
	return func(q *request, a *remote.Domain, r *remote.Int) error {
		d, err := q.backend.DomainByUUID(a.UUID)
		r.N = f(&d)
		return err
	}
}

func (c *conn) isReadOnly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readOnly
}

func bindDomainLists(p *program) {
	bind(p, remote.ProcConnectListAllDomains, func(q *request, a *remote.NeedFlags, r *remote.Domains) error {
		list := domains(q.backend, a.Flags)
		r.N = uint32(len(list))
		if a.Need != 0 {
			r.Domains = make([]remote.Domain, len(list))
			for i := range list {
				r.Domains[i] = wireDomain(list[i])
			}
		}
		return nil
	})
	bind(p, remote.ProcConnectListDomains, func(q *request, a *remote.Int, r *remote.Ints) error {
		for _, d := range domains(q.backend, ListActive) {
			if int32(len(r.N)) < a.N {
				r.N = append(r.N, d.ID)
			}
		}
		return nil
	})
	bind(p, remote.ProcConnectNumOfDomains, func(q *request, _ *xdr.Void, r *remote.Int) error {
		r.N = int32(len(domains(q.backend, ListActive)))
		return nil
	})
	bind(p, remote.ProcConnectListDefinedDomains, func(q *request, a *remote.Int, r *remote.Strings) error {
		for _, d := range domains(q.backend, ListInactive) {
			if int32(len(r.S)) < a.N {
				r.S = append(r.S, d.Name)
			}
		}
		return nil
	})
	bind(p, remote.ProcConnectNumOfDefinedDomains, func(q *request, _ *xdr.Void, r *remote.Int) error {
		r.N = int32(len(domains(q.backend, ListInactive)))
		return nil
	})
}

// bindDomainNothing answers what a domain has none of here: snapshots, checkpoints, labels.
func bindDomainNothing(p *program) {
	exists := func(q *request, a *remote.Domain) error {
		_, err := q.backend.DomainByUUID(a.UUID)
		return err
	}
	none := func(q *request, a *remote.DomainFlags, _ *remote.Int) error { return exists(q, &a.Domain) }
	bind(p, remote.ProcDomainSnapshotNum, none)
	bind(p, remote.ProcDomainHasCurrentSnapshot, none)
	empty := func(q *request, a *remote.DomainNeedFlags, _ *remote.Empty) error { return exists(q, &a.Domain) }
	bind(p, remote.ProcDomainListAllSnapshots, empty)
	bind(p, remote.ProcDomainListAllCheckpoints, empty)
	bind(p, remote.ProcDomainGetSecurityLabel, func(q *request, a *remote.Domain, _ *remote.SecurityLabel) error { return exists(q, a) })
}
