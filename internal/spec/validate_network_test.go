package spec

import (
	"errors"
	"strings"
	"testing"
)

// both is a network of both families with parts of it replaced.
func both(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`<network><name>n</name><domain name='n.example'/><dns><!-- dns --></dns>
<ip address='10.1.2.1' prefix='24'><tftp root='/srv'/><dhcp><range start='10.1.2.2' end='10.1.2.9'/><bootp file='a'/></dhcp></ip>
<ip family='ipv6' address='fd00::1' prefix='64'><dhcp><range start='fd00::2' end='fd00::ff'/><host id='0:1' ip='fd00::100'/></dhcp></ip>
</network>`)
}

func TestWhatANetworkServesIsChecked(t *testing.T) {
	t.Parallel()
	const host6, dns = "<host id='0:1' ip='fd00::100'/>", "<!-- dns -->"
	for _, c := range []struct{ old, new, want string }{
		{"<!-- dns -->", "", ""},
		{"prefix='24'", "prefix='24' localPtr='yes'", ""},
		{"prefix='24'", "prefix='23' localPtr='yes'", "ip/@localPtr is not supported: no reverse zone ends at a prefix length of 23; use a multiple of 8 (IPv6: of 4)"},
		{"prefix='64'", "prefix='62' localPtr='yes'", "ip/@localPtr is not supported: no reverse zone ends at a prefix length of 62; use a multiple of 8 (IPv6: of 4)"},
		{"address='10.1.2.1'", "family='ipv6' address='10.1.2.1'", "ip/@family is not supported: address 10.1.2.1 is not of IPv6; write family='ipv4'"},
		{"fd00::1'", "fd00::'", "invalid ip: fd00::/64 is the address of the subnet itself"},
		{"fd00::1'", "fe80::1'", "invalid ip: fe80::1/64 is link-local; the bridge has such an address in any case"},
		{"fd00::1'", "ff02::1'", "invalid ip: ff02::1/64 cannot be the address of a bridge"},
		{"fd00::1' prefix='64'", "fd00::1' netmask='255.0.0.0'", `invalid ip: malformed netmask "255.0.0.0" for address fd00::1`},
		{"start='fd00::2'", "start='fd00::'", "invalid ip/dhcp/range: start fd00:: is the address of the subnet itself"},
		{"end='fd00::ff'", "end='fd00::ffff:ffff:ffff:ffff'", ""},
		{"end='fd00::ff'", "end='fd00:1::ff'", "invalid ip/dhcp/range: fd00:1::ff is outside fd00::/64"},
		{"start='fd00::2'", "start='10.1.2.10'", "invalid ip/dhcp/range: 10.1.2.10 and fd00::ff are of different families"},
		{host6, "<host name='a' ip='fd00::5'/><host mac='52:54:00:00:00:01' ip='fd00::6'/>", ""},
		{host6, "<host ip='fd00::5'/>", "invalid ip/dhcp/host: host 1 has neither id nor name nor mac"},
		{host6, "<host id='x' ip='fd00::5'/>", `invalid ip/dhcp/host/@id: malformed identifier "x": want octets as in 00:04:5e:7f`},
		{host6, "<host id='0:1' ip='fd00::5'/><host id='0001' ip='fd00::6'/>", "invalid ip/dhcp/host/@id: 0001 is used by two hosts"},
		{host6, "<host id='" + strings.Repeat("00", 131) + "' ip='fd00::5'/>", "invalid ip/dhcp/host/@id: identifier of 131 octets is too long (limit 130)"},
		{host6, "<bootp file='a'/>", "ip/dhcp/bootp is not supported: it is of IPv4; for IPv6 use dnsmasq:options with dhcp-option=option6:bootfile-url,URL"},
		{"<bootp file='a'/>", "<bootp file=''/>", `invalid ip/dhcp/bootp/@file: "" is no name of a file (1 to 255 bytes)`},
		{"<bootp file='a'/>", "<bootp file='a' server='fd00::1'/>", `invalid ip/dhcp/bootp/@server: "fd00::1" is no IPv4 address`},
		{"<bootp file='a'/>", "<bootp file='a'/><bootp file='b'/>", "invalid ip/dhcp/bootp: it is given more than once"},
		{"root='/srv'", "root='srv'", `invalid ip/tftp/@root: "srv" is no absolute path of a directory`},
		{"prefix='64'>", "prefix='64'><tftp root='/srv'/>", "ip/tftp is not supported: boot files are served from an IPv4 address; put it there"},
		{"</network>", "<ip address='10.9.0.1' prefix='24'><tftp root='/a'/></ip></network>", "ip/tftp is not supported: boot files are served from one address of a network; give it once"},
		{"<domain", "<mtu size='1279'/><domain", "invalid mtu/@size: IPv6 needs an MTU of at least 1280, not 1279"},
		{"<dns>", "<dns enable='no'>", ""},
		{"<dns><!-- dns -->", "<dns enable='no'><txt name='a' value='b'/>", "dns/@enable is not supported: it is off, and there is something in it; remove one of the two"},
		{dns, "<forwarder/>", "invalid dns/forwarder: it has neither addr nor domain"},
		{dns, "<forwarder addr='0.0.0.0'/>", `invalid dns/forwarder/@addr: "0.0.0.0" is no address of a server`},
		{dns, "<forwarder domain='a..b'/>", `invalid dns/forwarder/@domain: "a..b" is no name of a DNS domain`},
		{dns, "<txt name='a b' value='c'/>", `invalid dns/txt/@name: "a b" is no name of a record (labels of 1 to 63 bytes with dots between, no white space)`},
		{dns, "<txt name='a'/>", "invalid dns/txt/@value: the record a has none"},
		{dns, "<txt name='a' value='" + strings.Repeat("x", 256) + "'/>", "invalid dns/txt/@value: a: a string of 256 bytes is too long (limit 255); put commas where it may be split"},
		{dns, "<srv protocol='tcp'/>", "invalid dns/srv/@service: it is missing"},
		{dns, "<srv service='" + strings.Repeat("s", 477) + "' protocol='tcp'/>", "invalid dns/srv/@service: it is 477 bytes long (limit 476)"},
		{dns, "<srv service='a b' protocol='tcp'/>", `invalid dns/srv/@service: "a b" is no name of a service`},
		{dns, "<srv service='a'/>", "invalid dns/srv/@protocol: it is missing"},
		{dns, "<srv service='a' protocol='sctp'/>", `invalid dns/srv/@protocol: "sctp" is not known; use tcp or udp`},
		{dns, "<srv service='a' protocol='tcp' port='1'/>", "invalid dns/srv/@target: service a has port, priority or weight and no target"},
		{dns, "<srv service='a' protocol='tcp' target='h' port='0'/>", "invalid dns/srv: service a: port: 0 is too small (at least 1)"},
		{dns, "<srv service='a' protocol='tcp' target='h' weight='65536'/>", "invalid dns/srv: service a: weight: 65536 is too large (limit 65535)"},
		{dns, "<srv service='a' protocol='tcp' target='h h'/>", `invalid dns/srv/@target: "h h" is no name of a host`},
		{dns, "<srv service='a' protocol='tcp' domain='-'/>", `invalid dns/srv/@domain: "-" is no name of a DNS domain`},
		{dns, "<host ip='x'><hostname>a</hostname></host>", `invalid dns/host/@ip: malformed address "x"`},
		{dns, "<host ip='10.1.2.3'/>", "invalid dns/host: 10.1.2.3 has no hostname"},
		{dns, "<host ip='10.1.2.3'><hostname>a b</hostname></host>", `invalid dns/host/hostname: "a b" is no name of a host`},
	} {
		doc := both(c.old, c.new)
		if doc == both() {
			t.Fatalf("%q is not in the document", c.old)
		}
		got := ""
		if err := validateNetwork(doc); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.new, got, c.want)
		}
	}
}

