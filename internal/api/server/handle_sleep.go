package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func bindSleep(p *program) {
	bind(p, remote.ProcDomainPMSuspendForDuration, func(q *request, a *remote.PMSuspendArgs, _ *xdr.Void) error {
		if a.Duration != 0 {
			return virterr.New(virterr.ArgumentUnsupported, "Duration not supported. Use 0 for now")
		}
		return q.backend.SuspendGuest(q.ctx, a.UUID, a.Target)
	})
	bind(p, remote.ProcDomainPMWakeup, func(q *request, a *remote.DomainFlags, _ *xdr.Void) error {
		return q.backend.WakeGuest(q.ctx, a.UUID)
	})
}
