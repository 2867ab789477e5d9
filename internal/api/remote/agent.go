package remote

import "taproom/internal/api/xdr"

// Procedures that the agent in a guest answers.
const (
	ProcDomainGetHostname             = 277
	ProcDomainFSTrim                  = 294
	ProcDomainFSFreeze                = 335
	ProcDomainFSThaw                  = 336
	ProcDomainGetTime                 = 337
	ProcDomainSetTime                 = 338
	ProcDomainGetFSInfo               = 349
	ProcDomainSetUserPassword         = 357
	ProcDomainGetGuestVCPUs           = 371
	ProcDomainSetGuestVCPUs           = 372
	ProcDomainGetGuestInfo            = 418
	ProcDomainAgentSetResponseTimeout = 420
	ProcDomainAuthorizedSSHKeysGet    = 424
	ProcDomainAuthorizedSSHKeysSet    = 425
)

func agentProcedures() []Procedure {
	return []Procedure{
		proc[DomainFlags, String](ProcDomainGetHostname, "DOMAIN_GET_HOSTNAME", 0),
		proc[FSTrimArgs, xdr.Void](ProcDomainFSTrim, "DOMAIN_FSTRIM", 0),
		proc[DomainStringsFlags, Int](ProcDomainFSFreeze, "DOMAIN_FSFREEZE", 0),
		proc[DomainStringsFlags, Int](ProcDomainFSThaw, "DOMAIN_FSTHAW", 0),
		proc[DomainFlags, GuestTime](ProcDomainGetTime, "DOMAIN_GET_TIME", 0),
		proc[SetTimeArgs, xdr.Void](ProcDomainSetTime, "DOMAIN_SET_TIME", 0),
		proc[DomainFlags, FSInfos](ProcDomainGetFSInfo, "DOMAIN_GET_FSINFO", 0),
		proc[PasswordArgs, xdr.Void](ProcDomainSetUserPassword, "DOMAIN_SET_USER_PASSWORD", 0),
		proc[DomainFlags, EventParams](ProcDomainGetGuestVCPUs, "DOMAIN_GET_GUEST_VCPUS", 0),
		proc[GuestVCPUsArgs, xdr.Void](ProcDomainSetGuestVCPUs, "DOMAIN_SET_GUEST_VCPUS", 0),
		proc[DomainUintFlags, EventParams](ProcDomainGetGuestInfo, "DOMAIN_GET_GUEST_INFO", 0),
		proc[DomainIntFlags, Int](ProcDomainAgentSetResponseTimeout, "DOMAIN_AGENT_SET_RESPONSE_TIMEOUT", 0),
		proc[DomainStringFlags, Strings](ProcDomainAuthorizedSSHKeysGet, "DOMAIN_AUTHORIZED_SSH_KEYS_GET", 0),
		proc[SSHKeysArgs, xdr.Void](ProcDomainAuthorizedSSHKeysSet, "DOMAIN_AUTHORIZED_SSH_KEYS_SET", 0),
	}
}

// Limits of what an agent is asked and answers.
const (
	MaxMountpoints = 256
	MaxFSDisks     = 256
	MaxSSHKeys     = 2048
)

// FSTrimArgs is the arguments of DOMAIN_FSTRIM.
type FSTrimArgs struct {
	Domain
	MountPoint OptString
	Minimum    uint64 // bytes
	Flags      uint32
}

// XDR implements xdr.Value.
func (v *FSTrimArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.MountPoint.XDR(x)
	x.Uint64(&v.Minimum)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *FSTrimArgs) CallFlags() uint32 { return v.Flags }

// DomainStringsFlags is a domain, mount points and flags.
type DomainStringsFlags struct {
	Domain
	S     []string
	Flags uint32
}

// XDR implements xdr.Value.
func (v *DomainStringsFlags) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Strings(&v.S, MaxMountpoints)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *DomainStringsFlags) CallFlags() uint32 { return v.Flags }

// DomainIntFlags is a domain, a number and flags.
type DomainIntFlags struct {
	Domain
	N     int32
	Flags uint32
}

// XDR implements xdr.Value.
func (v *DomainIntFlags) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Int32(&v.N)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *DomainIntFlags) CallFlags() uint32 { return v.Flags }

// GuestTime is a time: seconds since 1970, and nanoseconds.
type GuestTime struct {
	Seconds int64
	Nanos   uint32
}

// XDR implements xdr.Value.
func (v *GuestTime) XDR(x *xdr.Coder) {
	x.Int64(&v.Seconds)
	x.Uint32(&v.Nanos)
}

// SetTimeArgs is the arguments of DOMAIN_SET_TIME.
type SetTimeArgs struct {
	Domain
	GuestTime
	Flags uint32
}

// XDR implements xdr.Value.
func (v *SetTimeArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.GuestTime.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *SetTimeArgs) CallFlags() uint32 { return v.Flags }

// FSInfo is one file system that a guest has mounted.
type FSInfo struct {
	Mountpoint, Name, Type string
	Disks                  []string // targets of the domain's disks that it lies on
}

// XDR implements xdr.Value.
func (v *FSInfo) XDR(x *xdr.Coder) {
	x.String(&v.Mountpoint)
	x.String(&v.Name)
	x.String(&v.Type)
	x.Strings(&v.Disks, MaxFSDisks)
}

// FSInfos is the answer to DOMAIN_GET_FSINFO.
type FSInfos struct {
	Infos []FSInfo
	N     uint32
}

// XDR implements xdr.Value.
func (v *FSInfos) XDR(x *xdr.Coder) {
	xdr.Slice(x, &v.Infos, MaxMountpoints)
	x.Uint32(&v.N)
}

// PasswordArgs is the arguments of DOMAIN_SET_USER_PASSWORD.
type PasswordArgs struct {
	Domain
	User, Password OptString
	Flags          uint32
}

// XDR implements xdr.Value.
func (v *PasswordArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	v.User.XDR(x)
	v.Password.XDR(x)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *PasswordArgs) CallFlags() uint32 { return v.Flags }

// GuestVCPUsArgs is the arguments of DOMAIN_SET_GUEST_VCPUS.
type GuestVCPUsArgs struct {
	Domain
	CPUMap string // 1,3-5
	State  int32
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *GuestVCPUsArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.CPUMap)
	x.Int32(&v.State)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *GuestVCPUsArgs) CallFlags() uint32 { return v.Flags }

// SSHKeysArgs is the arguments of DOMAIN_AUTHORIZED_SSH_KEYS_SET.
type SSHKeysArgs struct {
	Domain
	User  string
	Keys  []string
	Flags uint32
}

// XDR implements xdr.Value.
func (v *SSHKeysArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.User)
	x.Strings(&v.Keys, MaxSSHKeys)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *SSHKeysArgs) CallFlags() uint32 { return v.Flags }