func TestRecordsAreRead(t *testing.T) {
	t.Parallel()
	n, err := ParseNetwork([]byte(both("<!-- dns -->", `<forwarder addr='2001:db8::1'/><forwarder domain='a'/>
<txt name='t' value='one,two "three, four",'/><srv service='s' protocol='tcp' target='h' priority='2' weight='3'/>
<host ip='fd00::9'><hostname>a</hostname><hostname> b </hostname></host>`)))
	if err != nil || n.Validate() != nil {
		t.Fatal(err, n.Validate())
	}
	a, err1 := n.DNS.Forwarders[0].Server()
	b, err2 := n.DNS.Forwarders[1].Server()
	texts, err3 := n.DNS.TXT[0].Strings()
	port, priority, weight, err4 := n.DNS.SRV[0].Numbers()
	ip, err5 := n.DNS.Hosts[0].Address()
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	if a.String() != "2001:db8::1" || b.IsValid() || strings.Join(texts, "|") != "one|two three, four|" ||
		port != 1 || priority != 2 || weight != 3 || ip.String() != "fd00::9" || strings.Join(n.DNS.Hosts[0].Names(), " ") != "a b" {
		t.Errorf("read %v, %v, %q, %d %d %d, %s %q", a, b, texts, port, priority, weight, ip, n.DNS.Hosts[0].Names())
	}
	if n.DNS.Off() || !(&DNS{Enable: "no"}).Off() || (*DNS)(nil).Off() || !n.HasIPv6() || (&Network{IPv6: "yes"}).HasIPv6() {
		t.Error("whether DNS and IPv6 are on is misread")
	}
	for _, bad := range []string{"", ":", "00:", "0g", "001:02", "1:2:"} {
		if id, err := ParseClientID(bad); err == nil {
			t.Errorf("identifier %q = %x, want an error", bad, id)
		}
	}
	for good, want := range map[string]string{"0:4:AB": "0004ab", "0004ab": "0004ab", "7": "07"} {
		if id, err := ParseClientID(good); err != nil || strings.ToLower(want) != hexOf(id) {
			t.Errorf("identifier %q = %x, %v; want %s", good, id, err, want)
		}
	}
}
