package server

import (
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

func bindInput(p *program) {
	bind(p, remote.ProcDomainInjectNMI, func(q *request, a *remote.DomainFlags, _ *xdr.Void) error {
		return q.backend.InjectNMI(q.ctx, a.UUID)
	})
	bind(p, remote.ProcDomainSendKey, func(q *request, a *remote.SendKeyArgs, _ *xdr.Void) error {
		keys := make([]uint32, len(a.Keys))
		for i, k := range a.Keys {
			keys[i] = k.N
		}
		return q.backend.SendKeys(q.ctx, a.UUID, a.Codeset, time.Duration(a.HoldTime)*time.Millisecond, keys)
	})
	bind(p, remote.ProcDomainGetControlInfo, func(q *request, a *remote.DomainFlags, r *remote.ControlInfo) error {
		i, err := q.backend.DomainControl(a.UUID)
		*r = remote.ControlInfo{State: i.State, Details: i.Details, Millis: uint64(i.For.Milliseconds())}
		return err
	})
	bind(p, remote.ProcDomainGetDiskErrors, func(q *request, a *remote.DomainUintFlags, r *remote.DiskErrors) error {
		failed, disks, err := q.backend.DiskErrors(q.ctx, a.UUID)
		if r.N = int32(disks); a.N == 0 {
			return err
		}
		for _, f := range failed[:min(len(failed), int(min(a.N, remote.MaxDiskErrors)))] {
			r.Errors = append(r.Errors, remote.DiskError{Disk: f.Target, Error: f.Reason})
		}
		r.N = int32(len(r.Errors))
		return err
	})
}
