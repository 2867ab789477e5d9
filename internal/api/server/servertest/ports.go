package servertest

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// NetworkPorts implements server.NetworkPorts: there are none.
func (f *Fake) NetworkPorts(network spec.UUID) ([]spec.UUID, error) {
	_, err := f.NetworkByUUID(network)
	return nil, err
}

// NetworkPortXML implements server.NetworkPorts.
func (f *Fake) NetworkPortXML(_, port spec.UUID) (string, error) {
	return "", server.NoNetworkPort(port)
}

// CreateNetworkPort implements server.NetworkPorts: the port has the UUID of its network.
func (f *Fake) CreateNetworkPort(_ context.Context, network spec.UUID, _ string, _ uint32) (spec.UUID, error) {
	return network, nil
}

// DeleteNetworkPort implements server.NetworkPorts.
func (f *Fake) DeleteNetworkPort(_ context.Context, _, port spec.UUID) error {
	return server.NoNetworkPort(port)
}

// NetworkPortParams implements server.NetworkPorts.
func (f *Fake) NetworkPortParams(_, port spec.UUID) ([]server.Param, error) {
	return nil, server.NoNetworkPort(port)
}

// SetNetworkPortParams implements server.NetworkPorts.
func (f *Fake) SetNetworkPortParams(_ context.Context, _, port spec.UUID, _ []server.Param) error {
	return server.NoNetworkPort(port)
}
