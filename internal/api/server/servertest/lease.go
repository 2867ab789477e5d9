package servertest

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/api/server"
)

// FakeLease is the one lease of a Fake.
func FakeLease(network string) own.Lease {
	return own.Lease{
		Network: network, Bridge: "virbr0", Address: "192.168.122.17", Prefix: 24, MAC: "52:54:00:00:00:01", Hostname: "guest", Expiry: 1893456000,
	}
}

// Leases implements server.Documents.
func (f *Fake) Leases(_ context.Context, name string) ([]own.Lease, error) {
	if name == "" {
		name = "default"
	}
	if _, err := f.NetworkByName(name); err != nil {
		return nil, err
	}
	return []own.Lease{FakeLease(name)}, f.enter("Leases")
}

// Lookup implements server.Documents: it knows one name.
func (f *Fake) Lookup(_ context.Context, r own.LookupRequest) (own.LookupResult, error) {
	out := own.LookupResult{Network: r.Network, Name: r.Name, Type: r.Type, Status: "NXDOMAIN"}
	if r.Name == "guest" {
		out.Status, out.Records, out.Source = "NOERROR", []string{"guest. 0 IN A 192.168.122.17"}, "lease"
	}
	return out, f.enter("Lookup")
}

// NetworkTraffic implements server.Documents.
func (f *Fake) NetworkTraffic(_ context.Context, name string) ([]own.NetworkTraffic, error) {
	if name == "" {
		name = "default"
	}
	if _, err := f.NetworkByName(name); err != nil {
		return nil, err
	}
	return []own.NetworkTraffic{{Network: name, Bridge: "virbr0", SentPackets: 2, SentBytes: 168}}, f.enter("NetworkTraffic")
}

// LeaseHappens tells everybody who asked of an event.
func (f *Fake) LeaseHappens(network, kind string) {
	e := server.LeaseChange{Event: own.LeaseEvent{Kind: kind}}
	if kind != own.LeasesMissed {
		l := FakeLease(network)
		e.Network, _ = f.NetworkByName(network)
		e.Event.Lease = &l
	}
	f.Emit(e)
}

// Why implements server.Documents: nothing is in the way.
func (f *Fake) Why(_ context.Context, r own.WhyRequest) (own.WhyResult, error) {
	return own.WhyResult{Reports: []own.WhyReport{{Object: r.Object, To: r.To, Port: r.Port, Arrives: true}}}, f.enter("Why")
}
