package remote

import "taproom/internal/api/xdr"

// DomainFlags is a domain and flags.
type DomainFlags struct {
	Domain
	Flags uint32
}

// XDR implements xdr.Value.
func (v *DomainFlags) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint32(&v.Flags)
}

// DomainInt is a domain and an int.
type DomainInt struct {
	Domain
	N int32
}

// XDR implements xdr.Value.
func (v *DomainInt) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Int32(&v.N)
}

// DomainNeedFlags lists what belongs to a domain.
type DomainNeedFlags struct {
	Domain
	NeedFlags
}

// XDR implements xdr.Value.
func (v *DomainNeedFlags) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.NeedFlags.XDR(x)
}

// DomainUintFlags is a domain, a number and flags.
type DomainUintFlags struct {
	Domain
	N     uint32
	Flags uint32
}

// XDR implements xdr.Value.
func (v *DomainUintFlags) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint32(&v.N)
	x.Uint32(&v.Flags)
}

// DomainUint64 is a domain and an amount.
type DomainUint64 struct {
	Domain
	N uint64
}

// XDR implements xdr.Value.
func (v *DomainUint64) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint64(&v.N)
}

// DomainUint64Flags is a domain, an amount and flags.
type DomainUint64Flags struct {
	Domain
	N     uint64
	Flags uint32
}

// XDR implements xdr.Value.
func (v *DomainUint64Flags) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint64(&v.N)
	x.Uint32(&v.Flags)
}

// DomainString is a domain and the name of a disk or NIC, or a document.
type DomainString struct {
	Domain
	S string
}

// XDR implements xdr.Value.
func (v *DomainString) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.S)
}

// DomainStringFlags is a domain, a name or document, and flags.
type DomainStringFlags struct {
	Domain
	S     string
	Flags uint32
}

// XDR implements xdr.Value.
func (v *DomainStringFlags) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.S)
	x.Uint32(&v.Flags)
}

// DomainOptStringFlags is a domain, a name that may be absent, and flags.
type DomainOptStringFlags struct {
	Domain
	S     OptString
	Flags uint32
}

// XDR implements xdr.Value.
func (v *DomainOptStringFlags) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.S.XDR(x)
	x.Uint32(&v.Flags)
}

// Domains is the answer to "list all domains".
type Domains struct {
	Domains []Domain
	N       uint32
}

// XDR implements xdr.Value.
func (v *Domains) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Domains, MaxList)
	x.Uint32(&v.N)
}

// DomainInfo is the answer to DOMAIN_GET_INFO.
type DomainInfo struct {
	State   int32
	MaxMem  uint64 // KiB
	Memory  uint64 // KiB
	VCPUs   int32
	CPUTime uint64 // ns
}

// XDR implements xdr.Value.
func (v *DomainInfo) XDR(x *xdr.Coder) {
	x.Int32(&v.State)
	x.Uint64(&v.MaxMem)
	x.Uint64(&v.Memory)
	x.Int32(&v.VCPUs)
	x.Uint64(&v.CPUTime)
}

// DomainState is the answer to DOMAIN_GET_STATE.
type DomainState struct{ State, Reason int32 }

// XDR implements xdr.Value.
func (v *DomainState) XDR(x *xdr.Coder) {
	x.Int32(&v.State)
	x.Int32(&v.Reason)
}

// JobInfo is the answer to DOMAIN_GET_JOB_INFO: a type and eleven figures.
type JobInfo struct {
	Type    int32
	Figures [11]uint64
}

// XDR implements xdr.Value.
func (v *JobInfo) XDR(x *xdr.Coder) {
	x.Int32(&v.Type)
	for i := range v.Figures {
		x.Uint64(&v.Figures[i])
	}
}

// SecurityLabel is the answer to DOMAIN_GET_SECURITY_LABEL.
type SecurityLabel struct {
	Label     string
	Enforcing int32
}

// XDR implements xdr.Value.
func (v *SecurityLabel) XDR(x *xdr.Coder) {
	chars(x, &v.Label)
	x.Int32(&v.Enforcing)
}

// ParamsArgs asks for the parameters of a NIC of a domain.
type ParamsArgs struct {
	Domain
	Device string
	N      int32 // 0 asks for the number only
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *ParamsArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.Device)
	x.Int32(&v.N)
	x.Uint32(&v.Flags)
}

// Params are typed parameters and their number.
type Params struct {
	Params []TypedParam
	N      int32
}

// XDR implements xdr.Value.
func (v *Params) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Params, MaxParams)
	x.Int32(&v.N)
}

// VCPUsArgs asks for the virtual CPUs of a domain, and for maps of the host's CPUs of so many bytes.
type VCPUsArgs struct {
	Domain
	MaxInfo, MapLen int32
}

