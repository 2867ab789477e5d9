package remote

import "taproom/internal/api/xdr"

// CPUQuery says which emulator a question about processors is for; what is absent is the default.
type CPUQuery struct {
	Emulator, Arch, Machine, VirtType OptString
}

func (v *CPUQuery) fields(x *xdr.Coder) {
	v.Emulator.XDR(x)
	v.Arch.XDR(x)
	v.Machine.XDR(x)
	v.VirtType.XDR(x)
}

// CompareHypervisorCPU is the arguments of CONNECT_COMPARE_HYPERVISOR_CPU.
type CompareHypervisorCPU struct {
	CPUQuery
	XML   string
	Flags uint32
}

// XDR implements xdr.Value.
func (v *CompareHypervisorCPU) XDR(x *xdr.Coder) {
	v.fields(x)
	x.String(&v.XML)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *CompareHypervisorCPU) CallFlags() uint32 { return v.Flags }

// BaselineHypervisorCPU is the arguments of CONNECT_BASELINE_HYPERVISOR_CPU.
type BaselineHypervisorCPU struct {
	CPUQuery
	XML   []string
	Flags uint32
}

// XDR implements xdr.Value.
func (v *BaselineHypervisorCPU) XDR(x *xdr.Coder) {
	v.fields(x)
	x.Strings(&v.XML, MaxCPUBaseline)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *BaselineHypervisorCPU) CallFlags() uint32 { return v.Flags }

// MaxCPUBaseline is how many processors one call may bring (REMOTE_CPU_BASELINE_MAX).
const MaxCPUBaseline = 256

// tuningProcedures: what the host gives a guest, and its processors.
func tuningProcedures() []Procedure {
	return []Procedure{
		// Their argument is a program that is run (CVE-2019-10168).
		proc[CompareHypervisorCPU, Int](ProcConnectCompareHypervisorCPU, "CONNECT_COMPARE_HYPERVISOR_CPU", Priority),
		proc[BaselineHypervisorCPU, String](ProcConnectBaselineHypervisorCPU, "CONNECT_BASELINE_HYPERVISOR_CPU", Priority),
		proc[PinVCPU, xdr.Void](ProcDomainPinVCPU, "DOMAIN_PIN_VCPU", 0),
		proc[PinFlags, xdr.Void](ProcDomainPinVCPUFlags, "DOMAIN_PIN_VCPU_FLAGS", 0),
		proc[VCPUPins, CPUMaps](ProcDomainGetVCPUPinInfo, "DOMAIN_GET_VCPU_PIN_INFO", ReadOnly|Priority),
		proc[PinEmulator, xdr.Void](ProcDomainPinEmulator, "DOMAIN_PIN_EMULATOR", 0),
		proc[EmulatorPin, CPUMaps](ProcDomainGetEmulatorPinInfo, "DOMAIN_GET_EMULATOR_PIN_INFO", ReadOnly|Priority),
		proc[DomainFlags, IOThreadInfos](ProcDomainGetIOThreadInfo, "DOMAIN_GET_IOTHREAD_INFO", ReadOnly|Priority),
		proc[PinFlags, xdr.Void](ProcDomainPinIOThread, "DOMAIN_PIN_IOTHREAD", 0),
		proc[CellsArgs, CellsFree](ProcNodeGetCellsFreeMemory, "NODE_GET_CELLS_FREE_MEMORY", ReadOnly|Priority|Quick),
	}
}

// PinVCPU is the arguments of DOMAIN_PIN_VCPU: a virtual CPU, and a map of the host's, a bit each.
type PinVCPU struct {
	Domain
	VCPU uint32
	Map  []byte
}

// XDR implements xdr.Value.
func (v *PinVCPU) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint32(&v.VCPU)
	x.Opaque(&v.Map, MaxCPUMap)
}

// PinFlags is PinVCPU with flags: DOMAIN_PIN_VCPU_FLAGS and DOMAIN_PIN_IOTHREAD, which has the thread's number there.
type PinFlags struct {
	PinVCPU
	Flags uint32
}

// XDR implements xdr.Value.
func (v *PinFlags) XDR(x *xdr.Coder) {
	v.PinVCPU.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *PinFlags) CallFlags() uint32 { return v.Flags }

// PinEmulator is the arguments of DOMAIN_PIN_EMULATOR.
type PinEmulator struct {
	Domain
	Map   []byte
	Flags uint32
}

// XDR implements xdr.Value.
func (v *PinEmulator) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Opaque(&v.Map, MaxCPUMap)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *PinEmulator) CallFlags() uint32 { return v.Flags }

// VCPUPins is the arguments of DOMAIN_GET_VCPU_PIN_INFO: up to so many maps of so many bytes.
type VCPUPins struct {
	Domain
	Maps, MapLen int32
	Flags        uint32
}

// XDR implements xdr.Value.
func (v *VCPUPins) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Int32(&v.Maps)
	x.Int32(&v.MapLen)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *VCPUPins) CallFlags() uint32 { return v.Flags }

// EmulatorPin is the arguments of DOMAIN_GET_EMULATOR_PIN_INFO.
type EmulatorPin struct {
	Domain
	MapLen int32
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *EmulatorPin) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Int32(&v.MapLen)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *EmulatorPin) CallFlags() uint32 { return v.Flags }

// CPUMaps are maps of the host's CPUs, one behind the other, and their number.
type CPUMaps struct {
	Maps []byte
	N    int32
}

// XDR implements xdr.Value.
func (v *CPUMaps) XDR(x *xdr.Coder) {
	x.Opaque(&v.Maps, MaxCPUMaps)
	x.Int32(&v.N)
}

// IOThreadInfo is an I/O thread, and the host's CPUs it may run on.
type IOThreadInfo struct {
	ID  uint32
	Map []byte
}

// XDR implements xdr.Value.
func (v *IOThreadInfo) XDR(x *xdr.Coder) {
	x.Uint32(&v.ID)
	x.Opaque(&v.Map, MaxCPUMap)
}

// IOThreadInfos is the answer to DOMAIN_GET_IOTHREAD_INFO.
type IOThreadInfos struct {
	Threads []IOThreadInfo
	N       uint32
}

// XDR implements xdr.Value.
func (v *IOThreadInfos) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Threads, MaxVCPUs)
	x.Uint32(&v.N)
}

// CellsArgs asks for some of the host's NUMA cells, from First on.
type CellsArgs struct{ First, Count int32 }

// XDR implements xdr.Value.
func (v *CellsArgs) XDR(x *xdr.Coder) {
	x.Int32(&v.First)
	x.Int32(&v.Count)
}

// CellsFree is the answer to NODE_GET_CELLS_FREE_MEMORY, in bytes.
type CellsFree struct{ Bytes []Uint64 }

// XDR implements xdr.Value.
func (v *CellsFree) XDR(x *xdr.Coder) { xdr.Slice(x, &v.Bytes, MaxCells) }

// MaxCells is how many cells one answer has (REMOTE_NODE_MAX_CELLS).
const MaxCells = 1024
