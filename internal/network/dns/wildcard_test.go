package dns

import (
	"net/netip"
	"strings"
	"testing"
)

func TestAWildcardAnswersForWhatIsNotKnownOtherwise(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{
		Domain: "lab.example", LocalOnly: true, NoResolv: true,
		Wildcards: []Wildcard{
			{"apps.example", addr("10.0.0.9")},
			{"apps.example", addr("fd00::9")},
			{"two.apps.example", addr("10.0.0.8")},
			{"lab.example", addr("10.0.0.7")},
			{"blocked.example", addr("0.0.0.0")},
		},
		Hosts: []Host{{IP: addr("10.0.0.1"), Names: []string{"own.apps.example"}}, {IP: addr("10.0.0.2"), Names: []string{"web"}}},
		TXT:   []TXT{{Name: "note.apps.example", Values: []string{"a"}}},
		CNAME: []CNAME{{"alias", "x.apps.example"}},
		PTR: []PTR{
			{"2.0.0.10.in-addr.arpa", "other"}, {"_http._tcp.lab.example", `My\032Shop._http._tcp.lab.example`},
		},
		Forwarders: []Forwarder{{Domain: "away.apps.example", Addr: addrPort("192.0.2.1:53")}, {Domain: "closed.apps.example"}},
	}, nil)
	s.SetLease(addr("10.0.0.3"), "vm")
	soa := func(top string) string {
		return "\nns " + top + " 5 IN SOA " + top + " nobody.invalid. 1 3600 1200 604800 5"
	}
	for q, want := range map[string]string{
		"apps.example. A":             "NOERROR aa\nan apps.example. 0 IN A 10.0.0.9",
		"x.y.Apps.example. AAAA":      "NOERROR aa\nan x.y.Apps.example. 0 IN AAAA fd00::9",
		"x.two.apps.example. A":       "NOERROR aa\nan x.two.apps.example. 0 IN A 10.0.0.8",
		"x.two.apps.example. AAAA":    "NOERROR aa" + soa("x.two.apps.example."),
		"x.apps.example. MX":          "NOERROR aa" + soa("x.apps.example."),
		"own.apps.example. A":         "NOERROR aa\nan own.apps.example. 0 IN A 10.0.0.1",
		"own.apps.example. AAAA":      "NOERROR aa" + soa("own.apps.example."),
		"note.apps.example. A":        "NOERROR aa\nan note.apps.example. 0 IN A 10.0.0.9",
		"note.apps.example. TXT":      "NOERROR aa\nan note.apps.example. 0 IN TXT \"a\"",
		"xapps.example. A":            "REFUSED",
		"b.blocked.example. A":        "NOERROR aa\nan b.blocked.example. 0 IN A 0.0.0.0",
		"x.closed.apps.example. A":    "NXDOMAIN aa" + soa("closed.apps.example."),
		"nobody.lab.example. A":       "NOERROR aa\nan nobody.lab.example. 0 IN A 10.0.0.7",
		"vm.lab.example. A":           "NOERROR aa\nan vm.lab.example. 0 IN A 10.0.0.3",
		"lab.example. SOA":            "NOERROR aa" + strings.Replace(soa("lab.example."), "\nns", "\nan", 1),
		"alias. A":                    "NOERROR aa\nan alias. 0 IN CNAME x.apps.example.\nan x.apps.example. 0 IN A 10.0.0.9",
		"2.0.0.10.in-addr.arpa. PTR":  "NOERROR aa\nan 2.0.0.10.in-addr.arpa. 0 IN PTR other.lab.example.",
		"1.0.0.10.in-addr.arpa. PTR":  "NOERROR aa\nan 1.0.0.10.in-addr.arpa. 0 IN PTR own.apps.example.",
		"9.0.0.10.in-addr.arpa. PTR":  "REFUSED",
		"_http._tcp.lab.example. PTR": `NOERROR aa` + "\n" + `an _http._tcp.lab.example. 0 IN PTR My\ Shop._http._tcp.lab.example.`,
	} {
		got := strings.ReplaceAll(ask(t, s, q), " rd ra | "+strings.Join(strings.Fields(q), " "), "")
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", q, got, want)
		}
	}
	if err := (Config{PTR: []PTR{{"a", ""}}}).Validate(); err == nil || err.Error() != `ptr[0].target: "" is not a domain name` {
		t.Errorf("a pointer to nothing: %v", err)
	}
	if err := (Config{Wildcards: []Wildcard{{Name: "a"}}}).Validate(); err == nil || err.Error() != "wildcards[0].ip: there is no address" {
		t.Errorf("a wildcard without address: %v", err)
	}
}

func TestADomainCanBeLeftToTheHostsResolvers(t *testing.T) {
	t.Parallel()
	host, all := addrPort("127.0.0.53:53"), addrPort("9.9.9.9:53")
	for _, c := range []struct {
		forwarders []Forwarder
		name, want string
	}{
		{[]Forwarder{{Addr: all}, {Domain: "corp.example", Resolvers: true}}, "a.corp.example.", "127.0.0.53:53"},
		{[]Forwarder{{Addr: all}, {Domain: "corp.example", Resolvers: true}}, "a.example.", "9.9.9.9:53"},
		{[]Forwarder{{Addr: all}, {Resolvers: true}}, "a.example.", "9.9.9.9:53 127.0.0.53:53"},
		{[]Forwarder{{Addr: all}, {Resolvers: true}}, "1.2.3.10.in-addr.arpa.", "127.0.0.53:53"},
		{[]Forwarder{{Domain: "corp.example"}, {Domain: "corp.example", Resolvers: true}}, "corp.example.", "127.0.0.53:53"},
	} {
		z, err := newZone(Config{NoResolv: true, Forwarders: c.forwarders})
		if err != nil {
			t.Fatal(err)
		}
		q, _, _ := parseQuery(pack(t, 1, c.name+" A"), make([]byte, 2*maxName))
		var b builder
		b.begin(&q, maxUDP)
		list, _ := z.answer(&b, newLeases(), []netip.AddrPort{host})
		var got []string
		for _, a := range list {
			got = append(got, a.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s under %v: asks %v, want %s", c.name, c.forwarders, got, c.want)
		}
	}
}
