package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// schedulerName is what libvirt calls the kernel's scheduler with the bounds of cgroups.
const schedulerName = "posix"

func bindTunables(p *program) {
	bind(p, remote.ProcDomainGetSchedulerType, func(q *request, a *remote.Domain, r *remote.SchedulerType) error {
		params, err := q.backend.Tunables(a.UUID, TunableScheduler, 0)
		r.Name, r.N = schedulerName, int32(len(params))
		return err
	})
	scheduler := func(q *request, a *remote.GetParams, flags uint32, r *remote.ParamList) error {
		params, err := q.backend.Tunables(a.UUID, TunableScheduler, flags&^typedParamStrings)
		r.Params = first(params, a.N)
		return err
	}
	bind(p, remote.ProcDomainGetSchedulerParameters, func(q *request, a *remote.GetParams, r *remote.ParamList) error {
		return scheduler(q, a, 0, r)
	})
	bind(p, remote.ProcDomainGetSchedulerParametersFlags, func(q *request, a *remote.GetParamsFlags, r *remote.ParamList) error {
		return scheduler(q, &a.GetParams, a.Flags, r)
	})
	bind(p, remote.ProcDomainSetSchedulerParameters, func(q *request, a *remote.SetParams, _ *xdr.Void) error {
		return q.backend.SetTunables(q.ctx, a.UUID, TunableScheduler, a.Params, 0)
	})
	for _, c := range []struct {
		set      TunableSet
		get, put uint32
	}{
		{TunableScheduler, 0, remote.ProcDomainSetSchedulerParametersFlags},
		{TunableMemory, remote.ProcDomainGetMemoryParameters, remote.ProcDomainSetMemoryParameters},
		{TunableBlockIO, remote.ProcDomainGetBlkioParameters, remote.ProcDomainSetBlkioParameters},
		{TunableNUMA, remote.ProcDomainGetNumaParameters, remote.ProcDomainSetNumaParameters},
	} {
		if c.get != 0 {
			bind(p, c.get, func(q *request, a *remote.GetParamsFlags, r *remote.Params) error {
				params, err := q.backend.Tunables(a.UUID, c.set, a.Flags&^typedParamStrings)
				r.Params, r.N = first(params, a.N), int32(len(params))
				return err
			})
		}
		bind(p, c.put, func(q *request, a *remote.SetParamsFlags, _ *xdr.Void) error {
			return q.backend.SetTunables(q.ctx, a.UUID, c.set, a.Params, a.Flags)
		})
	}
	bindIOThreads(p)
	bind(p, remote.ProcDomainGetCPUStats, cpuStats)
	bind(p, remote.ProcNodeGetFreePages, freePages)
	bind(p, remote.ProcDomainGetAutostartOnce, func(q *request, a *remote.Domain, r *remote.Int) error {
		on, err := q.backend.DomainAutostartOnce(a.UUID)
		r.N = flag(on)
		return err
	})
	bind(p, remote.ProcDomainSetAutostartOnce, func(q *request, a *remote.DomainInt, _ *xdr.Void) error {
		return q.backend.SetDomainAutostartOnce(q.ctx, a.UUID, a.N != 0)
	})
}

// first are so many of them at most; a client asks for none to learn their number.
func first(params []Param, n int32) []Param { return params[:min(len(params), int(max(n, 0)))] }

func bindIOThreads(p *program) {
	bind(p, remote.ProcDomainAddIOThread, func(q *request, a *remote.DomainUintFlags, _ *xdr.Void) error {
		return q.backend.AddIOThread(q.ctx, a.UUID, a.N, a.Flags)
	})
	bind(p, remote.ProcDomainDelIOThread, func(q *request, a *remote.DomainUintFlags, _ *xdr.Void) error {
		return q.backend.DeleteIOThread(q.ctx, a.UUID, a.N, a.Flags)
	})
	bind(p, remote.ProcDomainSetIOThreadParams, func(q *request, a *remote.SetIOThread, _ *xdr.Void) error {
		return q.backend.SetIOThread(q.ctx, a.UUID, a.Thread, a.Params, a.Flags)
	})
}

// cpuStats answers for all CPUs together. What a cgroup has used of each, only cgroup v1 counts.
func cpuStats(q *request, a *remote.CPUStatsArgs, r *remote.Params) error {
	params, err := q.backend.CPUTime(a.UUID)
	switch {
	case err != nil:
		return err
	case a.First == -1 && a.CPUs == 1:
		r.Params, r.N = params[:min(len(params), int(min(a.N, remote.MaxParams)))], int32(len(params))
		return nil
	case a.N == 0 && a.CPUs == 0:
		r.N = q.backend.NodeInfo().CPUs
		return nil
	}
	return virterr.New(virterr.OperationUnsupported, "cgroup v2 does not count the time of each CPU; ask for all together (virsh cpu-stats --total)")
}

// freePages answers for some cells, and within each for some sizes.
func freePages(q *request, a *remote.FreePagesArgs, r *remote.FreePages) error {
	if len(a.Sizes) == 0 || a.Cells == 0 || uint64(a.Cells)*uint64(len(a.Sizes)) > remote.MaxCells {
		return virterr.New(virterr.InvalidArg, "%d sizes of pages of %d cells: want 1 to %d answers", len(a.Sizes), a.Cells, remote.MaxCells)
	}
	for cell := range int32(a.Cells) {
		for _, size := range a.Sizes {
			n, err := q.backend.FreePages(a.First+cell, size.N)
			if err != nil {
				return err
			}
			r.Counts = append(r.Counts, remote.Uint64{N: n})
		}
	}
	return nil
}
