package dns

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// office is a network with something of everything.
func office(t testing.TB) *Server {
	t.Helper()
	s := newServer(t, Config{
		Domain:    "lab.example",
		LocalOnly: true,
		Hosts: []Host{
			{IP: addr("192.168.122.2"), Names: []string{"web", "www.elsewhere.example"}},
			{IP: addr("192.168.122.2"), Names: []string{"web2"}},
			{IP: addr("fd00::2"), Names: []string{"six.lab.example."}},
		},
		SRV: []SRV{
			{Service: "ldap", Protocol: "tcp", Target: "web", Port: 389, Priority: 1, Weight: 2},
			{Service: "_none", Protocol: "_udp", Domain: "lab.example"},
			{Service: "far", Protocol: "tcp", Domain: "real.example", Target: "a.far.example", Port: 1},
		},
		TXT: []TXT{
			{Name: "note", Values: []string{"a b", strings.Repeat("x", 257)}},
			{Name: "real.example", Values: []string{"added"}},
		},
		CNAME: []CNAME{
			{"alias", "web"},
			{"gone", "nothing"},
			{"away", "www.far.example"},
			{"ring1", "ring2"},
			{"ring2", "ring1"},
			{"to-guest.lab.example", "vm1"},
		},
		Forwarders: []Forwarder{{Domain: "closed.example"}},
		LocalPTR:   []netip.Prefix{netip.MustParsePrefix("192.168.122.0/24"), netip.MustParsePrefix("10.9.16.0/20"), netip.MustParsePrefix("fd00::/64")},
		NoResolv:   true,
	}, nil)
	for _, l := range []struct{ ip, name string }{
		{"192.168.122.10", "vm1"},
		{"192.168.122.11", "VM1.lab.example"},
		{"fd00::10", "vm1"},
		{"192.168.122.12", "vm2"},
		{"192.168.122.66", "web"},
		{"fd00::66", "web"},
		{"192.168.122.67", "alias"},
	} {
		if !s.SetLease(addr(l.ip), l.name) {
			t.Fatalf("no guest may be called %q", l.name)
		}
	}
	return s
}

const (
	soaLab  = "\nns lab.example. 5 IN SOA lab.example. nobody.invalid. 1 3600 1200 604800 5"
	soaRev4 = "\nns 122.168.192.in-addr.arpa. 5 IN SOA 122.168.192.in-addr.arpa. nobody.invalid. 1 3600 1200 604800 5"
)

func TestANetworkAnswersForItsOwnNames(t *testing.T) {
	t.Parallel()
	s := office(t)
	for q, want := range map[string]string{
		"web. A":                        "NOERROR aa rd ra | web. A\nan web. 0 IN A 192.168.122.2",
		"WeB.LaB.eXample. A":            "NOERROR aa rd ra | WeB.LaB.eXample. A\nan WeB.LaB.eXample. 0 IN A 192.168.122.2",
		"web. AAAA":                     "NOERROR aa rd ra | web. AAAA\nan web. 0 IN AAAA fd00::66",
		"www.elsewhere.example. A nord": "NOERROR aa ra | www.elsewhere.example. A\nan www.elsewhere.example. 0 IN A 192.168.122.2",
		"www.elsewhere.example. MX":     "NOERROR aa rd ra | www.elsewhere.example. MX\nns www.elsewhere.example. 5 IN SOA www.elsewhere.example. nobody.invalid. 1 3600 1200 604800 5",
		"six. AAAA":                     "NOERROR aa rd ra | six. AAAA\nan six. 0 IN AAAA fd00::2",
		"six. A":                        "NOERROR aa rd ra | six. A\nns six. 5 IN SOA six. nobody.invalid. 1 3600 1200 604800 5",
		"six.lab.example. A":            "NOERROR aa rd ra | six.lab.example. A" + soaLab,
		"vm1. A":                        "NOERROR aa rd ra | vm1. A\nan vm1. 0 IN A 192.168.122.10\nan vm1. 0 IN A 192.168.122.11",
		"vm1.lab.example. AAAA":         "NOERROR aa rd ra | vm1.lab.example. AAAA\nan vm1.lab.example. 0 IN AAAA fd00::10",
		"vm2.lab.example. AAAA":         "NOERROR aa rd ra | vm2.lab.example. AAAA" + soaLab,
		"nobody.lab.example. A":         "NXDOMAIN aa rd ra | nobody.lab.example. A" + soaLab,
		"x.vm2.lab.example. A":          "NXDOMAIN aa rd ra | x.vm2.lab.example. A" + soaLab,
		"lab.example. SOA":              "NOERROR aa rd ra | lab.example. SOA\nan lab.example. 5 IN SOA lab.example. nobody.invalid. 1 3600 1200 604800 5",
		"lab.example. NS":               "NOERROR aa rd ra | lab.example. NS\nan lab.example. 5 IN NS lab.example.",
		"lab.example. A":                "NOERROR aa rd ra | lab.example. A" + soaLab,
		"lab.example. DS do":            "NOERROR aa rd ra | lab.example. DS" + soaLab + "\nopt version 0 size 1232 do true options 0",
		"_tcp.lab.example. A":           "NOERROR aa rd ra | _tcp.lab.example. A" + soaLab,
		"nobody. A":                     "REFUSED rd ra | nobody. A",
		"a.closed.example. A":           "NXDOMAIN aa rd ra | a.closed.example. A\nns closed.example. 5 IN SOA closed.example. nobody.invalid. 1 3600 1200 604800 5",
		"far.example. A":                "REFUSED rd ra | far.example. A",
	} {
		if got := ask(t, s, q); got != want {
			t.Errorf("%s:\n got %s\nwant %s", q, got, want)
		}
	}
}

