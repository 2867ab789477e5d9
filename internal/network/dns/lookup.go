package dns

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// Answer is what a client of the network would be told.
type Answer struct {
	Rcode   string   `json:"rcode"`             // NOERROR, NXDOMAIN, …
	Records []string `json:"records,omitempty"` // of the answer, as in a zone file
	Source  string   `json:"source"`            // "network", "cache", or the server upstream that said so
}

// Lookup answers like a question of a guest. The type is its name, such as AAAA; empty is A.
func (s *Server) Lookup(ctx context.Context, name, typ string) (Answer, error) {
	t, ok := dns.StringToType[strings.ToUpper(typ)]
	if typ == "" {
		t, ok = dns.TypeA, true
	}
	if !ok {
		return Answer{}, fmt.Errorf("look up %s: %q is no type of a record, such as A, AAAA or SRV", name, typ)
	}
	if _, err := wireName(name); err != nil {
		return Answer{}, fmt.Errorf("look up a name: %w", err)
	}
	var m dns.Msg
	m.SetQuestion(dns.Fqdn(name), t)
	query, err := m.Pack()
	if err != nil {
		return Answer{}, fmt.Errorf("look up %s: %w", name, err)
	}
	type told struct {
		msg  []byte
		from netip.AddrPort
	}
	answered := make(chan told, 1)
	sc := new(scratch)
	out := s.handle(ctx, sc, query, maxTCP, func() client {
		return client{send: func(msg []byte, from netip.AddrPort) { answered <- told{append([]byte(nil), msg...), from} }}
	})
	if out != nil {
		source := "network"
		if sc.cached {
			source = "cache"
		}
		return present(out, source)
	}
	select {
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("look up %s: %w", name, ctx.Err())
	case a := <-answered:
		source := "upstream"
		if a.from.IsValid() {
			source = a.from.String()
		}
		return present(a.msg, source)
	}
}

func present(msg []byte, source string) (Answer, error) {
	var m dns.Msg
	if err := m.Unpack(msg); err != nil {
		return Answer{}, fmt.Errorf("read the answer: %w", err)
	}
	a := Answer{Rcode: dns.RcodeToString[m.Rcode], Source: source}
	for _, rr := range m.Answer {
		a.Records = append(a.Records, rr.String())
	}
	return a, nil
}
