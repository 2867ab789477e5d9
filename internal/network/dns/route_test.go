package dns

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

func TestTheForwarderWithTheLongestDomainIsAsked(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	heard := map[string][]string{}
	server := func(name string) netip.AddrPort {
		return newUpstream(t, func(q *dns.Msg, _ bool) []byte {
			mu.Lock()
			defer mu.Unlock()
			n := strings.ToLower(q.Question[0].Name)
			heard[n] = append(heard[n], name)
			m := new(dns.Msg)
			return packed(t, m.SetRcode(q, dns.RcodeNameError))
		}).addr
	}
	shared := newShared(t, Options{})
	shared.SetUpstreams([]netip.AddrPort{server("host")})
	corp, dev, rev := server("corp"), server("dev"), server("reverse")
	s := newServer(t, Config{
		Domain: "lab.corp.example", LocalOnly: true, NoForwardPlain: true,
		Forwarders: []Forwarder{
			{Domain: "corp.example", Addr: corp},
			{Domain: "dev.corp.example", Addr: dev},
			{Domain: "hidden.corp.example"},
			{Domain: "1.10.in-addr.arpa", Addr: rev},
			{Domain: "intra", Addr: corp},
		},
	}, shared)
	for _, c := range []struct{ q, by string }{
		{"a.corp.example. A", "corp"},
		{"corp.example. A", "corp"},
		{"x.dev.CORP.example. A", "dev"},
		{"xdev.corp.example. A", "corp"},
		{"h.hidden.corp.example. A", ""},
		{"x.lab.corp.example. A", ""},
		{"notcorp.example. A", "host"},
		{"2.1.10.in-addr.arpa. PTR", "reverse"},
		{"2.2.10.in-addr.arpa. PTR", "host"},
		{"254.169.in-addr.arpa. PTR", ""},
		{"plain. A", ""},
		{"plain. MX", ""},
		{"intra. A", "corp"},
		{"org. DS", "host"},
		{". NS", "host"},
		{"a.localhost. A", ""},
	} {
		ask(t, s, c.q)
		name := strings.ToLower(strings.Fields(c.q)[0])
		mu.Lock()
		if got := strings.Join(heard[name], " "); got != c.by {
			t.Errorf("%s was asked of %q, want %q", c.q, got, c.by)
		}
		mu.Unlock()
	}
}

func TestPrivateReverseIsKeptFromPublicForwardersAlone(t *testing.T) {
	t.Parallel()
	near, far := addrPort("10.1.1.1:53"), addrPort("9.9.9.9:53")
	for _, c := range []struct {
		c    Config
		host []netip.AddrPort
		want string
	}{
		{Config{}, []netip.AddrPort{far}, "asks [9.9.9.9:53]"},
		{Config{NoResolv: true}, []netip.AddrPort{far}, "REFUSED"},
		{Config{Forwarders: []Forwarder{{Addr: far}}}, []netip.AddrPort{near}, "NXDOMAIN 10.in-addr.arpa"},
		{Config{Forwarders: []Forwarder{{Addr: far}, {Addr: near}}}, nil, "asks [10.1.1.1:53]"},
		{Config{Forwarders: []Forwarder{{Domain: "10.in-addr.arpa", Addr: far}}}, nil, "asks [9.9.9.9:53]"},
	} {
		z, err := newZone(c.c)
		if err != nil {
			t.Fatal(err)
		}
		q, _, ok := parseQuery(pack(t, 1, "4.3.2.10.in-addr.arpa. PTR"), make([]byte, 2*maxName))
		if !ok {
			t.Fatal("the question cannot be read")
		}
		var b builder
		b.begin(&q, maxUDP)
		list, done := z.answer(&b, newLeases(), c.host)
		got := fmt.Sprint("asks ", list)
		if done {
			m := new(dns.Msg)
			if err := m.Unpack(b.finish()); err != nil {
				t.Fatal(err)
			}
			got = dns.RcodeToString[m.Rcode]
			if len(m.Ns) > 0 {
				got += " " + strings.TrimSuffix(m.Ns[0].Header().Name, ".")
			}
		}
		if got != c.want {
			t.Errorf("%+v with %v: %s, want %s", c.c, c.host, got, c.want)
		}
	}
}
