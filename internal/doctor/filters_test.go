package doctor_test

import (
	"context"
	"strings"
	"testing"

	"taproom/internal/doctor"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/nftables"
	"taproom/internal/spec"
)

// A filter that asks for states of connections, which bridged packets do not have while br_netfilter is off, is a warning.
func TestNetworkFilters_StatesWithoutBrNetfilterAreAWarning(t *testing.T) {
	t.Parallel()
	ns, e := env(t)
	e.Table = "filters"
	ns.Keep("table *")
	look := func() doctor.Finding { return one(t, doctor.Run(t.Context(), e), "network-filters") }
	if f := look(); f.Status != doctor.OK || !strings.Contains(f.Evidence, "clean-traffic was accepted") || !strings.HasSuffix(f.Evidence, "; NICs filtered now: 0") {
		t.Errorf("without a filter: %+v", f)
	}
	c, err := nft.Open(ns.Kernel())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := nftables.Open(context.Background(), c, ns.Kernel(), e.Table)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := spec.ParseFilter([]byte(`<filter name='f' chain='root'><rule action='accept' direction='in'><tcp dstportstart='22'/></rule></filter>`))
	if err != nil {
		t.Fatal(err)
	}
	program, values, err := nwfilter.Compile(nwfilter.Set{"f": doc}, "f", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = ns.Try("modprobe", "br_netfilter") // nothing else loads it; where it is built in there is no module
	if _, err := ns.Kernel().Sysctl("net/bridge/bridge-nf-call-iptables"); err != nil {
		hosttest.Needs(t, &host.Missing{What: "br_netfilter", Config: "CONFIG_BRIDGE_NETFILTER", Err: err}, hosttest.Lift{Module: "br_netfilter"})
	}
	ns.Run("sysctl", "-qw", "net.bridge.bridge-nf-call-iptables=1", "net.bridge.bridge-nf-call-ip6tables=1")
	if err := b.Apply(context.Background(), []nwfilter.Port{{Name: "vnet7", Program: program, Values: values}}, nil); err != nil {
		t.Fatal(err)
	}
	if f := look(); f.Status != doctor.OK || !strings.HasSuffix(f.Evidence, "; NICs filtered now: 1") {
		t.Errorf("with a filter: %+v", f)
	}
	ns.Run("sysctl", "-qw", "net.bridge.bridge-nf-call-iptables=0")
	if f := look(); strings.Contains(f.Evidence, "tracked by bridges") {
		return // they need no br_netfilter here
	} else if f.Status != doctor.Warning || !strings.Contains(f.Evidence, "the filters of vnet7 ask for states") || !strings.HasPrefix(f.Remedy, "sysctl -w net.bridge.bridge-nf-call-iptables=1") {
		t.Errorf("without br_netfilter: %+v", f)
	}
}
