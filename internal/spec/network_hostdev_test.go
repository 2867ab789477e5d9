package spec

import (
	"strings"
	"testing"
)

// Networks that hand out functions of SR-IOV NICs are kept as they were written.
func TestFunctionsThatAreHandedOut(t *testing.T) {
	t.Parallel()
	const address = "<address type='pci' domain='0x0000' bus='0x03' slot='0x10' function='0x1'/>"
	for _, c := range []struct{ mode, has, want string }{
		{"hostdev", "<driver name='vfio'/><pf dev='eth0'/>", ""},
		{"hostdev", address + strings.Replace(address, "0x1'", "0x3'", 1), ""},
		{"passthrough", "<pf dev='eth0'/>", ""},
		{"vepa", "<pf dev='eth0'/>", ""},
		{"hostdev", "", "invalid forward: mode hostdev needs"},
		{"hostdev", "<interface dev='eth0'/>", "forward/interface is not supported: mode hostdev takes functions"},
		{"hostdev", "<pf dev='eth0'/>" + address, "forward is not supported: <address>, <interface> and <pf> exclude each other"},
		{"passthrough", "<pf dev='eth0'/><interface dev='eth1'/>", "forward is not supported: <address>, <interface> and <pf> exclude each other"},
		{"passthrough", "<pf dev='eth0'/><pf dev='eth1'/>", "invalid forward/pf: there are 2"},
		{"passthrough", "<pf/>", "invalid forward/pf/@dev"},
		{"passthrough", address, "forward/address is not supported: it is for mode hostdev"},
		{"open", "<pf dev='eth0'/>", "forward/pf is not supported: mode open hands out nothing"},
		{"hostdev", "<address type='usb'/>", "invalid forward/address/@type"},
		{"hostdev", "<address type='pci' slot='0x20'/>", "invalid forward/address/@slot"},
		{"hostdev", "<driver name='xen'/><pf dev='eth0'/>", "forward/driver/@name is not supported"},
	} {
		doc := "<network><name>n</name><forward mode='" + c.mode + "' managed='yes'>" + c.has + "</forward></network>"
		err := validateNetwork(doc)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.mode, c.has, got, c.want)
		}
		n, err := ParseNetwork([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if out := strings.Join(strings.Fields(string(n.Format())), " "); c.want == "" && !strings.Contains(strings.ReplaceAll(out, "> <", "><"), c.has) {
			t.Errorf("%s is written as %s", c.has, out)
		}
	}
}
