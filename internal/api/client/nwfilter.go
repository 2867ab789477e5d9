package client

import (
	"context"

	"taproom/internal/api/remote"
)

// NWFilters lists the network filters.
func (c *Client) NWFilters(ctx context.Context) ([]remote.Network, error) {
	var r remote.Networks
	err := c.Call(ctx, remote.ProgramRemote, remote.ProcConnectListAllNWFilters, &remote.NeedFlags{Need: 1}, &r)
	return r.Networks, err
}

// NWFilter finds a network filter by its name.
func (c *Client) NWFilter(ctx context.Context, name string) (f remote.Network, err error) {
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcNWFilterLookupByName, &remote.String{S: name}, &f)
	return f, err
}

// NWFilterXML is the document of a network filter.
func (c *Client) NWFilterXML(ctx context.Context, f remote.Network) (string, error) {
	var r remote.String
	err := c.Call(ctx, remote.ProgramRemote, remote.ProcNWFilterGetXMLDesc, &remote.NetworkFlags{Network: f}, &r)
	return r.S, err
}

// DefineNWFilter stores a document, and has every NIC that uses the filter have it so.
func (c *Client) DefineNWFilter(ctx context.Context, xml string) (f remote.Network, err error) {
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcNWFilterDefineXML, &remote.String{S: xml}, &f)
	return f, err
}

// UndefineNWFilter removes a network filter.
func (c *Client) UndefineNWFilter(ctx context.Context, f remote.Network) error {
	return c.void(ctx, remote.ProcNWFilterUndefine, &f)
}

// NWFilterBindings lists what filters are bound to.
func (c *Client) NWFilterBindings(ctx context.Context) ([]remote.NWFilterBinding, error) {
	var r remote.NWFilterBindings
	err := c.Call(ctx, remote.ProgramRemote, remote.ProcConnectListAllNWFilterBindings, &remote.NeedFlags{Need: 1}, &r)
	return r.Bindings, err
}
