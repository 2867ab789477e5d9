package server

import (
	"context"

	"taproom/internal/spec"
)

// InterfaceTunables reads and changes what bounds the traffic of NICs. A NIC is named by the link that it has on the host, or by its
// address. Flags are AffectLive and AffectConfig.
type InterfaceTunables interface {
	// InterfaceParams are the bounds of a NIC; with device "" only their number means something.
	InterfaceParams(ctx context.Context, uuid spec.UUID, device string, flags uint32) ([]Param, error)
	// SetInterfaceParams changes the bounds of each direction that something is said of, all of them: what is not said goes.
	SetInterfaceParams(ctx context.Context, uuid spec.UUID, device string, params []Param, flags uint32) error
}
