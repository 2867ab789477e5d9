package remote

import "taproom/internal/api/xdr"

// iftuneProcedures: What bounds the traffic of NICs.
func iftuneProcedures() []Procedure {
	return []Procedure{
		proc[SetIOTune, xdr.Void](ProcDomainSetInterfaceParameters, "DOMAIN_SET_INTERFACE_PARAMETERS", 0),
		proc[ParamsArgs, Params](ProcDomainGetInterfaceParameters, "DOMAIN_GET_INTERFACE_PARAMETERS", ReadOnly),
	}
}