func TestServicesTextsAndAliasesAreAnswered(t *testing.T) {
	t.Parallel()
	s := office(t)
	for q, want := range map[string]string{
		"_ldap._tcp.lab.example. SRV":   "NOERROR aa rd ra | _ldap._tcp.lab.example. SRV\nan _ldap._tcp.lab.example. 0 IN SRV 1 2 389 web.lab.example.\nar web.lab.example. 0 IN A 192.168.122.2\nar web.lab.example. 0 IN AAAA fd00::66",
		"_none._udp.lab.example. SRV":   "NOERROR aa rd ra | _none._udp.lab.example. SRV\nan _none._udp.lab.example. 0 IN SRV 0 0 0 .",
		"_far._tcp.real.example. SRV":   "NOERROR aa rd ra | _far._tcp.real.example. SRV\nan _far._tcp.real.example. 0 IN SRV 0 0 1 a.far.example.",
		"_ldap._tcp.lab.example. A":     "NOERROR aa rd ra | _ldap._tcp.lab.example. A" + soaLab,
		"note.lab.example. TXT":         `NOERROR aa rd ra | note.lab.example. TXT` + "\n" + `an note.lab.example. 0 IN TXT "a b" "` + strings.Repeat("x", 255) + `" "xx"`,
		"note. TXT":                     `NOERROR aa rd ra | note. TXT` + "\n" + `an note. 0 IN TXT "a b" "` + strings.Repeat("x", 255) + `" "xx"`,
		"real.example. TXT":             "NOERROR aa rd ra | real.example. TXT\nan real.example. 0 IN TXT \"added\"",
		"real.example. A":               "REFUSED rd ra | real.example. A", // it would be forwarded
		"alias. A":                      "NOERROR aa rd ra | alias. A\nan alias. 0 IN CNAME web.lab.example.\nan web.lab.example. 0 IN A 192.168.122.2",
		"alias.lab.example. MX":         "NOERROR aa rd ra | alias.lab.example. MX\nan alias.lab.example. 0 IN CNAME web.lab.example." + soaLab,
		"alias. CNAME":                  "NOERROR aa rd ra | alias. CNAME\nan alias. 0 IN CNAME web.lab.example.",
		"to-guest. AAAA":                "NOERROR aa rd ra | to-guest. AAAA\nan to-guest. 0 IN CNAME vm1.lab.example.\nan vm1.lab.example. 0 IN AAAA fd00::10",
		"gone. A":                       "NXDOMAIN aa rd ra | gone. A\nan gone. 0 IN CNAME nothing.lab.example." + soaLab,
		"away. A":                       "NOERROR aa rd ra | away. A\nan away. 0 IN CNAME www.far.example.",
		"ring1. A":                      "SERVFAIL rd ra | ring1. A",
		"ring1. CNAME":                  "NOERROR aa rd ra | ring1. CNAME\nan ring1. 0 IN CNAME ring2.lab.example.",
		"vm1. ANY":                      "NOERROR aa rd ra | vm1. ANY\nan vm1. 3600 IN HINFO \"RFC8482\" \"\"",
		"far.example. ANY":              "NOERROR rd ra | far.example. ANY\nan far.example. 3600 IN HINFO \"RFC8482\" \"\"",
		"nobody.lab.example. ANY":       "NXDOMAIN aa rd ra | nobody.lab.example. ANY" + soaLab,
		"localhost. A":                  "NOERROR aa rd ra | localhost. A\nan localhost. 0 IN A 127.0.0.1",
		"localhost. AAAA":               "NOERROR aa rd ra | localhost. AAAA\nan localhost. 0 IN AAAA ::1",
		"_dns.resolver.arpa. SVCB":      "NXDOMAIN aa rd ra | _dns.resolver.arpa. SVCB\nns resolver.arpa. 5 IN SOA resolver.arpa. nobody.invalid. 1 3600 1200 604800 5",
		"deep.onion. A":                 "NXDOMAIN aa rd ra | deep.onion. A\nns onion. 5 IN SOA onion. nobody.invalid. 1 3600 1200 604800 5",
		"localhost.lab.example. A":      "NXDOMAIN aa rd ra | localhost.lab.example. A" + soaLab,
		"version.bind. TXT ch":          "REFUSED rd ra | version.bind. TXT",
		"vm1. AXFR":                     "REFUSED rd ra | vm1. AXFR",
		"vm1. TKEY":                     "NOTIMP rd ra | vm1. TKEY",
		"vm1. A edns=4096":              "NOERROR aa rd ra | vm1. A\nan vm1. 0 IN A 192.168.122.10\nan vm1. 0 IN A 192.168.122.11\nopt version 0 size 1232 do false options 0",
		"nobody.lab.example. A cd nord": "NXDOMAIN aa ra cd | nobody.lab.example. A" + soaLab,
	} {
		if got := ask(t, s, q); got != want {
			t.Errorf("%s:\n got %s\nwant %s", q, got, want)
		}
	}
}

