package badinput

import (
	"strings"
	"testing"

	"taproom/internal/api/virterr"
)

// What is wrong with a network's document is said when it is defined, before anything is.
func TestNetworkDocumentsThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := strings.Replace(network("broken", "virbr-broken", "192.168.94"), "</network>", "<route address='10.9.0.0' prefix='16' gateway='192.168.94.7'/></network>", 1)
	const (
		ip      = "<ip address='192.168.94.1' netmask='255.255.255.0'>"
		dhcp    = "<range start='192.168.94.2' end='192.168.94.254'/>"
		gateway = "gateway='192.168.94.7'"
	)
	for _, c := range []struct{ old, by, want string }{
		{ip, "<ip address='192.168.94.0' netmask='255.255.255.0'>", "192.168.94.0/24 is the address of the subnet itself"},
		{ip, "<ip address='192.168.94.255' netmask='255.255.255.0'>", "192.168.94.255/24 is the broadcast address of the subnet"},
		{ip, "<ip address='192.168.94.1' netmask='255.0.255.0'>", "netmask 255.0.255.0 has a hole"},
		{ip, "<ip address='192.168.94.1' prefix='33'>", "prefix"},
		{ip, "<ip address='192.168.94.1.1' prefix='24'>", "malformed address"},
		{ip, "<ip address='127.0.0.1' prefix='24'>", "cannot be the address of a bridge"},
		{ip, "<ip address='224.0.0.1' prefix='24'>", "cannot be the address of a bridge"},
		{ip, "<ip address='192.168.94.200' netmask='255.255.255.128'>", "192.168.94.2 is outside 192.168.94.128/25"},
		{"</network>", "<ip address='192.168.0.1' prefix='16'/></network>", "192.168.0.1/16 overlaps with 192.168.94.1/24"},
		{dhcp, "<range start='192.168.95.2' end='192.168.95.9'/>", "192.168.95.2 is outside"},
		{dhcp, "<range start='192.168.94.9' end='192.168.94.2'/>", "start 192.168.94.9 is after end 192.168.94.2"},
		{dhcp, dhcp + "<range start='192.168.94.9' end='192.168.94.20'/>", "overlap"},
		{dhcp, dhcp + "<host mac='52:54:00:00:00:01' ip='10.0.0.1'/>", "10.0.0.1 is outside"},
		{dhcp, dhcp + "<host mac='52:54:00:00:00:01' ip='192.168.94.9'/><host mac='52:54:00:00:00:01' ip='192.168.94.8'/>", "52:54:00:00:00:01"},
		{dhcp, dhcp + "<host mac='52:54:00:00:00:01' ip='192.168.94.9'/><host mac='52:54:00:00:00:02' ip='192.168.94.9'/>", "192.168.94.9"},
		{gateway, "gateway='192.168.95.7'", "unreachable static route gateway '192.168.95.7'"},
		{gateway, "gateway='192.168.94.1'", "192.168.94.1 is the network's own address"},
		{"address='10.9.0.0'", "address='10.9.0.1'", "10.9.0.1/16 is no address of a subnet; that is 10.9.0.0/16"},
		{"</network>", "<portgroup name='a'/><portgroup name='a'/></network>", "two port groups are called 'a'"},
		{"</network>", "<vlan><tag id='7'/></vlan></network>", "VLAN tags are for networks on a bridge of Open vSwitch"},
	} {
		doc := strings.Replace(good, c.old, c.by, 1)
		if doc == good {
			t.Fatalf("%q is not in the document", c.old)
		}
		before := w.state()
		err := w.defineNetwork(doc)
		if code := virterr.CodeOf(err); err == nil || !strings.Contains(err.Error(), c.want) || code == virterr.InternalError {
			t.Errorf("%s: %d, %v; want %q", c.by, virterr.CodeOf(err), err, c.want)
			if err == nil {
				w.undefineNetwork("broken")
			}
		}
		w.unchanged(t, before)
	}
	if err := w.defineNetwork(good); err != nil {
		t.Errorf("the document itself: %v", err)
	}
	w.undefineNetwork("broken")
}

// What only the host knows is said before anything is made, and before what runs is changed.
func TestSubnetsThatAreTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.NS.Shell("ip tuntap add dev uplink mode tap; ip address add 10.20.30.5/16 dev uplink; ip link set uplink up; ip route add 10.99.0.0/16 via 10.20.30.1")
	w.NS.Keep("link uplink")
	part := strings.NewReplacer("192.168.91.1", "192.168.91.201", "255.255.255.0", "255.255.255.128", "192.168.91.2'", "192.168.91.130'").Replace(network("broken", "virbr-broken", "192.168.91"))
	address := strings.Replace(network("broken", "virbr-broken", "10.20.30"), "10.20.30.1'", "10.20.30.5'", 1)
	address = strings.Replace(address, "start='10.20.30.2'", "start='10.20.30.9'", 1)
	routed := strings.Replace(network("broken", "virbr-broken", "192.168.94"), "</network>", "<route address='10.99.0.0' prefix='16' gateway='192.168.94.7'/></network>", 1)
	w.refuse(t, []bad{
		{"a part of another network's", func() error { return w.startNetwork(part) }, virterr.OperationFailed, "operation failed: cannot start network 'broken': its subnet 192.168.91.128/25 overlaps with 192.168.91.0/24 of network 'quiet', which is active; choose another one, or stop that network (virsh net-destroy quiet)"},
		{"an address of the host's", func() error { return w.startNetwork(address) }, virterr.OperationFailed, "operation failed: cannot start network 'broken': the host has the address 10.20.30.5 already (`ip address show to 10.20.30.5`); choose another one"},
		{"a static route that there is", func() error { return w.startNetwork(routed) }, virterr.OperationFailed, "operation failed: cannot start network 'broken': the host reaches 10.99.0.0/16 by link uplink already (`ip route show 10.99.0.0/16`); choose another subnet, or remove that route"},
	}...)

	// A network that is active takes no other subnet that is taken, and stays what it is.
	w.apply(network("broken", "virbr-broken", "192.168.94"))
	before := w.state()
	for subnet, want := range map[string]string{"192.168.91": "its subnet 192.168.91.0/24 overlaps with 192.168.91.0/24 of network 'quiet'", "10.20.30": ""} {
		r, err := w.c.Apply(t.Context(), request(network("broken", "virbr-broken", subnet)))
		if err != nil {
			t.Fatal(err)
		}
		got := r.Objects[0].Error
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", subnet, got, want)
		}
		if want != "" {
			back := request(network("broken", "virbr-broken", "192.168.94"))
			if _, err := w.c.Apply(t.Context(), back); err != nil {
				t.Fatal(err)
			}
			w.unchanged(t, before)
		}
	}
	gone := request(network("broken", "virbr-broken", "192.168.94"))
	gone.Remove = true
	if _, err := w.c.Apply(t.Context(), gone); err != nil {
		t.Error(err)
	}
}
