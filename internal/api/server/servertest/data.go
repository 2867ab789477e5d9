package servertest

import (
	"context"
	"encoding/json"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// DomainStats implements server.DomainData.
func (f *Fake) DomainStats(_ context.Context, uuid spec.UUID, groups uint32) (params []server.Param, err error) {
	err = f.change("DomainStats", uuid, func(d *domain) error {
		if groups == 0 || groups&server.StatsState != 0 {
			params = append(params, remote.IntParam("state.state", d.State), remote.IntParam("state.reason", d.Reason))
		}
		if groups == 0 || groups&server.StatsBalloon != 0 {
			params = append(params, remote.Uint64Param("balloon.current", d.mem), remote.Uint64Param("balloon.maximum", d.max))
		}
		if groups == 0 || groups&server.StatsInterface != 0 {
			params = append(params, remote.UintParam("net.count", 1), remote.StringParam("net.0.name", "vnet0"), remote.Uint64Param("net.0.rx.bytes", 1234))
		}
		return nil
	})
	return params, err
}

// InterfaceAddresses implements server.DomainData.
func (f *Fake) InterfaceAddresses(_ context.Context, uuid spec.UUID, _ uint32) ([]server.InterfaceAddresses, error) {
	if err := f.change("InterfaceAddresses", uuid, running); err != nil {
		return nil, err
	}
	return []server.InterfaceAddresses{{
		Name: "vnet0", MAC: "52:54:00:00:00:01",
		Addresses: []server.Address{{Addr: "192.168.122.2", Prefix: 24}, {IPv6: true, Addr: "fd00::2", Prefix: 64}},
	}}, nil
}

// BlockStats implements server.DomainData.
func (f *Fake) BlockStats(_ context.Context, uuid spec.UUID, device string) (server.BlockStats, error) {
	if err := f.change("BlockStats", uuid, running); err != nil {
		return server.BlockStats{}, err
	}
	if device != "vda" {
		return server.BlockStats{}, virterr.New(virterr.InvalidArg, "invalid path: %s", device)
	}
	return server.BlockStats{
		ReadRequests: 10, ReadBytes: 4096, WriteRequests: 20, WriteBytes: 8192, Errors: -1,
		FlushRequests: 30, ReadNS: 1000, WriteNS: 2000, FlushNS: 3000,
	}, nil
}

// VCPUs implements server.DomainData.
func (f *Fake) VCPUs(_ context.Context, uuid spec.UUID) ([]server.VCPU, error) {
	if err := f.change("VCPUs", uuid, running); err != nil {
		return nil, err
	}
	return []server.VCPU{{Number: 0, State: 1, TimeNS: 1500000000, CPU: 3}}, nil
}

// BlockInfo implements server.DomainData.
func (f *Fake) BlockInfo(_ context.Context, uuid spec.UUID, _ string) (server.BlockInfo, error) {
	return server.BlockInfo{Allocation: 1 << 20, Capacity: 1 << 30, Physical: 1 << 21}, f.change("BlockInfo", uuid, func(*domain) error { return nil })
}

// InterfaceStats implements server.DomainData.
func (f *Fake) InterfaceStats(_ context.Context, uuid spec.UUID, _ string) (server.InterfaceStats, error) {
	return server.InterfaceStats{
		RxBytes: 1, RxPackets: 2, RxErrors: 3, RxDrops: 4, TxBytes: 5, TxPackets: 6, TxErrors: 7, TxDrops: 8,
	}, f.change("InterfaceStats", uuid, running)
}

// SetMemoryStatsPeriod implements server.DomainData.
func (f *Fake) SetMemoryStatsPeriod(_ context.Context, uuid spec.UUID, _ int32, _ uint32) error {
	_, err := f.DomainByUUID(uuid)
	return err
}

// MemoryStats implements server.DomainData.
func (f *Fake) MemoryStats(_ context.Context, uuid spec.UUID) ([]server.MemoryStat, error) {
	return []server.MemoryStat{{Tag: server.MemoryStatActualBalloon, Value: 524288}, {Tag: server.MemoryStatRss, Value: 65536}}, f.change("MemoryStats", uuid, running)
}

// Hostname implements server.Host.
func (f *Fake) Hostname() string { return "host.example" }

// Versions implements server.Host.
func (f *Fake) Versions() (hypervisor, library uint64) { return 7002000, 11003000 }

// NodeInfo implements server.Host.
func (f *Fake) NodeInfo() server.NodeInfo {
	return server.NodeInfo{Model: "x86_64", MemoryKiB: 16777216, CPUs: 8, MHz: 2600, Nodes: 1, Sockets: 1, Cores: 4, Threads: 2}
}

// FreeMemory implements server.Host.
func (f *Fake) FreeMemory() uint64 { return 8 << 30 }

// NodeCPUStats implements server.Host.
func (f *Fake) NodeCPUStats(int32) ([]server.NodeStat, error) {
	return []server.NodeStat{{Name: "kernel", Value: 1e9}, {Name: "user", Value: 2e9}, {Name: "idle", Value: 7e9}, {Name: "iowait", Value: 0}}, nil
}

// NodeMemoryStats implements server.Host.
func (f *Fake) NodeMemoryStats(int32) ([]server.NodeStat, error) {
	return []server.NodeStat{{Name: "total", Value: 16777216}, {Name: "free", Value: 8388608}, {Name: "buffers", Value: 1024}, {Name: "cached", Value: 2048}}, nil
}

// Capabilities implements server.Host.
func (f *Fake) Capabilities(context.Context) (string, error) {
	return "<capabilities>\n  <host/>\n</capabilities>\n", f.enter("Capabilities")
}

// DomainCapabilities implements server.Host.
func (f *Fake) DomainCapabilities(_ context.Context, q server.DomainCapabilitiesQuery) (string, error) {
	return "<domainCapabilities>\n  <arch>" + q.Arch + "</arch>\n</domainCapabilities>\n", f.enter("DomainCapabilities")
}

// MaxVCPUs implements server.Host.
func (f *Fake) MaxVCPUs(context.Context, string) (int32, error) { return 255, f.enter("MaxVCPUs") }

// CPUModels implements server.Host.
func (f *Fake) CPUModels(context.Context, string) ([]string, error) {
	return []string{"qemu64", "max"}, f.enter("CPUModels")
}

// Apply implements server.Documents.
func (f *Fake) Apply(_ context.Context, r own.ApplyRequest) (own.ApplyResult, error) {
	out := own.ApplyResult{}
	for _, d := range r.Documents {
		out.Objects = append(out.Objects, own.ObjectResult{Kind: "domain", Name: d.Name, Action: "created"})
	}
	return out, f.enter("Apply")
}

// Plan implements server.Documents.
func (f *Fake) Plan(context.Context) (own.PlanResult, error) {
	return own.PlanResult{Steps: []own.Step{{Object: "network default", Command: "ip link add virbr0 type bridge"}}}, f.enter("Plan")
}

// Status implements server.Documents.
func (f *Fake) Status(context.Context) (own.Status, error) {
	var s own.Status
	for _, d := range f.ListDomains(nil) {
		s.Domains = append(s.Domains, own.DomainStatus{Name: d.Name, UUID: d.UUID.String(), ID: d.ID})
	}
	return s, f.enter("Status")
}

// Trace implements server.Documents.
func (f *Fake) Trace(_ context.Context, name string) (own.Trace, error) {
	if _, err := f.DomainByName(name); err != nil {
		return own.Trace{}, err
	}
	return own.Trace{Domain: name, Began: time.Unix(0, 0).UTC().Format(time.RFC3339), Spans: []own.Span{{Name: "exec", Start: 0, Took: 9000}}}, nil
}

// Agent implements server.Documents: it echoes the request.
func (f *Fake) Agent(_ context.Context, _ string, request json.RawMessage) (json.RawMessage, error) {
	return request, f.enter("Agent")
}

// DaemonVersion implements server.Documents.
func (f *Fake) DaemonVersion() own.Version { return own.Version{Version: "v0-fake", Protocol: 1} }
