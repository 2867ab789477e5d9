package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

func bindDevices(p *program) {
	bind(p, remote.ProcDomainAttachDevice, func(q *request, a *remote.DomainString, _ *xdr.Void) error {
		return q.backend.AttachDevice(q.ctx, a.UUID, a.S, AffectLive)
	})
	bind(p, remote.ProcDomainAttachDeviceFlags, func(q *request, a *remote.DomainStringFlags, _ *xdr.Void) error {
		return q.backend.AttachDevice(q.ctx, a.UUID, a.S, a.Flags)
	})
	bind(p, remote.ProcDomainDetachDevice, func(q *request, a *remote.DomainString, _ *xdr.Void) error {
		return q.backend.DetachDevice(q.ctx, a.UUID, a.S, AffectLive)
	})
	bind(p, remote.ProcDomainDetachDeviceFlags, func(q *request, a *remote.DomainStringFlags, _ *xdr.Void) error {
		return q.backend.DetachDevice(q.ctx, a.UUID, a.S, a.Flags)
	})
	bind(p, remote.ProcDomainUpdateDeviceFlags, func(q *request, a *remote.DomainStringFlags, _ *xdr.Void) error {
		return q.backend.UpdateDevice(q.ctx, a.UUID, a.S, a.Flags)
	})
	bind(p, remote.ProcDomainDetachDeviceAlias, func(q *request, a *remote.DomainStringFlags, _ *xdr.Void) error {
		return q.backend.DetachDeviceAlias(q.ctx, a.UUID, a.S, a.Flags)
	})
}
