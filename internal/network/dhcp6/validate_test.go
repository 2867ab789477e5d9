package dhcp6

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatCannotBeServedIsSaidByField(t *testing.T) {
	t.Parallel()
	manyDNS := make([]netip.Addr, 17)
	for i := range manyDNS {
		manyDNS[i] = ip("::1")
	}
	for _, c := range []struct {
		name  string
		spoil func(*Config)
		want  string
	}{
		{"good", func(*Config) {}, ""},
		{"every option", func(c *Config) { *c = full() }, ""},
		{"only options", func(c *Config) { c.Ranges = nil }, ""},
		{"a range of a whole subnet", func(c *Config) { *c = large() }, ""},
		{"no DUID", func(c *Config) { c.DUID = nil }, "duid: has 0 bytes; between 3 and 130 are allowed"},
		{"DUID too long", func(c *Config) { c.DUID = make([]byte, 131) }, "duid: has 131 bytes; between 3 and 130 are allowed"},
		{"no subnet", func(c *Config) { c.Prefixes = nil }, "prefixes: none given"},
		{"subnet with a host part", func(c *Config) { c.Prefixes[0] = netip.MustParsePrefix("2001:db8:7::1/64") }, "prefixes[0]: 2001:db8:7::1/64 is not an IPv6 subnet for clients"},
		{"IPv4 subnet", func(c *Config) { c.Prefixes[0] = netip.MustParsePrefix("10.0.0.0/8") }, "prefixes[0]: 10.0.0.0/8 is not an IPv6 subnet for clients"},
		{"link-local subnet", func(c *Config) { c.Prefixes[0] = netip.MustParsePrefix("fe80::/64") }, "prefixes[0]: fe80::/64 is not an IPv6 subnet for clients"},
		{"no valid subnet", func(c *Config) { c.Prefixes[0] = netip.Prefix{} }, "prefixes[0]: invalid Prefix is not an IPv6 subnet for clients"},
		{"range outside", func(c *Config) { c.Ranges[0].End = ip("2001:db8:8::1") }, "ranges[0]: 2001:db8:7::10-2001:db8:8::1 has more than 2^64 addresses"},
		{"range elsewhere", func(c *Config) { c.Ranges[0] = Range{Start: ip("2001:db8:9::1"), End: ip("2001:db8:9::2")} }, "ranges[0]: 2001:db8:9::1-2001:db8:9::2 is in none of the subnets"},
		{"range backwards", func(c *Config) { c.Ranges[0].End = ip("::1") }, "ranges[0]: 2001:db8:7::10-2001:db8:7::1 is not a span of IPv6 addresses"},
		{"IPv4 range", func(c *Config) { c.Ranges[0].Start = netip.MustParseAddr("10.0.0.1") }, "ranges[0]: 10.0.0.1-2001:db8:7::12 is not a span of IPv6 addresses"},
		{"range without a start", func(c *Config) { c.Ranges[0].Start = netip.Addr{} }, "ranges[0]: invalid IP-2001:db8:7::12 is not a span of IPv6 addresses"},
		{"IPv4 DNS", func(c *Config) { c.DNS[0] = netip.MustParseAddr("10.0.0.1") }, "dns[0]: 10.0.0.1 is not an IPv6 address"},
		{"many DNS", func(c *Config) { c.DNS = manyDNS }, "dns: 17 servers; at most 16 fit"},
		{"NTP with a zone", func(c *Config) { c.NTP = []netip.Addr{netip.MustParseAddr("fe80::1%eth0")} }, "ntp[0]: fe80::1%eth0 is not an IPv6 address"},
		{"host without anything", func(c *Config) { c.Hosts = []Host{{IP: ip("::1")}} }, "hosts[0]: has neither DUID, MAC nor name"},
		{"host with a bad DUID", func(c *Config) { c.Hosts = []Host{{DUID: "0:3:xx"}} }, `hosts[0]: "0:3:xx" is not a DUID in hexadecimal`},
		{"host with a short DUID", func(c *Config) { c.Hosts = []Host{{DUID: "0:3"}} }, `hosts[0]: "0:3" is not a DUID in hexadecimal`},
		{"host with a bad MAC", func(c *Config) { c.Hosts = []Host{{MAC: "52:54"}} }, `hosts[0]: "52:54" is not an Ethernet address`},
		{"host with a bad name", func(c *Config) { c.Hosts = []Host{{Name: "a b"}} }, `hosts[0]: "a b" is not a host name`},
		{"host elsewhere", func(c *Config) { c.Hosts = []Host{{Name: "a", IP: ip("2001:db8:9::1")}} }, "hosts[0]: 2001:db8:9::1 is in none of the subnets"},
		{"one client twice", func(c *Config) { c.Hosts = []Host{{DUID: "00:03:00"}, {DUID: "0:3:0"}} }, "hosts[1]: is the same client as hosts[0]"},
		{"one name twice", func(c *Config) { c.Hosts = []Host{{Name: "a.b"}, {Name: "A"}} }, "hosts[1]: is the same client as hosts[0]"},
		{"one address twice", func(c *Config) { c.Hosts = []Host{{Name: "a", IP: ip("::9")}, {Name: "b", IP: ip("::9")}} }, "hosts[1]: has the address of hosts[0]"},
		{"search without a domain", func(c *Config) { c.Search = []string{"a", "b..c"} }, `search[1]: "b..c" is not a domain`},
		{"search too long", func(c *Config) {
			for range 10 {
				c.Search = append(c.Search, strings.Repeat("a", 60)+".test")
			}
		}, "search: 684 bytes; at most 512 fit"},
		{"empty URL", func(c *Config) { c.BootURL = []Boot{{}} }, "boot_url[0]: has 0 bytes; between 1 and 512 fit"},
		{"an option of the protocol", func(c *Config) { c.Options = []Option{{Code: 13}} }, "options[0]: option 13 belongs to the protocol and cannot be set"},
		{"options too long", func(c *Config) { c.Options = []Option{{Code: 99, Value: make([]byte, 900)}} }, "options: 904 bytes together; at most 900 fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := small()
			c.spoil(&config)
			_, err := NewServer(config, nil, 0)
			var field *FieldError
			switch {
			case c.want == "" && err == nil:
			case !errors.As(err, &field) || err.Error() != c.want:
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAConfigurationSurvivesItsTextForm(t *testing.T) {
	t.Parallel()
	want := full()
	want.Hosts = []Host{{DUID: "0:3:0:1", IP: ip("::9")}, {MAC: "52:54:00:00:00:01", Name: "a"}}
	b, err := json.Marshal(want)
	var got Config
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if diff := cmp.Diff(want, got, addresses(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("%v; the form differs (-want +got):\n%s\n%s", err, diff, b)
	}
	if b, err = json.Marshal(Config{}); string(b) != `{"duid":null,"prefixes":null}` || err != nil {
		t.Errorf("nothing is written as %s, %v", b, err)
	}
}

func TestDUIDsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0:3:0:1:52:54:0:0:0:2": "00:03:00:01:52:54:00:00:00:02", "00:04:AB": "00:04:ab", "0:4": "", "": "", "0:4:abc": "", "0004ab": "", "0:4:": "",
		strings.Repeat("1:", 130) + "1": "", strings.Repeat("1:", 129) + "1": strings.Repeat("01:", 129) + "01",
	} {
		if got, ok := parseDUID(in); ok != (want != "") || ok && got != want {
			t.Errorf("%q was read as %q, %v; want %q", in, got, ok, want)
		}
	}
}
