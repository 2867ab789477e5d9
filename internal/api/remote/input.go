package remote

import "taproom/internal/api/xdr"

// Procedures about a guest's keyboard and interrupts, and about what is wrong with it.
const (
	ProcDomainInjectNMI      = 210
	ProcDomainSendKey        = 226
	ProcDomainGetControlInfo = 229
	ProcDomainGetDiskErrors  = 263
)

func inputProcedures() []Procedure {
	return []Procedure{
		proc[DomainFlags, xdr.Void](ProcDomainInjectNMI, "DOMAIN_INJECT_NMI", 0),
		proc[SendKeyArgs, xdr.Void](ProcDomainSendKey, "DOMAIN_SEND_KEY", 0),
		proc[DomainFlags, ControlInfo](ProcDomainGetControlInfo, "DOMAIN_GET_CONTROL_INFO", ReadOnly|Priority|Quick),
		proc[DomainUintFlags, DiskErrors](ProcDomainGetDiskErrors, "DOMAIN_GET_DISK_ERRORS", ReadOnly|Priority),
	}
}

// MaxKeys is how many keys may be pressed together.
const MaxKeys = 16

// SendKeyArgs is the arguments of DOMAIN_SEND_KEY.
type SendKeyArgs struct {
	Domain
	Codeset  uint32
	HoldTime uint32 // milliseconds; 0 is the hypervisor's choice
	Keys     []Uint
	Flags    uint32
}

// XDR implements xdr.Value.
func (v *SendKeyArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint32(&v.Codeset)
	x.Uint32(&v.HoldTime)
	xdr.Slice(x, &v.Keys, MaxKeys)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *SendKeyArgs) CallFlags() uint32 { return v.Flags }

// ControlInfo is the answer to DOMAIN_GET_CONTROL_INFO.
type ControlInfo struct {
	State, Details uint32
	Millis         uint64 // since when
}

// XDR implements xdr.Value.
func (v *ControlInfo) XDR(x *xdr.Coder) {
	x.Uint32(&v.State)
	x.Uint32(&v.Details)
	x.Uint64(&v.Millis)
}

// DiskError is a disk that failed.
type DiskError struct {
	Disk  string // its target
	Error int32
}

// XDR implements xdr.Value.
func (v *DiskError) XDR(x *xdr.Coder) {
	x.String(&v.Disk)
	x.Int32(&v.Error)
}

// MaxDiskErrors is how many disks may have failed.
const MaxDiskErrors = 256

// DiskErrors is the answer to DOMAIN_GET_DISK_ERRORS: asked for none, how many disks there are.
type DiskErrors struct {
	Errors []DiskError
	N      int32
}

// XDR implements xdr.Value.
func (v *DiskErrors) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Errors, MaxDiskErrors)
	x.Int32(&v.N)
}
