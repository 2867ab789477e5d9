package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func bindGraphics(p *program) {
	bind(p, remote.ProcDomainOpenGraphics, func(q *request, a *remote.DomainUintFlags, _ *xdr.Void) error {
		if len(q.files) != 1 {
			return virterr.New(virterr.InternalError, "the call brings %d file descriptors; a display takes one", len(q.files)).In(virterr.FromRPC)
		}
		return q.backend.OpenGraphics(q.ctx, a.UUID, a.N, q.files[0], a.Flags)
	})
	bind(p, remote.ProcDomainOpenGraphicsFD, func(q *request, a *remote.DomainUintFlags, _ *xdr.Void) error {
		if !q.conn.passesFiles() {
			return virterr.New(virterr.OperationUnsupported, "file descriptors cannot be passed over this connection")
		}
		f, err := q.backend.OpenGraphicsFD(q.ctx, a.UUID, a.N, a.Flags)
		if err != nil {
			return err
		}
		q.give(f)
		return nil
	})
	bind(p, remote.ProcDomainOpenChannel, func(q *request, a *remote.DomainOptStringFlags, _ *xdr.Void) error {
		rw, err := q.backend.OpenChannel(q.ctx, a.UUID, a.S.S, a.Flags)
		if err != nil {
			return err
		}
		return q.conn.openStream(q, rw)
	})
}
