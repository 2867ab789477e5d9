package engine

import (
	"fmt"
	"testing"

	"taproom/internal/engine/nwfilters"
	"taproom/internal/host/hosttest"
	"taproom/internal/spec"
)

func TestWhatANetworkKeepsFromThoseWhoseAddressesAreLearned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ips, want string }{
		{"", "[] []"},
		{"<ip address='10.7.0.1' prefix='24'/>", "[10.7.0.1] [10.7.0.0/24 ::/0]"},
		{"<ip family='ipv6' address='fd00::1' prefix='64'/>", "[fd00::1] [fd00::/64 0.0.0.0/0]"},
		{"<ip address='10.7.0.1' prefix='24'/><ip family='ipv6' address='fd00::1' prefix='64'/>", "[10.7.0.1 fd00::1] [10.7.0.0/24 fd00::/64]"},
	} {
		doc, err := spec.ParseNetwork([]byte("<network><name>n</name><bridge name='br7'/>" + c.ips + "</network>"))
		if err != nil {
			t.Fatal(err)
		}
		reserved, within := keptOf(doc)
		if got := fmt.Sprintf("%v %v", reserved, within); got != c.want {
			t.Errorf("%s: %s, want %s", c.ips, got, c.want)
		}
	}
}

func TestNoAddressOfTheBridgeIsAGuestsToLearn(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.KernelWith(func(string) {})
	defer k.Close()
	e := small(t)
	e.k = k
	doc, err := spec.ParseNetwork([]byte("<network><name>lab</name><uuid>00000000-0000-4000-8000-000000000002</uuid><bridge name='br7'/><ip address='10.7.0.1' prefix='24'/></network>"))
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(*doc.UUID, doc.Name, nil)
	n.update(func(v *netView) { v.live = doc })
	e.networks.add(n)
	ns.Shell("ip link add br7 type bridge; ip address add 10.7.0.1/24 dev br7; ip address add 192.0.2.7/24 dev br7; ip link add tap7 master br7 type veth peer name other")
	defer ns.Shell("ip link delete tap7; ip link delete br7")
	ns.Shell("ip link add br8 type bridge; ip address add 198.51.100.8/24 dev br8")
	defer ns.Shell("ip link delete br8")
	for _, c := range []struct {
		what string
		b    nwfilters.Binding
		want string
	}{
		{"a guest's on a network", nwfilters.Binding{Port: "vnet0", Bridge: "br7"}, "br7 [10.7.0.1 192.0.2.7] [10.7.0.0/24 ::/0]"},
		{"one that a client bound", nwfilters.Binding{Port: "tap7"}, "br7 [10.7.0.1 192.0.2.7] [10.7.0.0/24 ::/0]"},
		{"on a bridge of the host's own", nwfilters.Binding{Port: "vnet1", Bridge: "br8"}, "br8 [198.51.100.8] []"},
		{"on a bridge that is gone", nwfilters.Binding{Port: "vnet2", Bridge: "br9"}, "br9 [] []"},
		{"a link that is not there yet", nwfilters.Binding{Port: "tap9"}, " [] []"},
		{"a link on no bridge", nwfilters.Binding{Port: "other"}, " [] []"},
	} {
		at, err := e.aroundFiltered(c.b)
		if got := fmt.Sprintf("%s %v %v", at.Bridge, at.Reserved, at.Within); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.what, got, err, c.want)
		}
	}
}
