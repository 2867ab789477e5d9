package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// Flags of CONNECT_GET_ALL_DOMAIN_STATS: the low bits filter as the list of domains does.
const (
	statsFilters = ListActive | ListInactive | ListPersistent | ListTransient | ListRunning | ListPaused | ListShutoff | ListOther
	statsEnforce = 1 << 31 // refuse groups that are not there
	statsGroups  = StatsState | StatsCpuTotal | StatsBalloon | StatsVcpu | StatsInterface | StatsBlock | StatsPerf | StatsIothread | StatsMemory | StatsDirtyrate
)

func bindDomainData(p *program) {
	bind(p, remote.ProcConnectGetAllDomainStats, domainStats)
	bind(p, remote.ProcDomainInterfaceAddresses, interfaceAddresses)
	bind(p, remote.ProcDomainBlockStats, func(q *request, a *remote.DomainString, r *remote.BlockStats) error {
		s, err := q.backend.BlockStats(q.ctx, a.UUID, a.S)
		r.N = [5]int64{s.ReadRequests, s.ReadBytes, s.WriteRequests, s.WriteBytes, s.Errors}
		return err
	})
	bind(p, remote.ProcDomainBlockStatsFlags, blockStats)
	bind(p, remote.ProcDomainGetVCPUs, vcpus)
	bind(p, remote.ProcDomainGetBlockInfo, func(q *request, a *remote.DomainStringFlags, r *remote.BlockInfo) error {
		i, err := q.backend.BlockInfo(q.ctx, a.UUID, a.S)
		*r = remote.BlockInfo(i)
		return err
	})
	bind(p, remote.ProcDomainInterfaceStats, func(q *request, a *remote.DomainString, r *remote.InterfaceStats) error {
		s, err := q.backend.InterfaceStats(q.ctx, a.UUID, a.S)
		r.N = [8]int64{s.RxBytes, s.RxPackets, s.RxErrors, s.RxDrops, s.TxBytes, s.TxPackets, s.TxErrors, s.TxDrops}
		return err
	})
	bind(p, remote.ProcDomainMemoryStats, func(q *request, a *remote.DomainUintFlags, r *remote.MemoryStats) error {
		stats, err := q.backend.MemoryStats(q.ctx, a.UUID)
		for _, s := range stats[:min(len(stats), int(min(a.N, remote.MaxMemoryStats)))] {
			r.Stats = append(r.Stats, remote.MemoryStat(s))
		}
		return err
	})
}

// blockStats answers a question for up to so many figures; with none it asks how many there are.
func blockStats(q *request, a *remote.ParamsArgs, r *remote.Params) error {
	s, err := q.backend.BlockStats(q.ctx, a.UUID, a.Device)
	if err != nil {
		return err
	}
	all := []remote.TypedParam{
		remote.Int64Param("wr_bytes", s.WriteBytes), remote.Int64Param("wr_operations", s.WriteRequests),
		remote.Int64Param("rd_bytes", s.ReadBytes), remote.Int64Param("rd_operations", s.ReadRequests),
		remote.Int64Param("flush_operations", s.FlushRequests), remote.Int64Param("wr_total_times", s.WriteNS),
		remote.Int64Param("rd_total_times", s.ReadNS), remote.Int64Param("flush_total_times", s.FlushNS),
	}
	r.N = int32(len(all))
	if a.N != 0 {
		r.Params = all[:min(len(all), int(max(a.N, 0)))]
		r.N = int32(len(r.Params))
	}
	return nil
}

// vcpus answers for up to so many virtual CPUs, each with a map of so many bytes of the host's CPUs that it may run on:
// all of them.
func vcpus(q *request, a *remote.VCPUsArgs, r *remote.VCPUs) error {
	switch {
	case a.MaxInfo < 0 || a.MaxInfo > remote.MaxVCPUs:
		return virterr.New(virterr.InternalError, "maxinfo > REMOTE_VCPUINFO_MAX").In(virterr.FromRPC)
	case a.MapLen < 0 || int64(a.MaxInfo)*int64(a.MapLen) > remote.MaxCPUMaps:
		return virterr.New(virterr.InternalError, "maxinfo * maplen > REMOTE_CPUMAPS_MAX").In(virterr.FromRPC)
	}
	list, err := q.backend.VCPUs(q.ctx, a.UUID)
	if err != nil {
		return err
	}
	list = list[:min(len(list), int(a.MaxInfo))]
	everywhere := cpuMap(q.backend.NodeInfo().CPUs, int(a.MapLen))
	for _, v := range list {
		r.Info = append(r.Info, remote.VCPUInfo{Number: v.Number, State: v.State, CPUTime: v.TimeNS, CPU: v.CPU})
		r.CPUMaps = append(r.CPUMaps, everywhere...)
	}
	return nil
}

func domainStats(q *request, a *remote.StatsArgs, r *remote.Stats) error {
	if a.Flags&statsEnforce != 0 && a.Groups&^uint32(statsGroups) != 0 {
		return virterr.New(virterr.ArgumentUnsupported, "Stats types bits %#x are not supported by this daemon", a.Groups&^uint32(statsGroups))
	}
	list, err := statsDomains(q, a)
	if err != nil {
		return err
	}
	for _, d := range list {
		params, err := q.backend.DomainStats(q.ctx, d.UUID, a.Groups)
		if virterr.CodeOf(err) == virterr.NoDomain && err != nil {
			continue // it went away since it was listed
		}
		if err != nil {
			return err
		}
		r.Records = append(r.Records, remote.DomainStats{Domain: wireDomain(d), Params: params})
	}
	return nil
}

// statsDomains are the domains that were named, or all, as far as the flags keep them.
func statsDomains(q *request, a *remote.StatsArgs) ([]Domain, error) {
	filter := a.Flags & statsFilters
	if len(a.Domains) == 0 {
		return domains(q.backend, filter), nil
	}
	var list []Domain
	for i := range a.Domains {
		d, err := q.backend.DomainByUUID(a.Domains[i].UUID)
		if err != nil {
			return nil, err
		}
		if keepDomain(&d, filter) {
			list = append(list, d)
		}
	}
	return list, nil
}

func interfaceAddresses(q *request, a *remote.DomainUintFlags, r *remote.Interfaces) error {
	if a.N == AddressesAgent && q.conn.isReadOnly() {
		return virterr.New(virterr.OperationDenied, "read only access prevents virDomainInterfaceAddresses from the agent").In(virterr.FromDom)
	}
	ifaces, err := q.backend.InterfaceAddresses(q.ctx, a.UUID, a.N)
	for _, i := range ifaces {
		w := remote.InterfaceAddresses{Name: i.Name, MAC: remote.OptNonEmpty(i.MAC)}
		for _, addr := range i.Addresses {
			w.Addrs = append(w.Addrs, remote.Address{Type: flag(addr.IPv6), Addr: addr.Addr, Prefix: addr.Prefix})
		}
		r.Interfaces = append(r.Interfaces, w)
	}
	return err
}

func bindBalloon(p *program) {
	bind(p, remote.ProcDomainSetMemoryStatsPeriod, func(q *request, a *remote.DomainIntFlags, _ *xdr.Void) error {
		return q.backend.SetMemoryStatsPeriod(q.ctx, a.UUID, a.N, a.Flags)
	})
}
