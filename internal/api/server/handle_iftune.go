package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

func bindInterfaceTunables(p *program) {
	bind(p, remote.ProcDomainSetInterfaceParameters, func(q *request, a *remote.SetIOTune, _ *xdr.Void) error {
		return q.backend.SetInterfaceParams(q.ctx, a.UUID, a.Device, a.Params, a.Flags)
	})
	bind(p, remote.ProcDomainGetInterfaceParameters, func(q *request, a *remote.ParamsArgs, r *remote.Params) error {
		device := a.Device
		if a.N == 0 {
			device = ""
		}
		params, err := q.backend.InterfaceParams(q.ctx, a.UUID, device, a.Flags&^typedParamStrings)
		r.Params, r.N = first(params, a.N), int32(len(params))
		return err
	})
}
