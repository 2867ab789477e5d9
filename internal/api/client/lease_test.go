package client_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/virterr"
)

// withNetworks returns a client of a daemon with two networks.
func withNetworks(t *testing.T, o ...client.Options) (*servertest.Fake, *client.Client) {
	t.Helper()
	f := servertest.New()
	for _, n := range []string{"lan", "lab"} {
		if _, err := f.DefineNetwork(t.Context(), "<network><name>"+n+"</name><bridge name='br-"+n+"'/></network>", 0); err != nil {
			t.Fatal(err)
		}
	}
	d := servertest.Serve(t, server.Options{Backend: f})
	var with client.Options
	if len(o) > 0 {
		with = o[0]
	}
	c, err := client.Dial(t.Context(), d.Socket, with)
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return f, c
}

func TestLeasesAndNamesAreAskedFor(t *testing.T) {
	t.Parallel()
	_, c := withNetworks(t)
	got := must[own.LeasesResult](t)(c.GuestLeases(t.Context(), "lab"))
	if d := cmp.Diff(own.LeasesResult{Leases: []own.Lease{servertest.FakeLease("lab")}}, got); d != "" {
		t.Error(d)
	}
	if _, err := c.GuestLeases(t.Context(), "missing"); virterr.CodeOf(err) != virterr.NoNetwork {
		t.Errorf("leases of a network that is not there: %v", err)
	}
	q := own.LookupRequest{Network: "lab", Name: "guest", Type: "A"}
	want := own.LookupResult{
		Network: "lab", Name: "guest", Type: "A", Status: "NOERROR", Records: []string{"guest. 0 IN A 192.168.122.17"}, Source: "lease",
	}
	if d := cmp.Diff(want, must[own.LookupResult](t)(c.Lookup(t.Context(), q))); d != "" {
		t.Error(d)
	}
}

func TestTrafficIsAskedFor(t *testing.T) {
	t.Parallel()
	_, c := withNetworks(t, client.Options{ReadOnly: true})
	want := own.TrafficResult{Networks: []own.NetworkTraffic{{Network: "lab", Bridge: "virbr0", SentPackets: 2, SentBytes: 168}}}
	if d := cmp.Diff(want, must[own.TrafficResult](t)(c.NetworkTraffic(t.Context(), "lab"))); d != "" {
		t.Error(d)
	}
	if _, err := c.NetworkTraffic(t.Context(), "missing"); virterr.CodeOf(err) != virterr.NoNetwork {
		t.Errorf("traffic of a network that is not there: %v", err)
	}
}

func TestAReaderIsToldOfTheLeasesThatItAskedFor(t *testing.T) {
	t.Parallel()
	f, c := withNetworks(t, client.Options{ReadOnly: true})
	everything, _, err := c.FollowLeases(t.Context(), "")
	check(t, err)
	one, cancel, err := c.FollowLeases(t.Context(), "lab")
	check(t, err)
	if _, _, err := c.FollowLeases(t.Context(), "missing"); virterr.CodeOf(err) != virterr.NoNetwork {
		t.Errorf("events of a network that is not there: %v", err)
	}
	event := func(network, kind string) own.LeaseEvent {
		e := own.LeaseEvent{Kind: kind}
		if network != "" {
			l := servertest.FakeLease(network)
			e.Lease = &l
		}
		return e
	}
	f.LeaseHappens("lan", own.LeaseAdded)
	f.LeaseHappens("lab", own.LeaseRenewed)
	f.LeaseHappens("", own.LeasesMissed) // concerns everybody
	f.LeaseHappens("lab", own.LeaseDeleted)
	read := func(from <-chan any, n int) (all []any) {
		for range n {
			all = append(all, <-from)
		}
		return all
	}
	missed := event("", own.LeasesMissed)
	want := []any{event("lan", own.LeaseAdded), event("lab", own.LeaseRenewed), missed, event("lab", own.LeaseDeleted)}
	if d := cmp.Diff(want, read(everything, 4)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want[1:], read(one, 3)); d != "" {
		t.Error(d)
	}
	check(t, cancel(t.Context()))
	if _, open := <-one; open {
		t.Error("a subscription that was taken back goes on")
	}
	if err := cancel(t.Context()); virterr.CodeOf(err) != virterr.InvalidArg {
		t.Errorf("taken back twice: %v", err)
	}
}
