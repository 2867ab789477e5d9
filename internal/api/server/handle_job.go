package server

import (
	"bytes"
	"context"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

func bindDomainJobs(p *program) {
	made := func(d Domain, err error, r *remote.Domain) error {
		*r = wireDomain(d)
		return err
	}
	bind(p, remote.ProcDomainCreateXML, func(q *request, a *remote.StringFlags, r *remote.Domain) error {
		d, err := q.backend.CreateDomain(q.ctx, a.S, a.Flags)
		q.owns(d, a.Flags, err)
		return made(d, err, r)
	})
	bind(p, remote.ProcDomainDefineXML, func(q *request, a *remote.String, r *remote.Domain) error {
		d, err := q.backend.DefineDomain(q.ctx, a.S, 0)
		return made(d, err, r)
	})
	bind(p, remote.ProcDomainDefineXMLFlags, func(q *request, a *remote.StringFlags, r *remote.Domain) error {
		d, err := q.backend.DefineDomain(q.ctx, a.S, a.Flags)
		return made(d, err, r)
	})
	bind(p, remote.ProcDomainCreate, func(q *request, a *remote.Domain, _ *xdr.Void) error {
		_, err := q.backend.StartDomain(q.ctx, a.UUID, 0)
		return err
	})
	bind(p, remote.ProcDomainCreateWithFlags, func(q *request, a *remote.DomainFlags, r *remote.Domain) error {
		d, err := q.backend.StartDomain(q.ctx, a.UUID, a.Flags)
		q.owns(d, a.Flags, err)
		return made(d, err, r)
	})
	bind(p, remote.ProcDomainSuspend, func(q *request, a *remote.Domain, _ *xdr.Void) error {
		return q.backend.SuspendDomain(q.ctx, a.UUID)
	})
	bind(p, remote.ProcDomainResume, func(q *request, a *remote.Domain, _ *xdr.Void) error {
		return q.backend.ResumeDomain(q.ctx, a.UUID)
	})
	bind(p, remote.ProcDomainReset, func(q *request, a *remote.DomainFlags, _ *xdr.Void) error {
		return q.backend.ResetDomain(q.ctx, a.UUID)
	})
	bindPair(p, remote.ProcDomainShutdown, remote.ProcDomainShutdownFlags, Backend.ShutdownDomain)
	bindPair(p, remote.ProcDomainDestroy, remote.ProcDomainDestroyFlags, Backend.DestroyDomain)
	bindPair(p, remote.ProcDomainUndefine, remote.ProcDomainUndefineFlags, Backend.UndefineDomain)
	bind(p, remote.ProcDomainReboot, func(q *request, a *remote.DomainFlags, _ *xdr.Void) error {
		return q.backend.RebootDomain(q.ctx, a.UUID, a.Flags)
	})
	bind(p, remote.ProcDomainSetAutostart, func(q *request, a *remote.DomainInt, _ *xdr.Void) error {
		return q.backend.SetDomainAutostart(q.ctx, a.UUID, a.N != 0)
	})
	bind(p, remote.ProcDomainSetMemory, func(q *request, a *remote.DomainUint64, _ *xdr.Void) error {
		return q.backend.SetDomainMemory(q.ctx, a.UUID, a.N, AffectLive)
	})
	bind(p, remote.ProcDomainSetMemoryFlags, func(q *request, a *remote.DomainUint64Flags, _ *xdr.Void) error {
		return q.backend.SetDomainMemory(q.ctx, a.UUID, a.N, a.Flags)
	})
	bind(p, remote.ProcDomainSetMaxMemory, func(q *request, a *remote.DomainUint64, _ *xdr.Void) error {
		return q.backend.SetDomainMemory(q.ctx, a.UUID, a.N, MemoryMaximum)
	})
	bind(p, remote.ProcDomainSetVCPUs, func(q *request, a *remote.DomainInt, _ *xdr.Void) error {
		return setVCPUs(q, a.UUID, uint32(a.N), VCPULive)
	})
	bind(p, remote.ProcDomainSetVCPUsFlags, func(q *request, a *remote.DomainUintFlags, _ *xdr.Void) error {
		return setVCPUs(q, a.UUID, a.N, a.Flags)
	})
}

// bindPair binds a call and its younger sibling that has flags.
func bindPair(p *program, plain, flags uint32, f func(Backend, context.Context, spec.UUID, uint32) error) {
	bind(p, plain, func(q *request, a *remote.Domain, _ *xdr.Void) error { return f(q.backend, q.ctx, a.UUID, 0) })
	bind(p, flags, func(q *request, a *remote.DomainFlags, _ *xdr.Void) error {
		return f(q.backend, q.ctx, a.UUID, a.Flags)
	})
}

func setVCPUs(q *request, uuid spec.UUID, n, flags uint32) error {
	if n == 0 || n > 0xffff {
		return virterr.New(virterr.InvalidArg, "%d virtual CPUs; want 1 to 65535", n).In(virterr.FromDom)
	}
	if flags&VCPUGuest != 0 {
		if flags&(VCPUConfig|VCPUMaximum) != 0 {
			return virterr.New(virterr.InvalidArg, "the guest has no say in the definition of a domain").In(virterr.FromDom)
		}
		return q.backend.SetGuestVCPUCount(q.conn.asked, uuid, n)
	}
	return q.backend.SetDomainVCPUs(q.ctx, uuid, n, flags)
}

func bindScreens(p *program) {
	bind(p, remote.ProcDomainScreenshot, func(q *request, a *remote.DomainUintFlags, r *remote.OptString) error {
		mime, picture, err := q.backend.Screenshot(q.ctx, a.UUID, a.N)
		if err != nil {
			return err
		}
		*r = remote.OptNonEmpty(mime)
		return q.conn.openDownload(q, readOnly{bytes.NewReader(picture)})
	})
	bind(p, remote.ProcDomainOpenConsole, func(q *request, a *remote.DomainOptStringFlags, _ *xdr.Void) error {
		rw, err := q.backend.OpenConsole(q.ctx, a.UUID, a.S.S, a.Flags)
		if err != nil {
			return err
		}
		return q.conn.openStream(q, rw)
	})
}
