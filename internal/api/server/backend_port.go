package server

import (
	"context"

	"taproom/internal/spec"
)

// NetworkPorts are what NICs have of networks: every NIC of a running guest that is on a network is one, and clients may
// make more for NICs of their own.
type NetworkPorts interface {
	// NetworkPorts lists a network's, ordered by UUID.
	NetworkPorts(network spec.UUID) ([]spec.UUID, error)
	NetworkPortXML(network, port spec.UUID) (string, error)
	// CreateNetworkPort makes one of a document: flags PortReclaim, PortValidate. The network is active.
	CreateNetworkPort(ctx context.Context, network spec.UUID, xml string, flags uint32) (spec.UUID, error)
	// DeleteNetworkPort removes one that a client made.
	DeleteNetworkPort(ctx context.Context, network, port spec.UUID) error
	NetworkPortParams(network, port spec.UUID) ([]Param, error)
	SetNetworkPortParams(ctx context.Context, network, port spec.UUID, params []Param) error
}

// Flags of CreateNetworkPort.
const (
	PortReclaim  = 1 // VIR_NETWORK_PORT_CREATE_RECLAIM: it is plugged in already, as the document says
	PortValidate = 2 // VIR_NETWORK_PORT_CREATE_VALIDATE
)
