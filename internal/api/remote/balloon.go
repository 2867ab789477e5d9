package remote

import "taproom/internal/api/xdr"

// ProcDomainSetMemoryStatsPeriod sets how often a guest is asked for its use of memory.
const ProcDomainSetMemoryStatsPeriod = 308

// balloonProcedures: What guests say of their memory.
func balloonProcedures() []Procedure {
	return []Procedure{
		proc[DomainIntFlags, xdr.Void](ProcDomainSetMemoryStatsPeriod, "DOMAIN_SET_MEMORY_STATS_PERIOD", 0),
	}
}
