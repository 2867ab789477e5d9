package server

import (
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/spec"
)

// Domain is what lists and handles need to know of a domain. It compares with ==.
type Domain struct {
	Name       string
	UUID       spec.UUID
	ID         int32 // -1 when it does not run
	State      int32 // DomainRunning, …
	Reason     int32 // libvirt's reason within the state
	Persistent bool
	Autostart  bool
	Updated    bool // the definition differs from what runs
	// ManagedSave says that it has an image of its state, from which it starts next.
	ManagedSave bool
}

// Active reports whether it runs.
func (d *Domain) Active() bool { return d.ID >= 0 }

// DomainInfo is `virsh dominfo`.
type DomainInfo struct {
	State     int32
	MaxMemKiB uint64
	MemKiB    uint64
	VCPUs     uint16
	CPUTimeNS uint64
}

// NodeInfo is `virsh nodeinfo`.
type NodeInfo struct {
	Model     string // x86_64
	MemoryKiB uint64
	CPUs      int32
	MHz       int32
	Nodes     int32
	Sockets   int32 // per node
	Cores     int32 // per socket
	Threads   int32 // per core
}

// NodeStat is one figure of the host.
type NodeStat struct {
	Name  string
	Value uint64
}

// DomainCapabilitiesQuery says what guest is meant; "" means the default.
type DomainCapabilitiesQuery struct {
	Emulator, Arch, Machine, VirtType string
}

// Param is a named figure of one of libvirt's types; remote.UintParam and its siblings make them.
type Param = remote.TypedParam

// InterfaceAddresses are the addresses of one NIC of a guest.
type InterfaceAddresses struct {
	Name      string // vnet0, or the guest's own name for it when the agent answered
	MAC       string // "" when unknown
	Addresses []Address
}

// Address is an address and its prefix length.
type Address struct {
	IPv6   bool
	Addr   string
	Prefix uint32
}

// VCPU is one virtual CPU of a guest that runs.
type VCPU struct {
	Number uint32
	State  int32  // virVcpuState
	TimeNS uint64 // that it has run so far
	CPU    int32  // the host's, which it ran on last; -1 when unknown
}

// BlockStats are the counters of a disk; -1 where unknown.
type BlockStats struct {
	ReadRequests, ReadBytes, WriteRequests, WriteBytes, Errors int64
	FlushRequests, ReadNS, WriteNS, FlushNS                    int64
}

// BlockInfo are the sizes of a disk in bytes.
type BlockInfo struct {
	Allocation, Capacity, Physical uint64
}

// InterfaceStats are the counters of a NIC as the guest sees it (what the guest receives is Rx).
type InterfaceStats struct {
	RxBytes, RxPackets, RxErrors, RxDrops int64
	TxBytes, TxPackets, TxErrors, TxDrops int64
}

// MemoryStat is one figure of a guest's memory; Tag is one of MemoryStat….
type MemoryStat struct {
	Tag   int32
	Value uint64 // KiB, or a count for faults
}

// Network is what lists and handles need to know of a network. It compares with ==.
type Network struct {
	Name       string
	UUID       spec.UUID
	Bridge     string // "" when it has none
	Active     bool
	Persistent bool
	Autostart  bool
}

// NetworkUpdate is a part of a network that is to change (virNetworkUpdate).
type NetworkUpdate struct {
	Command     uint32
	Section     uint32
	ParentIndex int32
	XML         string
	Flags       uint32
}

// DHCPLease is one lease.
type DHCPLease struct {
	Interface string // the bridge
	Expiry    time.Time
	IPv6      bool
	MAC       string
	IAID      string
	Addr      string
	Prefix    uint32
	Hostname  string
	ClientID  string
}
