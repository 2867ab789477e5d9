package server

import (
	"math"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
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
	bind(p, remote.ProcDomainSetBlockIOTune, func(q *request, a *remote.SetIOTune, _ *xdr.Void) error {
		return q.backend.SetBlockIOTune(q.ctx, a.UUID, a.Device, a.Params, a.Flags)
	})
	bind(p, remote.ProcDomainGetBlockIOTune, func(q *request, a *remote.GetIOTune, r *remote.Params) error {
		params, err := q.backend.BlockIOTune(q.ctx, a.UUID, a.Device.S, a.Flags&^typedParamStrings)
		if r.N = int32(len(params)); a.N > 0 {
			r.Params = params[:min(len(params), int(a.N))]
		}
		return err
	})
	bind(p, remote.ProcDomainBlockResize, func(q *request, a *remote.BlockResize, _ *xdr.Void) error {
		size := a.Size
		if a.Flags&BlockBytes == 0 {
			if size > math.MaxInt64>>10 {
				return virterr.New(virterr.Overflow, "size must be less than %d KiB", uint64(math.MaxInt64)>>10)
			}
			size <<= 10
		}
		return q.backend.ResizeBlock(q.ctx, a.UUID, a.Device, size)
	})
}
