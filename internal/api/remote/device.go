package remote

import "taproom/internal/api/xdr"

// deviceProcedures: Changes of a guest's devices.
func deviceProcedures() []Procedure {
	return []Procedure{
		proc[DomainStringFlags, xdr.Void](ProcDomainDetachDeviceAlias, "DOMAIN_DETACH_DEVICE_ALIAS", 0),
	}
}
