package client

import (
	"context"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// CreateDomain starts a domain that is forgotten when it ends. flags are those of StartDomain: 2 has it end with this connection.
func (c *Client) CreateDomain(ctx context.Context, xml string, flags uint32) (d remote.Domain, err error) {
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcDomainCreateXML, &remote.StringFlags{S: xml, Flags: flags}, &d)
	return d, err
}

// affectLive is VIR_DOMAIN_AFFECT_LIVE: the domain that runs, and not its definition.
const affectLive = 1

// AttachDevice plugs a device into a running domain.
func (c *Client) AttachDevice(ctx context.Context, d remote.Domain, xml string) error {
	return c.device(ctx, remote.ProcDomainAttachDeviceFlags, d, xml)
}

// DetachDevice unplugs one. The guest may let go of it later than this returns.
func (c *Client) DetachDevice(ctx context.Context, d remote.Domain, xml string) error {
	return c.device(ctx, remote.ProcDomainDetachDeviceFlags, d, xml)
}

func (c *Client) device(ctx context.Context, procedure uint32, d remote.Domain, xml string) error {
	return c.Call(ctx, remote.ProgramRemote, procedure, &remote.DomainStringFlags{Domain: d, S: xml, Flags: affectLive}, &xdr.Void{})
}
