package dhcp6

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
)

// full is a network with every option.
func full() Config {
	c := small()
	c.NTP = []netip.Addr{ip("::5"), ip("::6")}
	c.Search = append(c.Search, "lab.test.")
	c.BootURL = []Boot{{Arch: []uint16{7, 9}, URL: "tftp://[2001:db8:7::1]/x64.efi"}, {Arch: []uint16{11}, URL: "http://boot/arm"}, {URL: "http://boot/any"}}
	c.Options = []Option{{Code: 200, Value: []byte{1, 2}}, {Code: 17, Value: []byte{0, 0, 0, 9}}, {Code: 17, Value: []byte{0, 0, 0, 10}}}
	c.LeaseSeconds = 100000
	return c
}

// extras lists the options of a reply that are not about leases.
func extras(m *dhcpv6.Message) string {
	var words []string
	for _, o := range m.Options.Options {
		switch o.Code() {
		case dhcpv6.OptionClientID, dhcpv6.OptionServerID, dhcpv6.OptionIANA, dhcpv6.OptionPreference, dhcpv6.OptionStatusCode:
		case dhcpv6.OptionBootfileURL:
			words = append(words, "59:"+string(o.ToBytes()))
		default:
			words = append(words, fmt.Sprintf("%d:%x", o.Code(), o.ToBytes()))
		}
	}
	return strings.Join(words, " ")
}

