package dns

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// dig asks with the program that administrators ask with, and returns the sections that it shows.
func dig(t *testing.T, at string, args ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	all := append([]string{"@" + host, "-p", port, "+tries=1", "+time=10", "+nocookie", "+noall", "+answer", "+authority", "+additional"}, args...)
	out, err := exec.CommandContext(t.Context(), "dig", all...).CombinedOutput()
	if err != nil {
		t.Fatalf("dig %s: %v\n%s", strings.Join(all, " "), err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

func TestDigUnderstandsEveryTypeOfRecord(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("dig"); errors.Is(err, exec.ErrNotFound) {
		t.Skipf("dig is not installed (Debian: bind9-dnsutils): %v", err)
	}
	records := []string{
		"www.far.example. 60 IN CNAME far.example.",
		"far.example. 60 IN A 192.0.2.1", "far.example. 60 IN AAAA 2001:db8::1", "far.example. 60 IN MX 10 mx.far.example.",
		"far.example. 60 IN NS ns.far.example.", "far.example. 60 IN SOA ns.far.example. root.far.example. 1 2 3 4 5",
		`far.example. 60 IN TXT "a b" "c"`, "far.example. 60 IN SRV 1 2 3 srv.far.example.", `far.example. 60 IN CAA 0 issue "ca.example"`,
		`far.example. 60 IN NAPTR 1 2 "s" "SIP+D2U" "" _sip._udp.far.example.`, "far.example. 60 IN SVCB 1 svc.far.example. alpn=\"h2\"",
		"far.example. 60 IN HTTPS 1 . alpn=\"h3\"", "far.example. 60 IN DS 4711 13 2 " + strings.Repeat("AB", 28) + " ABABABAB",
		"far.example. 60 IN DNSKEY 257 3 13 c2lnbmF0dXJl", "far.example. 60 IN NSEC a.far.example. A AAAA",
		"far.example. 60 IN TLSA 3 1 1 ABCD", "far.example. 60 IN SSHFP 4 2 " + strings.Repeat("AB", 28) + " ABABABAB", `far.example. 60 IN HINFO "a" "b"`,
		"far.example. 60 IN PTR ptr.far.example.", "far.example. 60 IN DNAME other.example.", "far.example. 60 IN LOC 51 30 12.748 N 0 7 39.611 W 0.00m 0.00m 0.00m 0.00m",
		"far.example. 60 IN TYPE65280 \\# 3 C0C0C0",
	}
	up := newUpstream(t, zoneScript(t, records...))
	s := newServer(t, Config{
		Domain: "lab.example", LocalOnly: true, Forwarders: []Forwarder{{Addr: up.addr}},
		Hosts: []Host{{IP: addr("10.0.0.2"), Names: []string{"web"}}, {IP: addr("fd00::2"), Names: []string{"web"}}},
		SRV:   []SRV{{Service: "ldap", Protocol: "tcp", Target: "web", Port: 389}},
		TXT:   []TXT{{Name: "note", Values: []string{"a b"}}},
		CNAME: []CNAME{{"alias", "web"}},
	}, nil)
	s.SetLease(addr("10.0.0.1"), "vm")
	at := serve(t, s, "127.0.0.1", "::1")
	expect := func(want string, args ...string) {
		t.Helper()
		for i, a := range [][]string{{"+notcp"}, {"+tcp"}} {
			if got := dig(t, at[i], append(a, args...)...); got != want {
				t.Errorf("dig %v %v:\n got %s\nwant %s", a, args, got, want)
			}
		}
	}
	for _, line := range records {
		r := rr(t, line)
		if r.Header().Rrtype == dns.TypeCNAME {
			continue
		}
		expect(strings.Join(strings.Fields(line), " "), "far.example", dns.TypeToString[r.Header().Rrtype]+unknownType(r))
	}
	expect("www.far.example. 60 IN CNAME far.example.\nfar.example. 60 IN A 192.0.2.1", "www.far.example", "A")
	expect("vm.lab.example. 0 IN A 10.0.0.1", "vm.lab.example", "+dnssec")
	expect("web. 0 IN AAAA fd00::2", "web", "AAAA", "+noedns")
	expect("alias.lab.example. 0 IN CNAME web.lab.example.\nweb.lab.example. 0 IN A 10.0.0.2", "alias.lab.example")
	expect(`note.lab.example. 0 IN TXT "a b"`, "note.lab.example", "TXT")
	expect("_ldap._tcp.lab.example. 0 IN SRV 0 0 389 web.lab.example.\nweb.lab.example. 0 IN A 10.0.0.2\nweb.lab.example. 0 IN AAAA fd00::2", "_ldap._tcp.lab.example", "SRV")
	expect("2.0.0.10.in-addr.arpa. 0 IN PTR web.lab.example.", "-x", "10.0.0.2")
	rev, _ := dns.ReverseAddr("fd00::2")
	expect(rev+" 0 IN PTR web.lab.example.", "-x", "fd00::2")
	expect("lab.example. 5 IN SOA lab.example. nobody.invalid. 1 3600 1200 604800 5", "nobody.lab.example")
	expect("lab.example. 5 IN SOA lab.example. nobody.invalid. 1 3600 1200 604800 5", "lab.example", "SOA")
	expect(`vm.lab.example. 3600 IN HINFO "RFC8482" ""`, "vm.lab.example", "ANY")
	expect("", "version.bind", "TXT", "CH")
	expect("vm.lab.example. 0 IN A 10.0.0.1", "vm.lab.example", "+ednsopt=65001:abcd", "+padding=128", "+subnet=192.0.2.0/24")
	expect("vm.lab.example. 0 IN A 10.0.0.1", "vm.lab.example", "+edns=1") // dig asks again with the version it is told
}

// unknownType is what dig calls a type without a name.
func unknownType(r dns.RR) string {
	if _, ok := dns.TypeToString[r.Header().Rrtype]; ok {
		return ""
	}
	return "TYPE65280"
}
