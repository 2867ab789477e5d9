package server

import (
	"context"
	"encoding/json"
	"io"

	"taproom/internal/api/own"
	"taproom/internal/spec"
)

// Backend is what the server serves. Every method may be called from many goroutines at once.
//
// Errors that carry a *virterr.Error keep its code; anything else reaches the client as VIR_ERR_INTERNAL_ERROR.
//
// Methods without a context answer from memory: the server calls them on the goroutine that reads the connection, so a
// method that waits for a guest, a disk or a long-held lock would hold up every later call of that client. Methods with a
// context may take their time; the context ends when the server is shut down for good, not when the client goes away,
// because a job that was begun is finished.
type Backend interface {
	Host
	Domains
	DomainJobs
	DomainStates
	DomainJobControl
	DomainSleep
	DomainRuns
	Devices
	InterfaceTunables
	DomainData
	Processors
	Placements
	Tunables
	Descriptions
	Displays
	GuestAgents
	Inputs
	NodeDevices
	Monitors
	Networks
	NetworkPorts
	NWFilters
	FilterViews
	LANBridges
	Forwards
	Storage
	Events
	Documents
}

// Host answers questions about the machine.
type Host interface {
	Hostname() string
	// Versions are libvirt's numbers: major*1,000,000 + minor*1,000 + micro. Hypervisor is QEMU's; Library is the libvirt
	// the protocol is compatible with.
	Versions() (hypervisor, library uint64)
	NodeInfo() NodeInfo
	FreeMemory() uint64 // bytes
	// NodeCPUStats are nanoseconds by name (kernel, user, idle, iowait), of one CPU or of all (-1).
	NodeCPUStats(cpu int32) ([]NodeStat, error)
	// NodeMemoryStats are KiB by name (total, free, buffers, cached), of one NUMA cell or of all (-1).
	NodeMemoryStats(cell int32) ([]NodeStat, error)
	Capabilities(ctx context.Context) (string, error)
	DomainCapabilities(ctx context.Context, q DomainCapabilitiesQuery) (string, error)
	// MaxVCPUs is the largest number of virtual CPUs of a guest of the type ("kvm", "qemu" or "").
	MaxVCPUs(ctx context.Context, virtType string) (int32, error)
	CPUModels(ctx context.Context, arch string) ([]string, error)
}

// Domains finds domains. The server filters lists itself (see Domain), so there is one list.
type Domains interface {
	// ListDomains appends every domain to dst and returns it, ordered by name.
	ListDomains(dst []Domain) []Domain
	DomainByName(name string) (Domain, error)
	DomainByUUID(uuid spec.UUID) (Domain, error)
	DomainByID(id int32) (Domain, error)
	DomainInfo(uuid spec.UUID) (DomainInfo, error)
	// DomainVCPUs is how many virtual CPUs there are, now, in the definition or at most: flags VCPULive, VCPUConfig,
	// VCPUMaximum.
	DomainVCPUs(uuid spec.UUID, flags uint32) (int32, error)
	// DomainMessages are reasons why the domain is tainted or uses something deprecated; flags 0 means all.
	DomainMessages(uuid spec.UUID, flags uint32) ([]string, error)
}

// DomainJobs changes domains.
type DomainJobs interface {
	// DomainXML formats the document: flags XMLSecure, XMLInactive, XMLUpdateCPU, XMLMigratable. The server has refused
	// XMLSecure on read-only connections.
	DomainXML(ctx context.Context, uuid spec.UUID, flags uint32) (string, error)
	DefineDomain(ctx context.Context, xml string, flags uint32) (Domain, error)
	// CreateDomain starts a transient domain. flags as in StartDomain.
	CreateDomain(ctx context.Context, xml string, flags uint32) (Domain, error)
	// StartDomain starts a defined domain: flags StartPaused, StartAutodestroy, StartForceBoot.
	StartDomain(ctx context.Context, uuid spec.UUID, flags uint32) (Domain, error)
	SuspendDomain(ctx context.Context, uuid spec.UUID) error
	ResumeDomain(ctx context.Context, uuid spec.UUID) error
	ShutdownDomain(ctx context.Context, uuid spec.UUID, flags uint32) error
	RebootDomain(ctx context.Context, uuid spec.UUID, flags uint32) error
	ResetDomain(ctx context.Context, uuid spec.UUID) error
	// DestroyDomain stops it at once; flags DestroyGraceful.
	DestroyDomain(ctx context.Context, uuid spec.UUID, flags uint32) error
	UndefineDomain(ctx context.Context, uuid spec.UUID, flags uint32) error
	SetDomainAutostart(ctx context.Context, uuid spec.UUID, on bool) error
	// SetDomainMemory sets the balloon, or with MemoryMaximum the most it may have; flags AffectLive, AffectConfig.
	SetDomainMemory(ctx context.Context, uuid spec.UUID, kib uint64, flags uint32) error
	SetDomainVCPUs(ctx context.Context, uuid spec.UUID, n uint32, flags uint32) error
	// OpenConsole connects to a console, serial port or channel: device is its alias, "" the first console. Flags
	// ConsoleForce, ConsoleSafe. Read returns io.EOF when the guest is gone. Close unblocks Read and Write.
	OpenConsole(ctx context.Context, uuid spec.UUID, device string, flags uint32) (io.ReadWriteCloser, error)
	// Screenshot takes a picture of what a screen shows, and says of which MIME type it is.
	Screenshot(ctx context.Context, uuid spec.UUID, screen uint32) (mime string, picture []byte, err error)
}

