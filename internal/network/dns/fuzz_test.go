package dns

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/miekg/dns"
)

// FuzzQuestion has a network answer any bytes. What it says must be a message with the question's id, no longer than
// the client can take.
func FuzzQuestion(f *testing.F) {
	for _, words := range []string{
		"vm1. A", "alias.lab.example. AAAA do", "2.122.168.192.in-addr.arpa. PTR", "_ldap._tcp.lab.example. SRV edns=512",
		"note. TXT", "lab.example. SOA cd", "version.bind. TXT ch", ". NS", "vm1. ANY", "ring1. A",
	} {
		f.Add(pack(f, 1, words))
	}
	s := office(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		sc := new(scratch)
		for _, limit := range []int{0, maxTCP} {
			out := s.handle(t.Context(), sc, msg, limit, func() client {
				t.Error("a network without forwarders forwards")
				return client{send: func([]byte, netip.AddrPort) {}}
			})
			if out == nil {
				continue
			}
			if !bytes.Equal(out[:2], msg[:2]) {
				t.Errorf("the answer has another id: %x", out)
			}
			if limit == 0 && len(out) > maxUDP {
				t.Errorf("%d bytes do not fit into a datagram", len(out))
			}
			if err := new(dns.Msg).Unpack(out); err != nil {
				t.Errorf("the answer is not well formed: %v\n%x", err, out)
			}
		}
	})
}

// FuzzReply has a forwarder answer any bytes. What is passed on must be a message that can be read, in which every name
// ends, with the question that was asked.
func FuzzReply(f *testing.F) {
	f.Add(replyTo(f, "0001 0000 0000", recordA))
	f.Add(replyTo(f, "0001 0001 0001", "c00c 0005 0001 00000078 0004 0162 c00e"+recordSOA+"00 0029 04d0 00008000 0000"))
	f.Add(replyTo(f, "0002 0000 0000", "'b.example' 0001 0001 0000003c 0004 c0000201 c00c 0005 0001 0000000a 0004 0162 c00e"))
	f.Add(replyTo(f, "0001 0000 0000", "c00c 0023 0001 0000003c 0009 0001 0001 00 00 00 c02e"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		sent := replyTo(t, "0000 0000 0000", "")
		sent[2], sent[3] = 1, 0
		if same, _ := matches(sent, msg); !same {
			return
		}
		r, err := check(msg, []byte("\x01q\x07example\x00"), dns.TypeA)
		if err != nil {
			return
		}
		if r.ttl > maxCacheTTL || len(r.wire) > len(msg) {
			t.Errorf("%d bytes for %d s", len(r.wire), r.ttl)
		}
		kept := bytes.Clone(r.wire)
		question := []byte("\x01Q\x07eXample\x00\x00\x01\x00\x01")
		for _, q := range []query{{size: dns.MinMsgSize}, {edns: true, do: true, size: maxUDP}} {
			q.question = question
			for _, limit := range []int{q.size, maxTCP} {
				var b builder
				out := b.replay(&q, r.wire, 7, limit)
				if len(out) > limit || !bytes.Equal(out[headerLen:headerLen+len(question)], question) {
					t.Errorf("up to %d bytes: %x", limit, out)
				}
				if !bytes.Equal(r.wire, kept) {
					t.Fatal("what is remembered was changed")
				}
				readAll(t, out)
			}
		}
	})
}

// readAll walks a message like a simple client: it must come to its end.
func readAll(t *testing.T, msg []byte) {
	t.Helper()
	c := &checker{msg: msg, off: headerLen + len("\x01q\x07example\x00") + 4, name: []byte("\x01q\x07example\x00"), typ: dns.TypeA, cut: -1}
	for section := range 3 {
		for i := range int(msg[6+2*section])<<8 | int(msg[7+2*section]) {
			if err := c.record(section, uint16(i)); err != nil {
				t.Fatalf("record %d of section %d: %v\n%x", i, section, err, msg)
			}
		}
	}
	if c.off != len(msg) {
		t.Errorf("%d bytes are left behind the last record", len(msg)-c.off)
	}
}

// FuzzConfig has names of any bytes configured. A configuration that is accepted must be served.
func FuzzConfig(f *testing.F) {
	f.Add("lab.example", "web", "note", "text")
	f.Add("LAB.", "a.b.lab", `\000.x`, "")
	f.Fuzz(func(t *testing.T, domain, host, txt, value string) {
		c := Config{
			Domain: domain, LocalOnly: true, NoResolv: true,
			Hosts: []Host{{IP: netip.AddrFrom4([4]byte{10, 0, 0, 1}), Names: []string{host}}},
			TXT:   []TXT{{Name: txt, Values: []string{value}}},
			SRV:   []SRV{{Service: host, Protocol: "tcp", Target: host}},
		}
		if c.Validate() != nil {
			return
		}
		s := newServer(t, c, nil)
		s.SetLease(netip.AddrFrom4([4]byte{10, 0, 0, 2}), value)
		a, err := s.Lookup(t.Context(), host, "A")
		if err != nil || len(a.Records) != 1 {
			t.Errorf("%q in %q: %v %v", host, domain, a, err)
		}
		if a, err := s.Lookup(t.Context(), "1.0.0.10.in-addr.arpa", "PTR"); err != nil || len(a.Records) != 1 {
			t.Errorf("the reverse of %q in %q: %v %v", host, domain, a, err)
		}
	})
}
