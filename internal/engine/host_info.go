package engine

import (
	"context"
	"os"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
)

// libvirtVersion is the libvirt whose protocol and documents are served: 9.0.0.
const libvirtVersion = 9_000_000

// Hostname implements server.Host.
func (e *Engine) Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// Versions implements server.Host.
func (e *Engine) Versions() (hypervisor, library uint64) {
	c, err := e.capabilities(e.ctx, e.cfg.Emulator)
	if err != nil {
		return 0, libvirtVersion
	}
	q := c.Version.QEMU
	return uint64(q.Major*1_000_000 + q.Minor*1000 + q.Micro), libvirtVersion
}

// NodeInfo implements server.Host.
func (e *Engine) NodeInfo() server.NodeInfo {
	n, err := e.k.NodeInfo()
	if err != nil {
		e.log.Warn("read what the machine is made of", "error", err)
	}
	return server.NodeInfo{
		Model: n.Arch, MemoryKiB: n.MemoryKiB, CPUs: int32(n.CPUs), MHz: int32(n.MHz), Nodes: int32(max(n.Nodes, 1)),
		Sockets: int32(n.Sockets), Cores: int32(n.Cores), Threads: int32(n.Threads),
	}
}

// FreeMemory implements server.Host.
func (e *Engine) FreeMemory() uint64 {
	kib, err := e.k.MemoryFreeKiB()
	if err != nil {
		return 0
	}
	return kib << 10
}

// NodeCPUStats implements server.Host.
func (e *Engine) NodeCPUStats(cpu int32) ([]server.NodeStat, error) {
	stats, err := e.k.CPUTimes(int(cpu))
	if err != nil {
		return nil, virterr.New(virterr.InvalidArg, "no CPU %d: %w", cpu, err)
	}
	return []server.NodeStat{
		{Name: "kernel", Value: uint64(stats.System)},
		{Name: "user", Value: uint64(stats.User)},
		{Name: "idle", Value: uint64(stats.Idle)},
		{Name: "iowait", Value: uint64(stats.IOWait)},
	}, nil
}

// NodeMemoryStats implements server.Host.
func (e *Engine) NodeMemoryStats(cell int32) ([]server.NodeStat, error) {
	if cell > 0 {
		return nil, virterr.New(virterr.InvalidArg, "no NUMA cell %d", cell)
	}
	m, err := e.k.MemoryUse()
	if err != nil {
		return nil, virterr.Wrap(virterr.SystemError, err)
	}
	return []server.NodeStat{
		{Name: "total", Value: m.TotalKiB},
		{Name: "free", Value: m.FreeKiB},
		{Name: "buffers", Value: m.BuffersKiB},
		{Name: "cached", Value: m.CachedKiB},
	}, nil
}

// MaxVCPUs implements server.Host.
func (e *Engine) MaxVCPUs(ctx context.Context, virtType string) (int32, error) {
	facts, err := e.hostFacts(ctx, e.cfg.Emulator)
	if err != nil {
		return 0, err
	}
	if virtType == "kvm" && facts.KVM != nil {
		return 0, virterr.New(virterr.ConfigUnsupported, "%w", facts.KVM)
	}
	most := 1
	for _, m := range facts.Machines {
		most = max(most, m.MaxCPUs)
	}
	return int32(most), nil
}

// CPUModels implements server.Host.
func (e *Engine) CPUModels(ctx context.Context, arch string) ([]string, error) {
	c, err := e.capabilities(ctx, e.cfg.Emulator)
	if err != nil {
		return nil, err
	}
	if arch != "" && arch != c.Arch {
		return nil, virterr.New(virterr.ConfigUnsupported, "no emulator for architecture '%s' here, only for %s", arch, c.Arch)
	}
	var names []string
	for _, m := range c.CPUs["tcg"] {
		names = append(names, m.Name)
	}
	return names, nil
}

// Capabilities implements server.Host.
func (e *Engine) Capabilities(ctx context.Context) (string, error) {
	f, err := e.capabilityFacts(ctx, e.cfg.Emulator)
	if err != nil {
		return "", err
	}
	return string(guest.Capabilities(f).Format()), nil
}

// DomainCapabilities implements server.Host.
func (e *Engine) DomainCapabilities(ctx context.Context, q server.DomainCapabilitiesQuery) (string, error) {
	emulator := q.Emulator
	if emulator == "" {
		emulator = e.cfg.Emulator
	}
	f, err := e.capabilityFacts(ctx, emulator)
	if err != nil {
		return "", err
	}
	doc, err := guest.DomainCapabilities(f, q.Arch, q.Machine, q.VirtType)
	if err != nil {
		return "", documentError(err)
	}
	return string(doc.Format()), nil
}
