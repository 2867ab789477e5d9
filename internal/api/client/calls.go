package client

import (
	"context"
	"encoding/json"
	"fmt"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

func (c *Client) void(ctx context.Context, procedure uint32, args xdr.Value) error {
	return c.Call(ctx, remote.ProgramRemote, procedure, args, &xdr.Void{})
}

// Domains lists the domains that flags keep (libvirt's filters; 0 keeps all).
func (c *Client) Domains(ctx context.Context, flags uint32) ([]remote.Domain, error) {
	var r remote.Domains
	err := c.Call(ctx, remote.ProgramRemote, remote.ProcConnectListAllDomains, &remote.NeedFlags{Need: 1, Flags: flags}, &r)
	return r.Domains, err
}

// Domain finds a domain by its name or UUID.
func (c *Client) Domain(ctx context.Context, name string) (d remote.Domain, err error) {
	if uuid, e := spec.ParseUUID(name); e == nil {
		if err = c.Call(ctx, remote.ProgramRemote, remote.ProcDomainLookupByUUID, &remote.UUID{UUID: uuid}, &d); err == nil {
			return d, nil
		}
	}
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcDomainLookupByName, &remote.String{S: name}, &d)
	return d, err
}

// DomainInfo is what `virsh dominfo` shows.
func (c *Client) DomainInfo(ctx context.Context, d remote.Domain) (r remote.DomainInfo, err error) {
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcDomainGetInfo, &d, &r)
	return r, err
}

// DomainState is the state and its reason.
func (c *Client) DomainState(ctx context.Context, d remote.Domain) (r remote.DomainState, err error) {
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcDomainGetState, &remote.DomainFlags{Domain: d}, &r)
	return r, err
}

// DomainXML is the document of a domain.
func (c *Client) DomainXML(ctx context.Context, d remote.Domain, flags uint32) (string, error) {
	var r remote.String
	err := c.Call(ctx, remote.ProgramRemote, remote.ProcDomainGetXMLDesc, &remote.DomainFlags{Domain: d, Flags: flags}, &r)
	return r.S, err
}

// DefineDomain stores a document.
func (c *Client) DefineDomain(ctx context.Context, xml string) (d remote.Domain, err error) {
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcDomainDefineXMLFlags, &remote.StringFlags{S: xml}, &d)
	return d, err
}

// StartDomain starts a defined domain; it returns the handle with the new ID.
func (c *Client) StartDomain(ctx context.Context, d remote.Domain, flags uint32) (started remote.Domain, err error) {
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcDomainCreateWithFlags, &remote.DomainFlags{Domain: d, Flags: flags}, &started)
	return started, err
}

// SuspendDomain stops the virtual CPUs.
func (c *Client) SuspendDomain(ctx context.Context, d remote.Domain) error {
	return c.void(ctx, remote.ProcDomainSuspend, &d)
}

// ResumeDomain lets the virtual CPUs run.
func (c *Client) ResumeDomain(ctx context.Context, d remote.Domain) error {
	return c.void(ctx, remote.ProcDomainResume, &d)
}

// ShutdownDomain asks the guest to power off.
func (c *Client) ShutdownDomain(ctx context.Context, d remote.Domain) error {
	return c.void(ctx, remote.ProcDomainShutdown, &d)
}

// DestroyDomain stops a domain at once.
func (c *Client) DestroyDomain(ctx context.Context, d remote.Domain) error {
	return c.void(ctx, remote.ProcDomainDestroy, &d)
}

// UndefineDomain forgets a domain's definition.
func (c *Client) UndefineDomain(ctx context.Context, d remote.Domain, flags uint32) error {
	return c.void(ctx, remote.ProcDomainUndefineFlags, &remote.DomainFlags{Domain: d, Flags: flags})
}

// InterfaceAddresses asks for the addresses of a guest's NICs.
func (c *Client) InterfaceAddresses(ctx context.Context, d remote.Domain, source uint32) ([]remote.InterfaceAddresses, error) {
	var r remote.Interfaces
	err := c.Call(ctx, remote.ProgramRemote, remote.ProcDomainInterfaceAddresses, &remote.DomainUintFlags{Domain: d, N: source}, &r)
	return r.Interfaces, err
}

// Networks lists the networks that flags keep.
func (c *Client) Networks(ctx context.Context, flags uint32) ([]remote.Network, error) {
	var r remote.Networks
	err := c.Call(ctx, remote.ProgramRemote, remote.ProcConnectListAllNetworks, &remote.NeedFlags{Need: 1, Flags: flags}, &r)
	return r.Networks, err
}

// Network finds a network by its name.
func (c *Client) Network(ctx context.Context, name string) (n remote.Network, err error) {
	err = c.Call(ctx, remote.ProgramRemote, remote.ProcNetworkLookupByName, &remote.String{S: name}, &n)
	return n, err
}

// Leases are the DHCP leases of a network.
func (c *Client) Leases(ctx context.Context, n remote.Network) ([]remote.Lease, error) {
	var r remote.Leases
	err := c.Call(ctx, remote.ProgramRemote, remote.ProcNetworkGetDHCPLeases, &remote.LeasesArgs{Network: n, NeedFlags: remote.NeedFlags{Need: 1}}, &r)
	return r.Leases, err
}

// json makes a call of taproom's own program. A nil request is sent as nothing.
func (c *Client) json(ctx context.Context, procedure uint32, request, result any) error {
	var args, ret remote.JSON
	if request != nil {
		b, err := json.Marshal(request)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		args.B = b
	}
	if err := c.Call(ctx, remote.ProgramOwn, procedure, &args, &ret); err != nil {
		return err
	}
	if err := json.Unmarshal(ret.B, result); err != nil {
		return fmt.Errorf("decode the daemon's answer: %w", err)
	}
	return nil
}

// Apply makes documents exist and run.
func (c *Client) Apply(ctx context.Context, r own.ApplyRequest) (out own.ApplyResult, err error) {
	err = c.json(ctx, remote.OwnApply, r, &out)
	return out, err
}

// Plan is what the daemon would do now.
func (c *Client) Plan(ctx context.Context) (out own.PlanResult, err error) {
	err = c.json(ctx, remote.OwnPlan, nil, &out)
	return out, err
}

// Status lists what there is.
func (c *Client) Status(ctx context.Context) (out own.Status, err error) {
	err = c.json(ctx, remote.OwnStatus, nil, &out)
	return out, err
}

// Trace is how the last start of a domain went.
func (c *Client) Trace(ctx context.Context, domain string) (out own.Trace, err error) {
	err = c.json(ctx, remote.OwnTrace, own.TraceRequest{Domain: domain}, &out)
	return out, err
}

// Agent asks the agent in a guest.
func (c *Client) Agent(ctx context.Context, domain string, request json.RawMessage) (out json.RawMessage, err error) {
	err = c.json(ctx, remote.OwnAgent, own.AgentRequest{Domain: domain, Request: request}, &out)
	return out, err
}

// Version says what the daemon is.
func (c *Client) Version(ctx context.Context) (out own.Version, err error) {
	err = c.json(ctx, remote.OwnVersion, nil, &out)
	return out, err
}

// Missing is what clients called and the daemon does not serve.
func (c *Client) Missing(ctx context.Context) (out own.Missing, err error) {
	err = c.json(ctx, remote.OwnMissing, nil, &out)
	return out, err
}
