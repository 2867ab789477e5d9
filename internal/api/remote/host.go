package remote

import "taproom/internal/api/xdr"

// NodeInfo is the answer to NODE_GET_INFO.
type NodeInfo struct {
	Model                                     string
	Memory                                    uint64 // KiB
	CPUs, MHz, Nodes, Sockets, Cores, Threads int32
}

// XDR implements xdr.Value.
func (v *NodeInfo) XDR(x *xdr.Coder) {
	x.CString(&v.Model, 32)
	x.Uint64(&v.Memory)
	for _, n := range []*int32{&v.CPUs, &v.MHz, &v.Nodes, &v.Sockets, &v.Cores, &v.Threads} {
		x.Int32(n)
	}
}

// SecurityModel is the answer to NODE_GET_SECURITY_MODEL.
type SecurityModel struct{ Model, DOI string }

// XDR implements xdr.Value.
func (v *SecurityModel) XDR(x *xdr.Coder) {
	chars(x, &v.Model)
	chars(x, &v.DOI)
}

// CPUModelsArgs asks for CPU models.
type CPUModelsArgs struct {
	Arch string
	NeedFlags
}

// XDR implements xdr.Value.
func (v *CPUModelsArgs) XDR(x *xdr.Coder) {
	x.String(&v.Arch)
	v.NeedFlags.XDR(x)
}

// CPUModels is the answer to CONNECT_GET_CPU_MODEL_NAMES.
type CPUModels struct {
	Models []string
	N      int32
}

// XDR implements xdr.Value.
func (v *CPUModels) XDR(x *xdr.Coder) {
	x.Strings(&v.Models, MaxModels)
	x.Int32(&v.N)
}

// DomainCapabilitiesArgs asks for a document about guests of a kind.
type DomainCapabilitiesArgs struct {
	Emulator, Arch, Machine, VirtType OptString
	Flags                             uint32
}

// XDR implements xdr.Value.
func (v *DomainCapabilitiesArgs) XDR(x *xdr.Coder) {
	v.Emulator.XDR(x)
	v.Arch.XDR(x)
	v.Machine.XDR(x)
	v.VirtType.XDR(x)
	x.Uint32(&v.Flags)
}

// NodeCPUStatsArgs asks for the figures of one CPU, or of all (-1).
type NodeCPUStatsArgs struct {
	CPU, N int32
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *NodeCPUStatsArgs) XDR(x *xdr.Coder) {
	x.Int32(&v.CPU)
	x.Int32(&v.N)
	x.Uint32(&v.Flags)
}

// NodeMemoryStatsArgs asks for the figures of one NUMA cell, or of all (-1).
type NodeMemoryStatsArgs struct {
	N, Cell int32
	Flags   uint32
}

// XDR implements xdr.Value.
func (v *NodeMemoryStatsArgs) XDR(x *xdr.Coder) {
	x.Int32(&v.N)
	x.Int32(&v.Cell)
	x.Uint32(&v.Flags)
}

// NodeStat is one figure of the host.
type NodeStat struct {
	Field string
	Value uint64
}

// XDR implements xdr.Value.
func (v *NodeStat) XDR(x *xdr.Coder) {
	x.String(&v.Field)
	x.Uint64(&v.Value)
}

// NodeStats are figures of the host, and their number.
type NodeStats struct {
	Stats []NodeStat
	N     int32
}

// XDR implements xdr.Value.
func (v *NodeStats) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Stats, MaxNodeStats)
	x.Int32(&v.N)
}

// Identity is what a proxy in front of the daemon says of the real client.
type Identity struct {
	Params []TypedParam
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *Identity) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Params, 20)
	x.Uint32(&v.Flags)
}

// CPUMapArgs asks which of the host's CPUs there are.
type CPUMapArgs struct {
	NeedMap, NeedOnline int32
	Flags               uint32
}

// XDR implements xdr.Value.
func (v *CPUMapArgs) XDR(x *xdr.Coder) {
	x.Int32(&v.NeedMap)
	x.Int32(&v.NeedOnline)
	x.Uint32(&v.Flags)
}

// CPUMap is the answer to NODE_GET_CPU_MAP: which CPUs are online, how many those are, and how many there are.
type CPUMap struct {
	Map    []byte
	Online uint32
	N      int32
}

// XDR implements xdr.Value.
func (v *CPUMap) XDR(x *xdr.Coder) {
	x.Opaque(&v.Map, MaxCPUMap)
	x.Uint32(&v.Online)
	x.Int32(&v.N)
}
