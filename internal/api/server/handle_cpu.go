package server

import (
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
)

func cpuQuery(q *remote.CPUQuery) DomainCapabilitiesQuery {
	return DomainCapabilitiesQuery{q.Emulator.S, q.Arch.S, q.Machine.S, q.VirtType.S}
}

func bindProcessors(p *program) {
	bind(p, remote.ProcConnectCompareHypervisorCPU, func(q *request, a *remote.CompareHypervisorCPU, r *remote.Int) error {
		result, lacking, err := q.backend.CompareCPU(q.ctx, cpuQuery(&a.CPUQuery), a.XML)
		if err == nil && result == CPUIncompatible && a.Flags&CompareFailIncompat != 0 {
			err = virterr.New(virterr.CPUIncompatible, "the CPU is incompatible with host CPU: Host CPU does not provide required features: %s", strings.Join(lacking, ", "))
		}
		r.N = result
		return err
	})
	bind(p, remote.ProcConnectBaselineHypervisorCPU, func(q *request, a *remote.BaselineHypervisorCPU, r *remote.String) (err error) {
		if len(a.XML) == 0 {
			return virterr.New(virterr.InvalidArg, "no CPUs to find a baseline of")
		}
		r.S, err = q.backend.BaselineCPU(q.ctx, cpuQuery(&a.CPUQuery), a.XML, a.Flags&BaselineExpandFeatures != 0)
		return err
	})
}
