package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// cpusOf are the CPUs of a map.
func cpusOf(m []byte) ([]int, error) {
	var out []int
	for i := range 8 * len(m) {
		if m[i/8]&(1<<(i%8)) != 0 {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, virterr.New(virterr.InvalidArg, "the map of CPUs is empty; name at least one")
	}
	return out, nil
}

// mapOf is a map of CPUs in so many bytes.
func mapOf(cpus []int, size int) []byte {
	m := make([]byte, size)
	for _, c := range cpus {
		if c/8 < size {
			m[c/8] |= 1 << (c % 8)
		}
	}
	return m
}

func bindPlacements(p *program) {
	pin := func(q *request, a *remote.PinVCPU, flags uint32) error {
		cpus, err := cpusOf(a.Map)
		if err != nil {
			return err
		}
		return q.backend.PinVCPU(q.ctx, a.UUID, a.VCPU, cpus, flags)
	}
	bind(p, remote.ProcDomainPinVCPU, func(q *request, a *remote.PinVCPU, _ *xdr.Void) error { return pin(q, a, AffectLive) })
	bind(p, remote.ProcDomainPinVCPUFlags, func(q *request, a *remote.PinFlags, _ *xdr.Void) error { return pin(q, &a.PinVCPU, a.Flags) })
	bind(p, remote.ProcDomainPinIOThread, func(q *request, a *remote.PinFlags, _ *xdr.Void) error {
		cpus, err := cpusOf(a.Map)
		if err != nil {
			return err
		}
		return q.backend.PinIOThread(q.ctx, a.UUID, a.VCPU, cpus, a.Flags)
	})
	bind(p, remote.ProcDomainPinEmulator, func(q *request, a *remote.PinEmulator, _ *xdr.Void) error {
		cpus, err := cpusOf(a.Map)
		if err != nil {
			return err
		}
		return q.backend.PinEmulator(q.ctx, a.UUID, cpus, a.Flags)
	})
	bind(p, remote.ProcDomainGetVCPUPinInfo, vcpuPins)
	bind(p, remote.ProcDomainGetEmulatorPinInfo, func(q *request, a *remote.EmulatorPin, r *remote.CPUMaps) error {
		if a.MapLen <= 0 || a.MapLen > remote.MaxCPUMap {
			return virterr.New(virterr.InvalidArg, "a map of %d bytes; want 1 to %d", a.MapLen, remote.MaxCPUMap)
		}
		cpus, err := q.backend.EmulatorPin(q.ctx, a.UUID, a.Flags)
		r.Maps, r.N = mapOf(cpus, int(a.MapLen)), 1
		return err
	})
	bind(p, remote.ProcDomainGetIOThreadInfo, func(q *request, a *remote.DomainFlags, r *remote.IOThreadInfos) error {
		pins, err := q.backend.IOThreadPins(q.ctx, a.UUID, a.Flags)
		size := int(q.backend.NodeInfo().CPUs+7) / 8
		for _, t := range pins {
			r.Threads = append(r.Threads, remote.IOThreadInfo{ID: t.ID, Map: mapOf(t.CPUs, size)})
		}
		r.N = uint32(len(pins))
		return err
	})
	bind(p, remote.ProcNodeGetCellsFreeMemory, func(q *request, a *remote.CellsArgs, r *remote.CellsFree) error {
		free, err := q.backend.CellsFreeMemory()
		if err != nil {
			return err
		}
		if a.First < 0 || int(a.First) >= len(free) || a.Count <= 0 {
			return virterr.New(virterr.InvalidArg, "no NUMA cells from %d on; this host has %d", a.First, len(free))
		}
		for _, n := range free[a.First:min(len(free), int(a.First)+int(min(a.Count, remote.MaxCells)))] {
			r.Bytes = append(r.Bytes, remote.Uint64{N: n})
		}
		return nil
	})
}

func vcpuPins(q *request, a *remote.VCPUPins, r *remote.CPUMaps) error {
	if a.Maps < 0 || a.Maps > remote.MaxVCPUs || a.MapLen <= 0 || int64(a.Maps)*int64(a.MapLen) > remote.MaxCPUMaps {
		return virterr.New(virterr.InvalidArg, "%d maps of %d bytes are too many, or too few", a.Maps, a.MapLen)
	}
	pins, err := q.backend.VCPUPins(q.ctx, a.UUID, a.Flags)
	if err != nil {
		return err
	}
	pins = pins[:min(len(pins), int(a.Maps))]
	for _, cpus := range pins {
		r.Maps = append(r.Maps, mapOf(cpus, int(a.MapLen))...)
	}
	r.N = int32(len(pins))
	return nil
}
