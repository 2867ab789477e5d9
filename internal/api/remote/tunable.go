package remote

import "taproom/internal/api/xdr"

// tunableProcedures: what a guest gets of the host, by parameters, and what it has used up.
func tunableProcedures() []Procedure {
	return []Procedure{
		proc[Domain, SchedulerType](ProcDomainGetSchedulerType, "DOMAIN_GET_SCHEDULER_TYPE", ReadOnly),
		proc[GetParams, ParamList](ProcDomainGetSchedulerParameters, "DOMAIN_GET_SCHEDULER_PARAMETERS", ReadOnly),
		proc[GetParamsFlags, ParamList](ProcDomainGetSchedulerParametersFlags, "DOMAIN_GET_SCHEDULER_PARAMETERS_FLAGS", ReadOnly),
		proc[SetParams, xdr.Void](ProcDomainSetSchedulerParameters, "DOMAIN_SET_SCHEDULER_PARAMETERS", 0),
		proc[SetParamsFlags, xdr.Void](ProcDomainSetSchedulerParametersFlags, "DOMAIN_SET_SCHEDULER_PARAMETERS_FLAGS", 0),
		proc[GetParamsFlags, Params](ProcDomainGetMemoryParameters, "DOMAIN_GET_MEMORY_PARAMETERS", ReadOnly),
		proc[SetParamsFlags, xdr.Void](ProcDomainSetMemoryParameters, "DOMAIN_SET_MEMORY_PARAMETERS", 0),
		proc[GetParamsFlags, Params](ProcDomainGetBlkioParameters, "DOMAIN_GET_BLKIO_PARAMETERS", ReadOnly),
		proc[SetParamsFlags, xdr.Void](ProcDomainSetBlkioParameters, "DOMAIN_SET_BLKIO_PARAMETERS", 0),
		proc[GetParamsFlags, Params](ProcDomainGetNumaParameters, "DOMAIN_GET_NUMA_PARAMETERS", ReadOnly),
		proc[SetParamsFlags, xdr.Void](ProcDomainSetNumaParameters, "DOMAIN_SET_NUMA_PARAMETERS", 0),
		proc[DomainUintFlags, xdr.Void](ProcDomainAddIOThread, "DOMAIN_ADD_IOTHREAD", 0),
		proc[DomainUintFlags, xdr.Void](ProcDomainDelIOThread, "DOMAIN_DEL_IOTHREAD", 0),
		proc[SetIOThread, xdr.Void](ProcDomainSetIOThreadParams, "DOMAIN_SET_IOTHREAD_PARAMS", 0),
		proc[CPUStatsArgs, Params](ProcDomainGetCPUStats, "DOMAIN_GET_CPU_STATS", ReadOnly),
		proc[FreePagesArgs, FreePages](ProcNodeGetFreePages, "NODE_GET_FREE_PAGES", ReadOnly|Priority|Quick),
		proc[Domain, Int](ProcDomainGetAutostartOnce, "DOMAIN_GET_AUTOSTART_ONCE", ReadOnly|Priority|Quick),
		proc[DomainInt, xdr.Void](ProcDomainSetAutostartOnce, "DOMAIN_SET_AUTOSTART_ONCE", Priority),
	}
}

// SchedulerType is a scheduler's name, and how many parameters it has.
type SchedulerType struct {
	Name string
	N    int32
}

// XDR implements xdr.Value.
func (v *SchedulerType) XDR(x *xdr.Coder) {
	x.String(&v.Name)
	x.Int32(&v.N)
}

// GetParams asks for up to so many parameters of a domain.
type GetParams struct {
	Domain
	N int32
}

// XDR implements xdr.Value.
func (v *GetParams) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Int32(&v.N)
}

// GetParamsFlags is GetParams with flags; where the answer has room for the number, N 0 asks for that alone.
type GetParamsFlags struct {
	GetParams
	Flags uint32
}

// XDR implements xdr.Value.
func (v *GetParamsFlags) XDR(x *xdr.Coder) {
	v.GetParams.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *GetParamsFlags) CallFlags() uint32 { return v.Flags }

// ParamList are typed parameters.
type ParamList struct{ Params []TypedParam }

// XDR implements xdr.Value.
func (v *ParamList) XDR(x *xdr.Coder) { xdr.Slice(x, &v.Params, MaxParams) }

// SetParams are parameters of a domain that shall change.
type SetParams struct {
	Domain
	Params []TypedParam
}

// XDR implements xdr.Value.
func (v *SetParams) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	xdr.Slice(x, &v.Params, MaxParams)
}

// SetParamsFlags is SetParams with flags.
type SetParamsFlags struct {
	SetParams
	Flags uint32
}

// XDR implements xdr.Value.
func (v *SetParamsFlags) XDR(x *xdr.Coder) {
	v.SetParams.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *SetParamsFlags) CallFlags() uint32 { return v.Flags }

// SetIOThread is the arguments of DOMAIN_SET_IOTHREAD_PARAMS.
type SetIOThread struct {
	Domain
	Thread uint32
	Params []TypedParam
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *SetIOThread) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint32(&v.Thread)
	xdr.Slice(x, &v.Params, MaxParams)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *SetIOThread) CallFlags() uint32 { return v.Flags }

// CPUStatsArgs asks what a domain has used of some CPUs of the host, up to N figures of each; First -1 asks of all together.
// Without figures and CPUs it asks how many CPUs there are, without figures how many figures.
type CPUStatsArgs struct {
	Domain
	N     uint32
	First int32
	CPUs  uint32
	Flags uint32
}

// XDR implements xdr.Value.
func (v *CPUStatsArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint32(&v.N)
	x.Int32(&v.First)
	x.Uint32(&v.CPUs)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *CPUStatsArgs) CallFlags() uint32 { return v.Flags }

// FreePagesArgs asks how many pages of some sizes, in KiB, are free on some of the host's NUMA cells.
type FreePagesArgs struct {
	Sizes []Uint
	First int32
	Cells uint32
	Flags uint32
}

// XDR implements xdr.Value.
func (v *FreePagesArgs) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Sizes, MaxCells)
	x.Int32(&v.First)
	x.Uint32(&v.Cells)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *FreePagesArgs) CallFlags() uint32 { return v.Flags }

// FreePages are numbers of pages, by cell and, within a cell, by size.
type FreePages struct{ Counts []Uint64 }

// XDR implements xdr.Value.
func (v *FreePages) XDR(x *xdr.Coder) { xdr.Slice(x, &v.Counts, MaxCells) }