func TestAClientGetsTheOptionsItAsksFor(t *testing.T) {
	t.Parallel()
	const (
		dns    = "23:20010db8000700000000000000000001"
		search = "24:076578616d706c650474657374" + "00036c61620474657374" + "00"
		ntp    = "56:0001001020010db8000700000000000000000005" + "0001001020010db8000700000000000000000006"
		own    = "200:0102 17:00000009 17:0000000a"
		anyURL = "59:http://boot/any"
	)
	everything := strings.Join([]string{dns, search, ntp, own, anyURL}, " ")
	for _, c := range []struct {
		name    string
		kind    dhcpv6.MessageType
		options []dhcpv6.Option
		want    string
	}{
		{"everything if it asks for nothing", request, nil, everything},
		{"in an advertisement too", solicit, nil, everything},
		{"when it renews", renew, nil, everything},
		{"and when to ask again without a lease", inform, nil, everything + " 32:00015180"},
		{"DNS alone", request, []dhcpv6.Option{ask(23)}, dns},
		{"in two lists", request, []dhcpv6.Option{ask(24), ask(56)}, search + " " + ntp},
		{"nothing of what it asks", request, []dhcpv6.Option{ask(31, 32, 41)}, ""},
		{"one that comes twice", inform, []dhcpv6.Option{ask(17, 32)}, "17:00000009 17:0000000a 32:00015180"},
		{"nothing when it confirms", confirm, []dhcpv6.Option{ask(23)}, ""},
		{"nothing when it releases", release, nil, ""},
		{"the loader of its firmware", solicit, []dhcpv6.Option{ask(59), archs(iana.EFI_X86_64)}, "59:tftp://[2001:db8:7::1]/x64.efi"},
		{"the loader of the architecture that it prefers", solicit, []dhcpv6.Option{ask(59), archs(77, 11, 7)}, "59:http://boot/arm"},
		{"the loader for all others", solicit, []dhcpv6.Option{ask(59), archs(0)}, anyURL},
		{"no SNTP servers", solicit, []dhcpv6.Option{ask(31)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, full())
			options := c.options
			if c.kind != inform {
				options = append([]dhcpv6.Option{ias(1, "::10")}, options...)
			}
			if diff := cmp.Diff(c.want, extras(l.send(1, c.kind, options...))); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOptionOfTheConfigurationTakesThePlaceOfTheServers(t *testing.T) {
	t.Parallel()
	c := full()
	c.Options = []Option{{Code: 23, Value: ip("::99").AsSlice()}, {Code: 59, Value: []byte("http://own")}, {Code: 32, Value: []byte{0, 0, 1, 0}}}
	l := newLab(t, c)
	want := "23:20010db8000700000000000000000099 59:http://own 32:00000100"
	if got := extras(l.send(1, inform, ask(23, 59, 32))); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestTheRefreshTimeFollowsTheLeaseTimeWithinItsBounds(t *testing.T) {
	t.Parallel()
	for lease, want := range map[uint32]string{0: "32:00000e10", 60: "32:00000258", 7200: "32:00001c20", Forever: "32:00015180"} {
		c := small()
		c.LeaseSeconds = lease
		l := newLab(t, c)
		if got := extras(l.send(1, inform, ask(32))); got != want {
			t.Errorf("leases of %d s: got %s, want %s", lease, got, want)
		}
	}
}

// TestAClientLearnsItsName is RFC 4704, 6: the option comes if it was sent and asked for.
func TestAClientLearnsItsName(t *testing.T) {
	t.Parallel()
	label := func(flags byte, labels ...string) dhcpv6.Option {
		b := []byte{flags}
		for _, l := range labels {
			b = append(append(b, byte(len(l))), l...)
		}
		return raw(dhcpv6.OptionFQDN, b...)
	}
	wire := func(flags byte, name string) string { return fmt.Sprintf("39:%02x%x", flags, encodeName(name)) }
	asked := ask(dhcpv6.OptionFQDN)
	for _, c := range []struct {
		name     string
		domain   string
		options  []dhcpv6.Option
		want     string
		hostname string
	}{
		{"a name without a domain", "example.test", []dhcpv6.Option{label(1, "Web-1"), asked}, wire(1, "Web-1.example.test"), "Web-1"},
		{"a name with another domain", "example.test", []dhcpv6.Option{fqdn("web.other.test."), asked}, wire(1, "web.example.test"), "web"},
		{"a network without a domain", "", []dhcpv6.Option{label(1, "web"), asked}, "39:01" + hex.EncodeToString([]byte("\x03web")), "web"},
		{"a client that would update DNS itself", "example.test", []dhcpv6.Option{label(0, "web"), asked}, wire(3, "web.example.test"), "web"},
		{"a client that wants no update", "example.test", []dhcpv6.Option{label(4, "web"), asked}, wire(4, "web.example.test"), "web"},
		{"not asked for", "example.test", []dhcpv6.Option{label(1, "web"), ask(99)}, "", "web"},
		{"not sent", "example.test", []dhcpv6.Option{asked}, "", ""},
		{"nothing to call it", "example.test", []dhcpv6.Option{label(1, "$(reboot)"), asked}, "", ""},
		{"a label too long", "example.test", []dhcpv6.Option{label(1, strings.Repeat("a", 64)), asked}, "", ""},
		{"a hyphen in front", "example.test", []dhcpv6.Option{label(1, "-rf"), asked}, "", ""},
		{"a fixed name", "example.test", []dhcpv6.Option{duid(duidLL(9)...), label(1, "web"), asked}, wire(1, "db.example.test"), "db"},
		{"a fixed name with a domain", "example.test", []dhcpv6.Option{duid(duidLL(8)...), label(1, "web"), asked}, wire(1, "db.other"), "db.other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := small()
			config.Search, config.DNS = nil, nil
			if c.domain != "" {
				config.Search = []string{c.domain}
			}
			config.Hosts = []Host{{DUID: duidText(duidLL(9)), Name: "db"}, {DUID: duidText(duidLL(8)), Name: "db.other"}}
			l := newLab(t, config)
			got := extras(l.send(1, request, append(c.options, ias(1))...))
			leases := l.s.Leases(l.now)
			if got != c.want || len(leases) != 1 || leases[0].Hostname != c.hostname {
				t.Errorf("got %s, want %s; the leases are %+v, want the name %q", got, c.want, leases, c.hostname)
			}
		})
	}
}

// TestRepliesAreTheseBytes holds whole frames: what a client sees, from Ethernet to the last option.
func TestRepliesAreTheseBytes(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	p, err := ParseFrame(frame(1, client6(1, solicit, ias(1, "::10"), ask(23)).ToBytes()), false)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := l.s.Handle(p, l.now)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Frame([6]byte{2, 0, 0, 0, 0, 1}, netip.MustParseAddr("fe80::1"))
	want := strings.Join([]string{
		"525400000001", "020000000001", "86dd", // Ethernet
		"60000000", "0075", "11", "40", // IPv6: length, UDP, hops
		"fe800000000000000000000000000001", "fe80000000000000505400fffe000001",
		"0223", "0222", "0075", "SUM!", // UDP from 547 to 546
		"02", "070701", // ADVERTISE
		"0001", "000a", "00030001525400000001",
		"0002", "0012", "00040102030405060708090a0b0c0d0e0f10",
		"0007", "0001", "ff",
		"0003", "0028", "00000001", "00000708", "00000b40",
		"0005", "0018", "20010db8000700000000000000000010", "00000e10", "00000e10",
		"0017", "0010", "20010db8000700000000000000000001",
	}, "")
	text := hex.EncodeToString(got)
	want = strings.Replace(want, "SUM!", text[2*60:2*62], 1) // the client of the other tests verifies it
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("the frame differs (-want +got):\n%s", diff)
	}
}