// DomainData measures running domains.
type DomainData interface {
	// DomainStats answers "domstats": groups is a set of Stats… bits, 0 means all. The names are libvirt's
	// ("state.state", "vcpu.current", "net.0.rx.bytes").
	DomainStats(ctx context.Context, uuid spec.UUID, groups uint32) ([]Param, error)
	// InterfaceAddresses asks AddressesLease, AddressesAgent or AddressesARP.
	InterfaceAddresses(ctx context.Context, uuid spec.UUID, source uint32) ([]InterfaceAddresses, error)
	// VCPUs are those that there are now.
	VCPUs(ctx context.Context, uuid spec.UUID) ([]VCPU, error)
	BlockStats(ctx context.Context, uuid spec.UUID, device string) (BlockStats, error)
	BlockInfo(ctx context.Context, uuid spec.UUID, device string) (BlockInfo, error)
	InterfaceStats(ctx context.Context, uuid spec.UUID, device string) (InterfaceStats, error)
	MemoryStats(ctx context.Context, uuid spec.UUID) ([]MemoryStat, error)
	// SetMemoryStatsPeriod sets every how many seconds a guest is asked for its use of memory, 0 is never: flags AffectLive,
	// AffectConfig.
	SetMemoryStatsPeriod(ctx context.Context, uuid spec.UUID, seconds int32, flags uint32) error
}

// Networks finds and changes networks.
type Networks interface {
	// ListNetworks appends every network to dst and returns it, ordered by name.
	ListNetworks(dst []Network) []Network
	NetworkByName(name string) (Network, error)
	NetworkByUUID(uuid spec.UUID) (Network, error)
	// NetworkXML formats the document: flag NetworkXMLInactive.
	NetworkXML(ctx context.Context, uuid spec.UUID, flags uint32) (string, error)
	DefineNetwork(ctx context.Context, xml string, flags uint32) (Network, error)
	CreateNetwork(ctx context.Context, xml string, flags uint32) (Network, error)
	StartNetwork(ctx context.Context, uuid spec.UUID) error
	DestroyNetwork(ctx context.Context, uuid spec.UUID) error
	UndefineNetwork(ctx context.Context, uuid spec.UUID) error
	SetNetworkAutostart(ctx context.Context, uuid spec.UUID, on bool) error
	UpdateNetwork(ctx context.Context, uuid spec.UUID, u NetworkUpdate) error
	// DHCPLeases are the leases of one MAC, or with "" all.
	DHCPLeases(ctx context.Context, uuid spec.UUID, mac string) ([]DHCPLease, error)
}

// Events tells what happens. Subscribe calls sink for every event, in order, until cancel returns. Sink only queues: it
// may be called with locks held. It is called once, when the server starts to serve.
type Events interface {
	Subscribe(sink func(Event)) (cancel func())
}

// Documents is taproom's own program.
type Documents interface {
	Apply(ctx context.Context, r own.ApplyRequest) (own.ApplyResult, error)
	Plan(ctx context.Context) (own.PlanResult, error)
	Status(ctx context.Context) (own.Status, error)
	Trace(ctx context.Context, domain string) (own.Trace, error)
	Agent(ctx context.Context, domain string, request json.RawMessage) (json.RawMessage, error)
	DaemonVersion() own.Version
	// Leases are those of one network, or with "" of all that are active.
	Leases(ctx context.Context, network string) ([]own.Lease, error)
	// Lookup asks a network's DNS as a guest would.
	Lookup(ctx context.Context, r own.LookupRequest) (own.LookupResult, error)
	// NetworkTraffic is what was forwarded for one network and passed the NICs on it, or with "" for all that are active.
	NetworkTraffic(ctx context.Context, network string) ([]own.NetworkTraffic, error)
	// Why says what becomes of packets of a network's guests, or of one guest's, and with Fix removes what is in the way.
	Why(ctx context.Context, r own.WhyRequest) (own.WhyResult, error)
}
