package engine

import (
	"context"
	"fmt"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// statsWithin is how long one guest's QEMU may take to answer all that its figures need. A guest that answers nothing must
// not keep those of the others from whoever collects them.
const statsWithin = 5 * time.Second

// DomainStats implements server.DomainData. The names are those of virConnectGetAllDomainStats. Figures that QEMU does
// not give, because it has just ended or does not answer, are left out.
func (e *Engine) DomainStats(ctx context.Context, uuid spec.UUID, groups uint32) ([]server.Param, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	v := d.view()
	wants := func(group uint32) bool { return groups == 0 || groups&group != 0 }
	var out []server.Param
	if wants(server.StatsState) {
		out = append(out, remote.IntParam("state.state", v.ref.State), remote.IntParam("state.reason", v.ref.Reason))
	}
	if v.run == nil {
		out = append(out, e.definedStats(v, wants)...)
		if doc, err := e.definitionOf(d); err == nil && wants(server.StatsBlock) {
			out = append(out, e.blockParams(doc.Devices.Disks, nil)...)
		}
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statsWithin)
	defer cancel()
	if wants(server.StatsCpuTotal) {
		out = append(out, e.cpuStats(v)...)
	}
	if wants(server.StatsBalloon) {
		out = append(out, remote.Uint64Param("balloon.current", v.run.balloonKiB.Load()), remote.Uint64Param("balloon.maximum", v.run.head().MaxMemKiB))
		if use, err := e.k.ProcStat(v.run.rec().PID, v.run.rec().PIDStart); err == nil {
			out = append(out, remote.Uint64Param("balloon.rss", use.RSS>>10))
		}
		for _, b := range e.balloonStats(ctx, v.run) {
			out = append(out, remote.Uint64Param("balloon."+b.name, b.value))
		}
	}
	if wants(server.StatsVcpu) {
		out = append(out, e.vcpuStats(ctx, v)...)
	}
	if wants(server.StatsInterface) {
		out = append(out, e.interfaceStats(v)...)
	}
	if wants(server.StatsBlock) {
		out = append(out, e.blockStats(ctx, d, v)...)
	}
	return out, nil
}

// definedStats are the figures of a domain that does not run.
func (e *Engine) definedStats(v *view, wants func(uint32) bool) []server.Param {
	if v.def == nil {
		return nil
	}
	var out []server.Param
	h := v.def.head
	if wants(server.StatsBalloon) {
		out = append(out, remote.Uint64Param("balloon.current", h.MemKiB), remote.Uint64Param("balloon.maximum", h.MaxMemKiB))
	}
	if wants(server.StatsVcpu) {
		out = append(out, remote.UintParam("vcpu.current", uint32(h.VCPUs)), remote.UintParam("vcpu.maximum", uint32(h.MaxVCPUs)))
	}
	return out
}

func (e *Engine) cpuStats(v *view) []server.Param {
	use, err := e.k.ProcStat(v.run.rec().PID, v.run.rec().PIDStart)
	if err != nil { // it has just ended
		return nil
	}
	return []server.Param{
		remote.Uint64Param("cpu.time", uint64(use.User+use.System)),
		remote.Uint64Param("cpu.user", uint64(use.User)),
		remote.Uint64Param("cpu.system", uint64(use.System)),
	}
}

// interfaceStats are the net.* figures. They are numbered as the NICs are in the document; one without a link has none.
func (e *Engine) interfaceStats(v *view) []server.Param {
	rec := v.run.rec()
	out := []server.Param{remote.UintParam("net.count", uint32(rec.NICs))}
	for _, p := range rec.Ports {
		s, err := e.guestSide(p)
		if err != nil { // its link has just gone
			continue
		}
		prefix := fmt.Sprintf("net.%d.", p.NIC)
		out = append(out, remote.StringParam(prefix+"name", p.Name))
		for _, f := range []struct {
			name  string
			value int64
		}{
			{"rx.bytes", s.RxBytes},
			{"rx.pkts", s.RxPackets},
			{"rx.errs", s.RxErrors},
			{"rx.drop", s.RxDrops},
			{"tx.bytes", s.TxBytes},
			{"tx.pkts", s.TxPackets},
			{"tx.errs", s.TxErrors},
			{"tx.drop", s.TxDrops},
		} {
			out = append(out, remote.Uint64Param(prefix+f.name, uint64(f.value)))
		}
	}
	return out
}

// guestSide reads a link's counters as its guest would. A tap's are turned round: what the host sends, the guest receives.
func (e *Engine) guestSide(p port) (server.InterfaceStats, error) {
	s, err := e.k.LinkStats(p.Name)
	if err != nil {
		return server.InterfaceStats{}, err
	}
	if p.Direct != nil {
		s = host.LinkStats{
			TxBytes: s.RxBytes, TxPackets: s.RxPackets, TxErrors: s.RxErrors, TxDropped: s.RxDropped,
			RxBytes: s.TxBytes, RxPackets: s.TxPackets, RxErrors: s.TxErrors, RxDropped: s.TxDropped,
		}
	}
	return server.InterfaceStats{
		RxBytes: int64(s.TxBytes), RxPackets: int64(s.TxPackets), RxErrors: int64(s.TxErrors), RxDrops: int64(s.TxDropped),
		TxBytes: int64(s.RxBytes), TxPackets: int64(s.RxPackets), TxErrors: int64(s.RxErrors), TxDrops: int64(s.RxDropped),
	}, nil
}

// InterfaceStats implements server.DomainData. The device is a link's name or a MAC.
func (e *Engine) InterfaceStats(_ context.Context, uuid spec.UUID, device string) (server.InterfaceStats, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return server.InterfaceStats{}, err
	}
	run, err := d.running()
	if err != nil {
		return server.InterfaceStats{}, err
	}
	now := run.hardware()
	for _, p := range now.rec.Ports {
		if p.Name == device || now.nic(p).MAC.Address == device {
			if run.isLost(p.Name) {
				return server.InterfaceStats{}, virterr.New(virterr.OperationFailed, "%s", lostLink(d, p.Name, now.nic(p).MAC.Address))
			}
			return e.guestSide(p)
		}
	}
	return server.InterfaceStats{}, virterr.New(virterr.InvalidArg, "domain '%s' has no interface '%s'", d.label, device)
}

// MemoryStats implements server.DomainData.
func (e *Engine) MemoryStats(ctx context.Context, uuid spec.UUID) ([]server.MemoryStat, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	run, err := d.running()
	if err != nil {
		return nil, err
	}
	out := []server.MemoryStat{{Tag: server.MemoryStatActualBalloon, Value: run.balloonKiB.Load()}}
	if use, err := e.k.ProcStat(run.rec().PID, run.rec().PIDStart); err == nil {
		out = append(out, server.MemoryStat{Tag: server.MemoryStatRss, Value: use.RSS >> 10})
	}
	ctx, cancel := context.WithTimeout(ctx, statsWithin)
	defer cancel()
	for _, b := range e.balloonStats(ctx, run) {
		out = append(out, server.MemoryStat{Tag: b.tag, Value: b.value})
	}
	return out, nil
}
