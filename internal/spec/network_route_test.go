package spec

import (
	"strings"
	"testing"
)

func TestRoutesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for route, want := range map[string]string{
		"<route address='192.168.222.0' prefix='24' gateway='10.0.0.7'/>":                                       "",
		"<route address='192.168.222.0' netmask='255.255.255.0' gateway='10.0.0.7' metric='2'/>":                "",
		"<route address='192.168.222.0' gateway='10.0.0.7'/>":                                                   "",
		"<route address='0.0.0.0' gateway='10.0.0.7'/>":                                                         "",
		"<route family='ipv6' address='fd00:2::' prefix='64' gateway='fd00:1::7'/>":                             "",
		"<route family='ipv6' address='::' gateway='fd00:1::7' metric='4294967295'/>":                           "",
		"<route prefix='24' gateway='10.0.0.7'/>":                                                               "invalid route/@address: it is missing",
		"<route address='192.168.222.0' prefix='24'/>":                                                          "invalid route/@gateway: it is missing",
		"<route address='192.168.222.1' prefix='24' gateway='10.0.0.7'/>":                                       "invalid route/@address: 192.168.222.1/24 is no address of a subnet; that is 192.168.222.0/24",
		"<route address='192.168.222.0' prefix='24' gateway='10.0.1.7'/>":                                       "invalid route/@gateway: unreachable static route gateway '10.0.1.7'",
		"<route address='192.168.222.0' prefix='24' gateway='10.0.0.1'/>":                                       "invalid route/@gateway: 10.0.0.1 is the network's own address",
		"<route address='10.0.0.0' prefix='24' gateway='10.0.0.7'/>":                                            "invalid route/@address: 10.0.0.0/24 is the network's own subnet",
		"<route address='192.168.222.0' prefix='33' gateway='10.0.0.7'/>":                                       "invalid route: prefix",
		"<route address='192.168.222.0' prefix='24' netmask='255.255.255.0' gateway='10.0.0.7'/>":               "invalid route: prefix and netmask are both given",
		"<route address='192.168.222.0' netmask='255.0.255.0' gateway='10.0.0.7'/>":                             "invalid route: netmask 255.0.255.0 has a hole",
		"<route address='192.168.222.0' prefix='24' gateway='10.0.0.7' metric='0'/>":                            "invalid route: metric 0 is none",
		"<route address='192.168.222.0' prefix='24' gateway='10.0.0.7' metric='x'/>":                            "invalid route",
		"<route address='192.168.222.0' prefix='24' gateway='x'/>":                                              "invalid route: malformed address",
		"<route family='ipv6' address='192.168.222.0' prefix='24' gateway='10.0.0.7'/>":                         "invalid route/@family: address 192.168.222.0 is not of ipv6",
		"<route address='fd00:2::' prefix='64' gateway='fd00:1::7'/>":                                           "invalid route/@family: address fd00:2:: is not of ipv4",
		"<route family='x' address='192.168.222.0' prefix='24' gateway='10.0.0.7'/>":                            "invalid route/@family",
		"<route family='ipv6' address='fd00:2::' prefix='64' gateway='10.0.0.7'/>":                              "invalid route/@gateway: 10.0.0.7 and fd00:2::/64 are of different families",
		"<route address='224.0.0.0' prefix='24' gateway='10.0.0.7'/>":                                           "invalid route/@address: 224.0.0.0/24 cannot be reached by a router",
		"<route address='1.0.0.0' gateway='10.0.0.7'/><route address='1.0.0.0' gateway='10.0.0.8'/>":            "invalid route: there are two to 1.0.0.0/8",
		"<route address='1.0.0.0' gateway='10.0.0.7'/><route address='1.0.0.0' gateway='10.0.0.8' metric='9'/>": "",
	} {
		doc := "<network><name>n</name><ip address='10.0.0.1' prefix='24'/><ip family='ipv6' address='fd00:1::1' prefix='64'/>" + route + "</network>"
		err := validateNetwork(doc)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", route, got, want)
		}
		n, perr := ParseNetwork([]byte(doc))
		if perr != nil {
			t.Fatal(perr)
		}
		if again, perr := ParseNetwork(n.Format()); perr != nil || string(again.Format()) != string(n.Format()) {
			t.Errorf("%s is not written back: %v", route, perr)
		}
	}
	if err := validateNetwork("<network><name>n</name><forward mode='bridge'/><bridge name='b'/><route address='1.0.0.0' gateway='10.0.0.7'/></network>"); err == nil || !strings.Contains(err.Error(), "unreachable static route gateway '10.0.0.7'") {
		t.Errorf("without any address: %v", err)
	}
}
