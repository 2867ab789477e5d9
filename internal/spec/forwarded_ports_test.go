package spec

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forwarding is a network with something in its metadata.
func forwarding(t *testing.T, mode, metadata string) *Network {
	t.Helper()
	forward := "<forward mode='" + mode + "'/>"
	if mode == "" {
		forward = ""
	}
	n, err := ParseNetwork(fmt.Appendf(nil, `<network><name>a</name><metadata>%s</metadata>%s`+
		`<ip address='192.168.122.1' netmask='255.255.255.0'/><ip family='ipv6' address='fd00::1' prefix='64'/></network>`, metadata, forward))
	if err != nil {
		t.Fatalf("%s: %v", metadata, err)
	}
	return n
}

func forwards(inside string) string {
	return "<t:forwards xmlns:t='urn:taproom:network:1'>" + inside + "</t:forwards>"
}

func TestForwardedPortsAreReadWhateverTheirPrefix(t *testing.T) {
	t.Parallel()
	web := []ForwardedPorts{{Protocol: "tcp", Port: 8080, End: 8080, Guest: "web1", ToPort: 80}}
	addr := netip.MustParseAddr
	for metadata, want := range map[string][]ForwardedPorts{
		"": nil,
		"<a:b xmlns:a='http://a.example/'><forward port='1'/></a:b>": nil,
		"<forwards><forward port='1' to='a'/></forwards>":            nil,
		forwards(""): nil,
		forwards("<!-- a --> <forward port='8080' to='web1' toPort='80'/>\n"):                                                           web,
		forwards("<t:forward port='8080' to='web1' toPort='80'></t:forward>"):                                                           web,
		"<forwards xmlns='urn:taproom:network:1'><forward protocol='tcp' port='8080' end='8080' to='web1' toPort='80'/></forwards><c/>": web,
		forwards("<forward protocol='udp' address='192.0.2.1' port='5000' end='5009' to='192.168.122.9'/>") + forwards("<forward address='::1' port='1' to='fd00::9'/>"): {
			{Protocol: "udp", Address: addr("192.0.2.1"), Port: 5000, End: 5009, Target: addr("192.168.122.9"), ToPort: 5000},
			{Protocol: "tcp", Address: addr("::1"), Port: 1, End: 1, Target: addr("fd00::9"), ToPort: 1},
		},
		// One port, a guest for each family.
		forwards("<forward port='80' to='192.168.122.9'/><forward port='80' to='fd00::9'/>"): {
			{Protocol: "tcp", Port: 80, End: 80, Target: addr("192.168.122.9"), ToPort: 80},
			{Protocol: "tcp", Port: 80, End: 80, Target: addr("fd00::9"), ToPort: 80},
		},
	} {
		for _, mode := range []string{"nat", "route", "open"} {
			n := forwarding(t, mode, metadata)
			if err := n.Validate(); err != nil {
				t.Errorf("%s: %v", metadata, err)
			}
			got, err := n.PortForwards()
			if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" || err != nil {
				t.Errorf("%s: %v\n%s", metadata, err, d)
			}
		}
	}
}

func TestForwardedPortsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	one := func(attrs string) string { return forwards("<t:forward " + attrs + "/>") }
	for metadata, says := range map[string]string{
		one("to='web1'"):                                                      "port is missing",
		one("port='80'"):                                                      "to is missing",
		one("port='80' to=' '"):                                               "to is missing",
		one("port='0' to='web1'"):                                             "port='0' is no port",
		one("port='65536' to='web1'"):                                         "port='65536' is no port",
		one("port='http' to='web1'"):                                          "port='http' is no port",
		one("port='80' toPort='-1' to='web1'"):                                "toPort='-1' is no port",
		one("port='80' end='79' to='web1'"):                                   "end='79' lies before port='80'",
		one("port='80' end='90' toPort='65530' to='web1'"):                    "do not fit behind toPort='65530'",
		one("port='80' to='web1' protocol='sctp'"):                            "protocol='sctp' is not forwarded; use tcp or udp",
		one("port='80' to='web1' host='x'"):                                   "has no attribute host",
		one("port='80' to='web1' address='eth0'"):                             "address='eth0' is no address",
		one("port='80' to='web1' address='0.0.0.0'"):                          "address='0.0.0.0' stands for no one host",
		one("port='80' to='web1' address='ff02::1'"):                          "address='ff02::1' stands for no one host",
		one("port='80' to='web1' address='255.255.255.255'"):                  "stands for no one host",
		one("port='80' to='web1' address='fe80::1'"):                          "is link-local",
		one("port='80' to='web1' address='::ffff:192.0.2.1'"):                 "write 192.0.2.1",
		one("port='80' to='web1' address='192.168.122.7'"):                    "address='192.168.122.7' is one of the guests'",
		one("port='80' to='192.168.122.7' address='2001:db8::1'"):             "the one is of IPv4 and the other of IPv6",
		one("port='80' to='192.168.123.7'"):                                   "tcp 80 to 192.168.123.7: that is in no <ip> of this network",
		one("port='80' to='192.168.122.1'"):                                   "that is the host itself",
		one("port='80' to='127.0.0.1'"):                                       "that is the host itself",
		one("port='80' to='192.168.122.255'"):                                 "stands for the network itself",
		one("port='80' to='0.0.0.0'"):                                         "to='0.0.0.0' stands for no one host",
		one("port='80' end='600' to='web1'"):                                  "they are 521 ports; a network may have 512",
		one("port='80' to='a'") + one("port='80' to='b'"):                     "tcp 80 leads to 'b' and (tcp 80) to 'a'",
		one("port='80' end='90' to='a'") + one("port='85' to='b'"):            "a port leads to one guest",
		one("port='80' to='a'") + one("address='127.0.0.1' port='80' to='b'"): "tcp 80 at 127.0.0.1 leads to 'b' and (tcp 80) to 'a'",
		"<t:forward xmlns:t='urn:taproom:network:1' port='1' to='a'/>":        "taproom knows no <t:forward> there; there is <taproom:forwards>",
		"<t:forwards xmlns:t='urn:taproom:network:1' port='1'/>":              "<t:forwards> has no attribute port",
		forwards("<t:port/>"):                                                 "<t:port> has no meaning there",
		forwards("80"):                                                        `"80" stands there by itself`,
		forwards("<t:forward port='1' to='a'><t:b/></t:forward>"):             "<t:b> has no meaning there",
		forwards("<forward xmlns='urn:other' port='1' to='a'/>"):              "<forward> has no meaning there",
	} {
		err := forwarding(t, "nat", metadata).Validate()
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), portForward) {
			t.Errorf("%s: %v, want %q", metadata, err, says)
		}
	}
	err := forwarding(t, "", one("port='80' to='a'")).Validate()
	if err == nil || !strings.Contains(err.Error(), "this one is isolated: it has no <forward>") {
		t.Errorf("isolated: %v", err)
	}
	for doc, says := range map[string]string{
		"<forward mode='bridge'/><bridge name='br0'/>":                    "this one is bridge",
		"<forward mode='open'/><bridge name='br0'/>":                      "the network has no <ip>",
		"<forward/><ip address='192.168.122.1' netmask='255.255.255.0'/>": "the network has no <ip family='ipv6'>",
	} {
		n, err := ParseNetwork([]byte("<network><name>a</name><metadata>" + one("port='80' to='a' address='::1'") + "</metadata>" + doc + "</network>"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(says, "no <ip>") {
			n.Metadata.Inner = one("port='80' to='a'")
		}
		if err := n.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", doc, err, says)
		}
	}
}

func TestForwardsOfTwoNetworksClashWhereAPacketWouldHaveTwoWays(t *testing.T) {
	t.Parallel()
	a, b := forwarding(t, "nat", ""), forwarding(t, "nat", "")
	four, err := ParseNetwork([]byte("<network><name>b</name><forward/><ip address='10.0.0.1' netmask='255.0.0.0'/></network>"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(address string) ForwardedPorts {
		f := ForwardedPorts{Protocol: "tcp", Port: 80, End: 89, Guest: "a"}
		if address != "" {
			f.Address = netip.MustParseAddr(address)
		}
		return f
	}
	udp, other, last := at(""), at(""), at("")
	udp.Protocol = "udp"
	other.Port, other.End = 90, 99
	last.Port, last.End = 89, 89
	for i, c := range []struct {
		m    *Network
		f, g ForwardedPorts
		want bool
	}{
		{b, at(""), at(""), true},
		{b, at(""), last, true},
		{b, at(""), other, false},
		{b, at(""), udp, false},
		{b, at("192.0.2.1"), at("192.0.2.1"), true},
		{b, at("192.0.2.1"), at("192.0.2.2"), false},
		{b, at("192.0.2.1"), at(""), true},
		{four, at("::1"), at(""), false},
		{four, at("192.0.2.1"), at(""), true},
	} {
		if got := ForwardsClash(a, c.f, c.m, c.g); got != c.want {
			t.Errorf("%d: %s and %s: %v", i, c.f.At(), c.g.At(), got)
		}
		if got := ForwardsClash(c.m, c.g, a, c.f); got != c.want {
			t.Errorf("%d, the other way round: %v", i, got)
		}
	}
}
