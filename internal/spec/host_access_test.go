package spec

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// onEth0 is a guest with NICs on two links of the host, and something in its metadata.
func onEth0(metadata string) []byte {
	nic := func(dev, mode string) string {
		return fmt.Sprintf("<interface type='direct'><source dev='%s' mode='%s'/></interface>", dev, mode)
	}
	return fmt.Appendf(nil, `<domain type='kvm'><name>a</name><metadata>%s</metadata><memory>16384</memory><os><type arch='x86_64'>hvm</type></os><devices>%s</devices></domain>`,
		metadata, nic("eth0", "vepa")+nic("eth0", "bridge")+nic("eth1", "bridge")+nic("eth2", "private"))
}

func TestHostAccessIsReadWhateverItsPrefix(t *testing.T) {
	t.Parallel()
	want := []HostAccess{{Dev: "eth0", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24"), netip.MustParsePrefix("fd00::1/64")}}}
	eth1 := HostAccess{Dev: "eth1", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/31")}}
	const ns = "urn:taproom:domain:1"
	for _, c := range []struct {
		metadata string
		want     []HostAccess
	}{
		{"", nil},
		{"<a:b xmlns:a='http://a.example/'><hostAccess dev='eth9'/></a:b>", nil},
		{"<hostAccess dev='eth9'/>", nil},
		{"<taproom:hostAccess xmlns:taproom='" + ns + "' dev='eth0'><taproom:address>192.0.2.1/24</taproom:address><!-- and --><taproom:address> fd00::1/64 </taproom:address></taproom:hostAccess>", want},
		{"<hostAccess xmlns='" + ns + "' dev='eth0'>\n<address>192.0.2.1/24</address>\n<address>fd00:0::1/64</address></hostAccess><a:b xmlns:a='http://a.example/'>text<c/></a:b>", want},
		{"<t:hostAccess xmlns:t='" + ns + "' dev='eth0'><address>192.0.2.1/24</address><t:address>fd00::1/64</t:address></t:hostAccess>", want},
		{"<t:hostAccess xmlns:t='" + ns + "' dev='eth0'><t:address>192.0.2.1/24</t:address><t:address>fd00::1/64</t:address></t:hostAccess><t:hostAccess xmlns:t='" + ns + "' dev='eth1'><t:address>192.0.2.9/31</t:address></t:hostAccess>", append(want[:1:1], eth1)},
	} {
		d, err := ParseDomain(onEth0(c.metadata))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", c.metadata, err)
		}
		got, err := d.HostAccess()
		if diff := cmp.Diff(c.want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.metadata, err, diff)
		}
	}
}

func TestHostAccessThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	address := func(s string) string { return "<t:address>" + s + "</t:address>" }
	good := address("192.0.2.1/24")
	access := func(dev, inside string) string {
		return "<t:hostAccess xmlns:t='urn:taproom:domain:1' dev='" + dev + "'>" + inside + "</t:hostAccess>"
	}
	for metadata, says := range map[string]string{
		access("eth9", good):                      "no NIC of this guest is on eth9",
		access("eth2", good):                      "no NIC on eth2 has mode='bridge', which alone reaches the host (private does not)",
		access("eth0", ""):                        "dev='eth0' has no address",
		access("", good):                          "dev is missing",
		access("eth0", good) + access("eth0", ""): "dev='eth0' is given twice",
		access("eth0", good+good):                 "address 192.0.2.1 is given twice",
		access("eth0", good) + access("eth1", address("192.0.2.1/30")):      "address 192.0.2.1 is given twice",
		access("eth0", address("192.0.2.1")):                                "has no prefix; write the length of its network's after it, as in 192.0.2.1/24",
		access("eth0", address("fd00::1")):                                  "as in fd00::1/64",
		access("eth0", address("")):                                         `address "" is none`,
		access("eth0", "<t:address/>"):                                      `address "" is none`,
		access("eth0", address("example.org/24")):                           "is none",
		access("eth0", address("192.0.2.1/33")):                             "is none",
		access("eth0", address("fe80::1%eth0/64")):                          "is none",
		access("eth0", address("192.0.2.0/24")):                             "stands for the network itself",
		access("eth0", address("192.0.2.255/24")):                           "stands for the network itself",
		access("eth0", address("224.0.0.1/24")):                             "cannot be a host's",
		access("eth0", address("127.0.0.1/8")):                              "cannot be a host's",
		access("eth0", address("192.0.2.1/0")):                              "cannot be a host's",
		access("eth0", address("::ffff:192.0.2.1/120")):                     "write 192.0.2.1",
		access("eth0", address("fe80::1/64")):                               "is link-local",
		access("eth0", "192.0.2.1/24"):                                      `"192.0.2.1/24" stands there by itself`,
		access("eth0", "<t:addr>192.0.2.1/24</t:addr>"):                     "<t:addr> has no meaning there",
		access("eth0", address("<t:b/>")):                                   "<t:b> has no meaning there",
		access("eth0' mode='vepa", good):                                    "it has no attribute mode",
		"<t:hostAcess xmlns:t='urn:taproom:domain:1' dev='eth0'/>":          "taproom knows no <t:hostAcess>",
		access("eth0", "<address xmlns='urn:other'>192.0.2.1/24</address>"): "<address> has no meaning there",
	} {
		d, err := ParseDomain(onEth0(metadata))
		if err != nil {
			t.Fatalf("%s: %v", metadata, err)
		}
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "metadata/taproom:hostAccess") {
			t.Errorf("%s: %v, want %q", metadata, err, says)
		}
	}
}
