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
	}
}