func TestTheReverseOfEveryNameIsAnswered(t *testing.T) {
	t.Parallel()
	s := office(t)
	six := func(a string) string {
		r, err := dns.ReverseAddr(a)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	rev6 := strings.Repeat("0.", 14) + "d.f.ip6.arpa." // a prefix of 64 bits is 16 labels
	for q, want := range map[string]string{
		"2.122.168.192.in-addr.arpa. PTR":  "NOERROR aa rd ra | 2.122.168.192.in-addr.arpa. PTR\nan 2.122.168.192.in-addr.arpa. 0 IN PTR web.lab.example.\nan 2.122.168.192.in-addr.arpa. 0 IN PTR web2.lab.example.",
		"10.122.168.192.IN-addr.arpa. PTR": "NOERROR aa rd ra | 10.122.168.192.IN-addr.arpa. PTR\nan 10.122.168.192.IN-addr.arpa. 0 IN PTR vm1.lab.example.",
		"10.122.168.192.in-addr.arpa. A":   "NOERROR aa rd ra | 10.122.168.192.in-addr.arpa. A" + soaRev4,
		"99.122.168.192.in-addr.arpa. PTR": "NXDOMAIN aa rd ra | 99.122.168.192.in-addr.arpa. PTR" + soaRev4,
		"122.168.192.in-addr.arpa. SOA":    "NOERROR aa rd ra | 122.168.192.in-addr.arpa. SOA" + strings.Replace(soaRev4, "\nns", "\nan", 1),
		"122.168.192.in-addr.arpa. PTR":    "NOERROR aa rd ra | 122.168.192.in-addr.arpa. PTR" + soaRev4,
		"168.192.in-addr.arpa. PTR":        "REFUSED rd ra | 168.192.in-addr.arpa. PTR",
		"1.17.9.10.in-addr.arpa. PTR":      "NXDOMAIN aa rd ra | 1.17.9.10.in-addr.arpa. PTR\nns 17.9.10.in-addr.arpa. 5 IN SOA 17.9.10.in-addr.arpa. nobody.invalid. 1 3600 1200 604800 5",
		"1.32.9.10.in-addr.arpa. PTR":      "REFUSED rd ra | 1.32.9.10.in-addr.arpa. PTR",
		"1.0.0.127.in-addr.arpa. PTR":      "NXDOMAIN aa rd ra | 1.0.0.127.in-addr.arpa. PTR\nns 127.in-addr.arpa. 5 IN SOA 127.in-addr.arpa. nobody.invalid. 1 3600 1200 604800 5",
		"01.122.168.192.in-addr.arpa. PTR": "REFUSED rd ra | 01.122.168.192.in-addr.arpa. PTR",
		six("fd00::10") + " PTR":           "NOERROR aa rd ra | " + six("fd00::10") + " PTR\nan " + six("fd00::10") + " 0 IN PTR vm1.lab.example.",
		six("fd00::2") + " PTR":            "NOERROR aa rd ra | " + six("fd00::2") + " PTR\nan " + six("fd00::2") + " 0 IN PTR six.lab.example.",
		six("fd00::99") + " PTR":           "NXDOMAIN aa rd ra | " + six("fd00::99") + " PTR\nns " + rev6 + " 5 IN SOA " + rev6 + " nobody.invalid. 1 3600 1200 604800 5",
		six("fe80::1") + " PTR":            "NXDOMAIN aa rd ra | " + six("fe80::1") + " PTR\nns 8.e.f.ip6.arpa. 5 IN SOA 8.e.f.ip6.arpa. nobody.invalid. 1 3600 1200 604800 5",
	} {
		if got := ask(t, s, q); got != want {
			t.Errorf("%s:\n got %s\nwant %s", q, got, want)
		}
	}
}

func TestANameBelongsToItsLiveLease(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Domain: "lab", LocalOnly: true}, nil)
	steps := []struct {
		ip, name string
		may      bool
		want     string
	}{
		{"10.0.0.1", "vm", true, "10.0.0.1"},
		{"10.0.0.2", "vm", true, "10.0.0.1 10.0.0.2"},
		{"10.0.0.3", "VM.LAB.", true, "10.0.0.1 10.0.0.2 10.0.0.3"},
		{"10.0.0.1", "", false, "10.0.0.3 10.0.0.2"},
		{"10.0.0.3", "other", true, "10.0.0.2"},
		{"10.0.0.2", "vm", true, "10.0.0.2"},
		{"10.0.0.2", "vm.far.example", false, ""},
		{"10.0.0.2", "wpad", false, ""},
		{"10.0.0.2", "localhost", false, ""},
		{"10.0.0.2", "a b", false, ""},
		{"10.0.0.2", strings.Repeat("x", 64), false, ""},
		{"::ffff:10.0.0.7", "vm", true, "10.0.0.7"},
	}
	for _, step := range steps {
		if got := s.SetLease(addr(step.ip), step.name); got != step.may {
			t.Errorf("may %s be called %q: %v", step.ip, step.name, got)
		}
		m := new(dns.Msg)
		if err := m.Unpack(askRaw(t, s, pack(t, 1, "vm.lab. A"), 0)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range m.Answer {
			got = append(got, r.(*dns.A).A.String())
		}
		if strings.Join(got, " ") != step.want {
			t.Errorf("after %s is called %q, vm has %v, want %s", step.ip, step.name, got, step.want)
		}
	}
	for _, ip := range []string{"10.0.0.7", "10.0.0.3"} {
		s.SetLease(addr(ip), "")
	}
	if n, m := len(s.leases.byName), len(s.leases.byAddr); n+m != 0 {
		t.Errorf("%d names and %d addresses are kept of leases that are gone", n, m)
	}
}

