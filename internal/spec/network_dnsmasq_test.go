package spec

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// withLines is a network of both families with dnsmasq:options.
func withLines(tb testing.TB, lines ...string) *Network {
	tb.Helper()
	n, err := ParseNetwork([]byte(both()))
	if err != nil {
		tb.Fatal(err)
	}
	n.Dnsmasq = &DnsmasqOptions{}
	for _, l := range lines {
		n.Dnsmasq.Options = append(n.Dnsmasq.Options, DnsmasqOption{Value: l})
	}
	return n
}

func TestOptionsAreSentAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"3":                                   "4/3 ",
		"option:router":                       "4/3 ",
		"3,10.1.2.254":                        "4/3 0a0102fe",
		"option:router,0.0.0.0":               "4/3 0a010201",
		"option:dns-server,192.0.2.1,0.0.0.0": "4/6 c00002010a010201",
		"42,192.0.2.7":                        "4/42 c0000207",
		"option:mtu,1400":                     "4/26 0578",
		"option:default-ttl,64":               "4/23 40",
		"2,0xffffb9b0":                        "4/2 ffffb9b0",
		"option:domain-search,a.example,b":    "4/119 0161076578616d706c65000162" + "00",
		"15,example":                          "4/15 6578616d706c65",
		"17,\"a,b\"":                          "4/17 612c62",
		"121,10.0.0.0/8,10.1.2.3,0.0.0.0/0,10.1.2.4": "4/121 080a0a010203000a010204",
		"252,http://wpad/wpad.dat":                   "4/252 " + hexOf([]byte("http://wpad/wpad.dat")),
		"252,\\n":                                    "4/252 5c6e",
		"43,01:04:ab":                                "4/43 0104ab",
		"200,7":                                      "4/200 07",
		"200,700":                                    "4/200 02bc",
		"200,70000":                                  "4/200 00011170",
		"200,a,b":                                    "4/200 612c62",
		"200,\"7\"":                                  "4/200 37",
		"200,192.0.2.1":                              "4/200 c0000201",
		"option6:dns-server,[2001:db8::1],[::]":      "6/23 20010db8000000000000000000000001fd000000000000000000000000000001",
		"option6:ntp-server,[2001:db8::2]":           "6/56 0001001020010db8000000000000000000000002",
		"option6:bootfile-param,a,bc":                "6/60 00016100026263",
		"option6:59,tftp://[fd00::1]/x":              "6/59 " + hexOf([]byte("tftp://[fd00::1]/x")),
		"option6:65001,1":                            "6/65001 01",
		"tag:efi,67,a":                               "4/67 61 for [7 9]",
		"tag:efi,option6:59,a":                       "6/59 61 for [16]",
	} {
		s, err := withLines(t, "dhcp-option="+line, "dhcp-match=set:efi,option:client-arch,7",
			"dhcp-match=set:efi,93,0x9", "dhcp-match=set:efi,option6:61,16").DnsmasqSettings()
		if err != nil || len(s.Options) != 1 {
			t.Errorf("%s: %v, %+v", line, err, s.Options)
			continue
		}
		o := s.Options[0]
		family := 4
		if o.IPv6 {
			family = 6
		}
		got := fmt.Sprintf("%d/%d %s", family, o.Code, hexOf(o.Value))
		if o.Arch != nil {
			got += fmt.Sprint(" for ", o.Arch)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestTheOtherLinesAreRead(t *testing.T) {
	t.Parallel()
	got, err := withLines(t,
		"dhcp-boot=tag:bios,undionly.kpxe", "dhcp-match=set:bios,option:client-arch,0",
		"dhcp-boot=ipxe.efi,boot,192.0.2.9", "dhcp-boot=http://192.0.2.9/x",
		"server=192.0.2.1#5353", "server=/a.example/.b/[2001:db8::1]", "server=/c/#", "local=/d/", "address=/x/y/10.0.0.9",
		"host-record=h,h.example,10.0.0.1,fd00::1", "cname=c,d,h", "txt-record=t,a,b", "srv-host=_ldap._tcp.a.b,h,389,1,2",
		"srv-host=_x._udp", "ptr-record=1.0.0.10.in-addr.arpa,h",
	).DnsmasqSettings()
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddr
	names := []Hostname{{Name: "h"}, {Name: "h.example"}}
	want := DnsmasqSettings{
		Boot: []DHCPBoot{
			{Arch: []uint16{0}, File: "undionly.kpxe"}, {File: "ipxe.efi", ServerName: "boot", Server: addr("192.0.2.9")}, {File: "http://192.0.2.9/x"},
		},
		Servers: []DNSServer{
			{Addr: netip.MustParseAddrPort("192.0.2.1:5353")},
			{Domain: "a.example", Addr: netip.MustParseAddrPort("[2001:db8::1]:53")},
			{Domain: "b", Addr: netip.MustParseAddrPort("[2001:db8::1]:53")},
			{Domain: "c"},
			{Domain: "d", Local: true},
		},
		Names: []DNSAddress{{"x", addr("10.0.0.9")}, {"y", addr("10.0.0.9")}},
		Hosts: []DNSHost{{IP: "10.0.0.1", Hostnames: names}, {IP: "fd00::1", Hostnames: names}},
		TXT:   []DNSTXT{{Name: "t", Value: "a,b"}},
		SRV: []DNSSRV{
			{Service: "ldap", Protocol: "tcp", Domain: "a.b", Target: "h", Port: "389", Priority: "1", Weight: "2"}, {Service: "x", Protocol: "udp"},
		},
		CNAME: []DNSReference{{"c", "h"}, {"d", "h"}},
		PTR:   []DNSReference{{"1.0.0.10.in-addr.arpa", "h"}},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{})); d != "" {
		t.Errorf("read (-want +got):\n%s", d)
	}
}

func TestALineThatIsNotReadIsRefusedByNameAndSaysWhatToUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, want  string
		unsupported bool
	}{
		{"dhcp-range=10.0.0.1,10.0.0.9", `option "dhcp-range" of dnsmasq is not read; use <ip><dhcp><range>`, true},
		{"log-queries", `option "log-queries" of dnsmasq is not read; leave it out`, true},
		{"conf-file=/etc/x", `option "conf-file" of dnsmasq is not read; dhcp-option, `, true},
		{"", `option "" of dnsmasq is not read`, true},
		{"dhcp-option", "dhcp-option has no usable value", false},
		{"dhcp-option=6,192.0.2.1\nlog-queries", "dhcp-option has no usable value", false},
		{"dhcp-option=option:no-such,1", "use the form dhcp-option=[tag:TAG,]N|option:NAME|option6:NAME[,VALUE]", true},
		{"dhcp-option=0,1", "use the form", true},
		{"dhcp-option=tag:x", "for tag \"x\", which no dhcp-match", true},
		{"dhcp-option=tag:a,tag:b,3", "with several tags; use one", true},
		{"dhcp-option=tag:a,option6:59,x", "for tag \"a\", which no dhcp-match", true},
		{"dhcp-option=51,1", "the server decides that option by itself", true},
		{"dhcp-option=option6:2,1", "the server decides that option by itself", true},
		{"dhcp-option=3,x", `"x" is no address of the option's family`, false},
		{"dhcp-option=3,fd00::1", "no address of the option's family", false},
		{"dhcp-option=option6:23,fd00::1", "no IPv6 address in brackets", false},
		{"dhcp-option=26,70000", "70000 is too large (limit 65535)", false},
		{"dhcp-option=119,a..b", `"a..b" is no DNS name`, false},
		{"dhcp-option=121,10.0.0.0/8", "1 words are no pairs", false},
		{"dhcp-option=121,10.0.0.1/8,10.0.0.1", `"10.0.0.1/8" is no IPv4 prefix`, false},
		{"dhcp-option=200," + strings.Repeat("x", 256), "256 bytes are too long", false},
		{"dhcp-match=efi,option:client-arch,7", "use the form dhcp-match=set:TAG,option:client-arch,N", true},
		{"dhcp-match=set:x,option:user-class,7", "clients are told apart by client-arch alone", true},
		{"dhcp-match=set:x,93,99999", "99999 is too large", false},
		{"dhcp-boot=", "dhcp-boot has no usable value", false},
		{"dhcp-boot=net:x,a", "use the form dhcp-boot", true},
		{"dhcp-boot=a,b,c", `"c" is no IPv4 address`, false},
		{"dhcp-boot=a," + strings.Repeat("x", 64), "the server's name is too long", false},
		{"server=/a/b", "use the form server=[/DOMAIN/]ADDRESS[#PORT]", true},
		{"server=10.0.0.1@eth0", "use the form", true},
		{"server=10.0.0.1#0", "use the form", true},
		{"server=/", "use the form", true},
		{"server=/a..b/10.0.0.1", "is no name of a DNS domain", false},
		{"address=/x/", "use the form address=/NAME/ADDRESS", true},
		{"address=10.0.0.1", "use the form", true},
		{"address=/x y/10.0.0.1", "is no name", false},
		{"host-record=h", "use the form host-record", true},
		{"host-record=h,10.0.0.1,300", "use the form", true},
		{"cname=a", "use the form cname", true},
		{"cname=a,b,300", "use the form", true},
		{"txt-record=t", "the record t has none", false},
		{"srv-host=ldap.tcp", "use the form srv-host", true},
		{"srv-host=_ldap._tcp,h,x", "service ldap", false},
		{"ptr-record=a", "use the form ptr-record", true},
	} {
		n := withLines(t, c.line, "dhcp-match=set:a,93,0", "dhcp-match=set:b,93,0")
		err := n.Validate()
		var uns *UnsupportedError
		var inv *InvalidError
		isUns := errors.As(err, &uns) && uns.Element == dnsmasqAt
		isInv := errors.As(err, &inv) && inv.Element == dnsmasqAt
		if err == nil || !strings.Contains(err.Error(), c.want) || isUns != c.unsupported || isInv == c.unsupported {
			t.Errorf("%q: %v\nwant %s, unsupported %v", c.line, err, c.want, c.unsupported)
		}
	}
	n := withLines(t, "dhcp-option=3,0.0.0.0")
	n.IPs = nil
	if err := n.Validate(); err == nil || !strings.Contains(err.Error(), "0.0.0.0 stands for the bridge's address, and it has none") {
		t.Errorf("an option about an address that is not there: %v", err)
	}
	n.Dnsmasq.Elements = []Element{{}}
	if err := n.Validate(); err == nil {
		t.Error("an unknown element among the lines was taken")
	}
}

func FuzzDnsmasqSettings(f *testing.F) {
	for _, s := range []string{
		"dhcp-option=tag:a,121,10.0.0.0/8,10.0.0.1", "dhcp-match=set:a,93,7", "dhcp-boot=tag:a,x,y,10.0.0.1", "server=/a/b/#",
		"address=/a/::1", "host-record=a,::1", "cname=a,b", "txt-record=a,\"b", "srv-host=_a._tcp.b,c,1,2,3", "ptr-record=a,b",
		"dhcp-option=option6:56,[::]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		n := withLines(t, line, "dhcp-match=set:a,93,7")
		s, err := n.DnsmasqSettings()
		var uns *UnsupportedError
		var inv *InvalidError
		if err != nil && !errors.As(err, &uns) && !errors.As(err, &inv) {
			t.Fatalf("%q: %v says not what is wrong", line, err)
		}
		for _, o := range s.Options {
			if !o.IPv6 && (o.Code == 0 || o.Code > 254 || len(o.Value) > 255) {
				t.Errorf("%q: option %d of %d bytes", line, o.Code, len(o.Value))
			}
		}
		for _, txt := range s.TXT {
			if _, err := txt.Strings(); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	})
}
