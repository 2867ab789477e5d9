package remote

import "taproom/internal/api/xdr"

// saveProcedures: saving and restoring guests, dumping their memory, and the jobs that these are.
func saveProcedures() []Procedure {
	return []Procedure{
		proc[DomainString, xdr.Void](ProcDomainSave, "DOMAIN_SAVE", 0),
		proc[DomainSaveArgs, xdr.Void](ProcDomainSaveFlags, "DOMAIN_SAVE_FLAGS", 0),
		proc[DomainParamsArgs, xdr.Void](ProcDomainSaveParams, "DOMAIN_SAVE_PARAMS", 0),
		proc[String, xdr.Void](ProcDomainRestore, "DOMAIN_RESTORE", 0),
		proc[RestoreArgs, xdr.Void](ProcDomainRestoreFlags, "DOMAIN_RESTORE_FLAGS", 0),
		proc[ParamsFlags, xdr.Void](ProcDomainRestoreParams, "DOMAIN_RESTORE_PARAMS", 0),
		proc[StringFlags, String](ProcDomainSaveImageGetXMLDesc, "DOMAIN_SAVE_IMAGE_GET_XML_DESC", Priority), // names any file of the host
		proc[SaveImageArgs, xdr.Void](ProcDomainSaveImageDefineXML, "DOMAIN_SAVE_IMAGE_DEFINE_XML", Priority),
		proc[DomainFlags, xdr.Void](ProcDomainManagedSave, "DOMAIN_MANAGED_SAVE", 0),
		proc[DomainFlags, xdr.Void](ProcDomainManagedSaveRemove, "DOMAIN_MANAGED_SAVE_REMOVE", 0),
		proc[DomainFlags, String](ProcDomainManagedSaveGetXMLDesc, "DOMAIN_MANAGED_SAVE_GET_XML_DESC", ReadOnly|Priority),
		proc[DomainOptStringFlags, xdr.Void](ProcDomainManagedSaveDefineXML, "DOMAIN_MANAGED_SAVE_DEFINE_XML", Priority),
		proc[DomainStringFlags, xdr.Void](ProcDomainCoreDump, "DOMAIN_CORE_DUMP", 0),
		proc[CoreDumpArgs, xdr.Void](ProcDomainCoreDumpWithFormat, "DOMAIN_CORE_DUMP_WITH_FORMAT", 0),
		proc[Domain, JobInfo](ProcDomainGetJobInfo, "DOMAIN_GET_JOB_INFO", ReadOnly|Priority),
		proc[DomainFlags, JobStats](ProcDomainGetJobStats, "DOMAIN_GET_JOB_STATS", ReadOnly|Priority),
		proc[Domain, xdr.Void](ProcDomainAbortJob, "DOMAIN_ABORT_JOB", Priority),
		proc[DomainFlags, xdr.Void](ProcDomainAbortJobFlags, "DOMAIN_ABORT_JOB_FLAGS", Priority),
	}
}

// DomainSaveArgs asks to save a domain to a file, with another document if there is one.
type DomainSaveArgs struct {
	Domain
	To    string
	XML   OptString
	Flags uint32
}

// XDR implements xdr.Value.
func (v *DomainSaveArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.To)
	v.XML.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *DomainSaveArgs) CallFlags() uint32 { return v.Flags }

// DomainParamsArgs is a domain, typed parameters and flags.
type DomainParamsArgs struct {
	Domain
	ParamsFlags
}

// XDR implements xdr.Value.
func (v *DomainParamsArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.ParamsFlags.XDR(x)
}

// ParamsFlags is typed parameters and flags.
type ParamsFlags struct {
	Params []TypedParam
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *ParamsFlags) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Params, MaxParams)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *ParamsFlags) CallFlags() uint32 { return v.Flags }

// RestoreArgs asks to restore a domain from a file.
type RestoreArgs struct {
	From  string
	XML   OptString
	Flags uint32
}

// XDR implements xdr.Value.
func (v *RestoreArgs) XDR(x *xdr.Coder) {
	x.String(&v.From)
	v.XML.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *RestoreArgs) CallFlags() uint32 { return v.Flags }

// SaveImageArgs gives an image another document.
type SaveImageArgs struct {
	File, XML string
	Flags     uint32
}

// XDR implements xdr.Value.
func (v *SaveImageArgs) XDR(x *xdr.Coder) {
	x.String(&v.File)
	x.String(&v.XML)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *SaveImageArgs) CallFlags() uint32 { return v.Flags }

// CoreDumpArgs asks for a domain's memory in a file.
type CoreDumpArgs struct {
	Domain
	To            string
	Format, Flags uint32
}

// XDR implements xdr.Value.
func (v *CoreDumpArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.To)
	x.Uint32(&v.Format)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *CoreDumpArgs) CallFlags() uint32 { return v.Flags }

// JobStats is the answer to DOMAIN_GET_JOB_STATS.
type JobStats struct {
	Type   int32
	Params []TypedParam
}

// XDR implements xdr.Value.
func (v *JobStats) XDR(x *xdr.Coder) {
	x.Int32(&v.Type)
	xdr.Slice(x, &v.Params, MaxParams)
}