func TestAConfigurationThatCannotBeServedIsRefusedByField(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Config{
		"domain: \"a..b\" is not a host's name: letters, digits, '-' and '_', at most 63 between dots": {Domain: "a..b"},
		"hosts[0].ip: there is no address":                                                          {Hosts: []Host{{Names: []string{"a"}}}},
		"hosts[0].names: there is no name for 10.0.0.1":                                             {Hosts: []Host{{IP: addr("10.0.0.1")}}},
		"hosts[0].names[1]: the name is empty":                                                      {Hosts: []Host{{IP: addr("10.0.0.1"), Names: []string{"a", "."}}}},
		"srv[0]: \"a.b\" is no name of a service or protocol":                                       {SRV: []SRV{{Service: "a.b", Protocol: "tcp"}}},
		"srv[0]: \"-\" is not a host's name: letters, digits, '-' and '_', at most 63 between dots": {SRV: []SRV{{Service: "a", Protocol: "tcp", Target: "-"}}},
		"txt[0].name: \"\" is not a domain name":                                                    {TXT: []TXT{{}}},
		"txt[0].values: 32896 bytes are too many for a record":                                      {TXT: []TXT{{Name: "a", Values: []string{strings.Repeat("x", 32767)}}}},
		"cname[0].alias: a has other records, which an alias must not": {
			Hosts: []Host{{IP: addr("10.0.0.1"), Names: []string{"a"}}}, CNAME: []CNAME{{"a", "b"}},
		},
		"forwarders[0]: neither a domain nor an address is given": {Forwarders: []Forwarder{{}}},
		"forwarders[0].addr: nobody can be asked at 0.0.0.0:53":   {Forwarders: []Forwarder{{Addr: addrPort("0.0.0.0:53")}}},
		"forwarders[0].addr: nobody can be asked at 10.0.0.1:0":   {Forwarders: []Forwarder{{Addr: addrPort("10.0.0.1:0")}}},
		"local_ptr[0]: there is no prefix":                        {LocalPTR: []netip.Prefix{{}}},
		"addresses[0]: there is no address":                       {Addresses: []netip.Addr{{}}},
	} {
		err := c.Validate()
		if field := (*FieldError)(nil); !errors.As(err, &field) || err.Error() != want {
			t.Errorf("got %v (%T), want %s", err, err, want)
		}
	}
}