// XDR implements xdr.Value.
func (v *VCPUsArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Int32(&v.MaxInfo)
	x.Int32(&v.MapLen)
}

// VCPUInfo is one virtual CPU.
type VCPUInfo struct {
	Number  uint32
	State   int32
	CPUTime uint64 // ns
	CPU     int32
}

// XDR implements xdr.Value.
func (v *VCPUInfo) XDR(x *xdr.Coder) {
	x.Uint32(&v.Number)
	x.Int32(&v.State)
	x.Uint64(&v.CPUTime)
	x.Int32(&v.CPU)
}

// VCPUs is the answer to DOMAIN_GET_VCPUS. The maps follow each other.
type VCPUs struct {
	Info    []VCPUInfo
	CPUMaps []byte
}

// XDR implements xdr.Value.
func (v *VCPUs) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Info, MaxVCPUs)
	x.Opaque(&v.CPUMaps, MaxCPUMaps)
}

// StatsArgs asks for the statistics of some domains, or of all.
type StatsArgs struct {
	Domains []Domain
	Groups  uint32
	Flags   uint32
}

// XDR implements xdr.Value.
func (v *StatsArgs) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Domains, MaxList)
	x.Uint32(&v.Groups)
	x.Uint32(&v.Flags)
}

// DomainStats are the statistics of one domain.
type DomainStats struct {
	Domain
	Params []TypedParam
}

// XDR implements xdr.Value.
func (v *DomainStats) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	xdr.Slice(x, &v.Params, MaxStats)
}

// Stats are the statistics of several domains.
type Stats struct{ Records []DomainStats }

// XDR implements xdr.Value.
func (v *Stats) XDR(x *xdr.Coder) { xdr.Slice(x, &v.Records, MaxList) }

// Address is one address of a NIC.
type Address struct {
	Type   int32 // 0 IPv4, 1 IPv6
	Addr   string
	Prefix uint32
}

// XDR implements xdr.Value.
func (v *Address) XDR(x *xdr.Coder) {
	x.Int32(&v.Type)
	x.String(&v.Addr)
	x.Uint32(&v.Prefix)
}

// InterfaceAddresses are the addresses of one NIC.
type InterfaceAddresses struct {
	Name  string
	MAC   OptString
	Addrs []Address
}

// XDR implements xdr.Value.
func (v *InterfaceAddresses) XDR(x *xdr.Coder) {
	x.String(&v.Name)
	v.MAC.XDR(x)
	xdr.Slice(x, &v.Addrs, MaxAddresses)
}

// Interfaces is the answer to DOMAIN_INTERFACE_ADDRESSES.
type Interfaces struct{ Interfaces []InterfaceAddresses }

// XDR implements xdr.Value.
func (v *Interfaces) XDR(x *xdr.Coder) { xdr.Slice(x, &v.Interfaces, MaxInterfaces) }

// BlockStats is the answer to DOMAIN_BLOCK_STATS: read requests and bytes, write requests and bytes, errors.
type BlockStats struct{ N [5]int64 }

// XDR implements xdr.Value.
func (v *BlockStats) XDR(x *xdr.Coder) {
	for i := range v.N {
		x.Int64(&v.N[i])
	}
}

// InterfaceStats is the answer to DOMAIN_INTERFACE_STATS: bytes, packets, errors, drops, received and then sent.
type InterfaceStats struct{ N [8]int64 }

// XDR implements xdr.Value.
func (v *InterfaceStats) XDR(x *xdr.Coder) {
	for i := range v.N {
		x.Int64(&v.N[i])
	}
}

// BlockInfo is the answer to DOMAIN_GET_BLOCK_INFO, in bytes.
type BlockInfo struct{ Allocation, Capacity, Physical uint64 }

// XDR implements xdr.Value.
func (v *BlockInfo) XDR(x *xdr.Coder) {
	x.Uint64(&v.Allocation)
	x.Uint64(&v.Capacity)
	x.Uint64(&v.Physical)
}

// MemoryStat is one figure of a guest's memory.
type MemoryStat struct {
	Tag   int32
	Value uint64
}

// XDR implements xdr.Value.
func (v *MemoryStat) XDR(x *xdr.Coder) {
	x.Int32(&v.Tag)
	x.Uint64(&v.Value)
}

// MemoryStats is the answer to DOMAIN_MEMORY_STATS.
type MemoryStats struct{ Stats []MemoryStat }

// XDR implements xdr.Value.
func (v *MemoryStats) XDR(x *xdr.Coder) { xdr.Slice(x, &v.Stats, MaxMemoryStats) }
