package engine

import (
	"context"
	"fmt"
	"slices"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/network/portforward"
	"taproom/internal/version"
)

// Status implements server.Documents.
func (e *Engine) Status(ctx context.Context) (own.Status, error) {
	e.glanced(ctx)
	s := own.Status{Domains: []own.DomainStatus{}, Networks: []own.NetworkStatus{}, Problems: slices.Concat(e.problem.all(), e.serviceProblems(ctx), e.healProblems(), e.zoneProblems(), e.lanProblems(), e.crowded())}
	for _, d := range e.domains.all() {
		if v := d.view(); v.exists() {
			s.Domains = append(s.Domains, e.domainStatus(ctx, d, v))
		}
	}
	for _, n := range e.networks.all() {
		if v := n.view(); v.exists() {
			s.Networks = append(s.Networks, e.networkStatus(ctx, n, v))
		}
	}
	return s, nil
}

func (e *Engine) domainStatus(ctx context.Context, d *domain, v *view) own.DomainStatus {
	s := own.DomainStatus{
		Name: d.label, UUID: d.uuid.String(), ID: v.ref.ID, State: stateName(v.ref.State),
		Autostart: v.ref.Autostart, Persistent: v.ref.Persistent,
	}
	if v.run == nil {
		s.VCPUs, s.MemoryKiB = uint32(v.def.head.VCPUs), v.def.head.MemKiB
		return s
	}
	s.VCPUs, s.MemoryKiB, s.Accel = uint32(v.run.head().VCPUs), v.run.balloonKiB.Load(), v.run.rec().Accel
	for _, t := range v.run.rec().Tainted {
		s.Notes = append(s.Notes, "tainted: "+t)
	}
	s.NICs = e.nicStatus(v.run)
	nics, err := e.InterfaceAddresses(ctx, d.uuid, server.AddressesLease)
	if err != nil {
		s.Notes = append(s.Notes, err.Error())
	}
	for _, n := range nics {
		for _, a := range n.Addresses {
			s.Addresses = append(s.Addresses, fmt.Sprintf("%s/%d", a.Addr, a.Prefix))
		}
	}
	return s
}

func (e *Engine) networkStatus(ctx context.Context, n *network, v *netView) own.NetworkStatus {
	s := own.NetworkStatus{
		Name: n.label, UUID: n.uuid.String(), Active: v.ref.Active, Autostart: v.ref.Autostart, Bridge: v.ref.Bridge,
	}
	if v.live == nil {
		return s
	}
	for _, ip := range v.live.IPs {
		if p, err := ip.Subnet(); err == nil {
			s.Addresses = append(s.Addresses, p.String())
		}
	}
	leases, err := e.leases(ctx, n, v, "")
	if err != nil {
		s.Notes = append(s.Notes, err.Error())
	}
	s.Leases = len(leases)
	forwards, err := portforward.Look(v.live, e.targets.force(n.uuid))
	if err != nil {
		s.Notes = append(s.Notes, err.Error())
	}
	for _, f := range forwards {
		s.Forwards = append(s.Forwards, ownForward(n, v, f))
	}
	return s
}

// stateName is what virsh calls a state.
func stateName(state int32) string {
	names := []string{"no state", "running", "idle", "paused", "in shutdown", "shut off", "crashed", "pmsuspended"}
	if state < 0 || int(state) >= len(names) {
		return "unknown"
	}
	return names[state]
}

// DaemonVersion implements server.Documents.
func (e *Engine) DaemonVersion() own.Version {
	v := own.Version{Version: version.Version, Root: e.cfg.Root, Protocol: 1}
	if c, err := e.capabilities(e.ctx, e.cfg.Emulator); err == nil {
		v.QEMU = c.Version.String()
	}
	return v
}
