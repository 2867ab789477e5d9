package remote

import "taproom/internal/api/xdr"

// graphicsProcedures: connections to displays and channels of a guest.
func graphicsProcedures() []Procedure {
	return []Procedure{
		proc[DomainUintFlags, xdr.Void](ProcDomainOpenGraphics, "DOMAIN_OPEN_GRAPHICS", 0),
		proc[DomainUintFlags, xdr.Void](ProcDomainOpenGraphicsFD, "DOMAIN_OPEN_GRAPHICS_FD", 0),
		proc[DomainOptStringFlags, xdr.Void](ProcDomainOpenChannel, "DOMAIN_OPEN_CHANNEL", 0),
	}
}
