package remote

import "taproom/internal/api/xdr"

// sleepProcedures: guests that sleep.
func sleepProcedures() []Procedure {
	return []Procedure{
		proc[PMSuspendArgs, xdr.Void](ProcDomainPMSuspendForDuration, "DOMAIN_PM_SUSPEND_FOR_DURATION", 0),
		proc[DomainFlags, xdr.Void](ProcDomainPMWakeup, "DOMAIN_PM_WAKEUP", 0),
	}
}

// PMSuspendArgs asks a guest to sleep.
type PMSuspendArgs struct {
	Domain
	Target   uint32
	Duration uint64 // seconds
	Flags    uint32
}

// XDR implements xdr.Value.
func (v *PMSuspendArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.Uint32(&v.Target)
	x.Uint64(&v.Duration)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *PMSuspendArgs) CallFlags() uint32 { return v.Flags }
