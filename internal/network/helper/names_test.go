package helper_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	tdns "taproom/internal/network/dns"
)

// dial opens a socket of the guest.
func (g *guest) dial(proto, at string) net.Conn {
	g.s.t.Helper()
	var c net.Conn
	var err error
	ctx, cancel := context.WithTimeout(g.s.ctx, 60*time.Second)
	defer cancel()
	g.ns.Do(func() { c, err = new(net.Dialer).DialContext(ctx, proto, at) })
	if err != nil {
		g.s.t.Fatalf("connect to %s: %v", at, err)
	}
	return c
}

// query asks for a name's IPv4 address as a guest's resolver does and returns it, or what came instead.
func (g *guest) query(proto, at, name string) string {
	g.s.t.Helper()
	c := g.dial(proto, net.JoinHostPort(at, "53"))
	defer c.Close()
	q := new(dns.Msg).SetQuestion(name, dns.TypeA)
	q.SetEdns0(1232, false)
	conn := &dns.Conn{Conn: c}
	for {
		if err := conn.SetDeadline(time.Now().Add(again)); err != nil {
			g.s.t.Fatal(err)
		}
		err := conn.WriteMsg(q)
		var m *dns.Msg
		if err == nil {
			m, err = conn.ReadMsg()
		}
		var late net.Error
		switch {
		case errors.As(err, &late) && late.Timeout() && g.s.ctx.Err() == nil && proto == "udp":
			continue
		case err != nil:
			return err.Error()
		case m.Rcode != dns.RcodeSuccess || len(m.Answer) == 0:
			return dns.RcodeToString[m.Rcode]
		}
		if a, ok := m.Answer[len(m.Answer)-1].(*dns.A); ok {
			return a.A.String()
		}
		return m.Answer[0].String()
	}
}

// forwarder is a name server on the host that answers over both protocols as a test says; nil is no answer.
func (s *site) forwarder(at string, answer func(q *dns.Msg, tcp bool) []byte) netip.AddrPort {
	s.t.Helper()
	var udp net.PacketConn
	var tcp net.Listener
	var uerr, terr error
	s.host.Do(func() {
		udp, uerr = net.ListenPacket("udp4", at)
		tcp, terr = net.Listen("tcp4", at)
	})
	if err := errors.Join(uerr, terr); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		b := make([]byte, 4096)
		for {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			q := new(dns.Msg)
			if q.Unpack(b[:n]) == nil {
				if r := answer(q, false); r != nil {
					_, _ = udp.WriteTo(r, from) // who asked may be gone
				}
			}
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			answerStream(c, answer)
		}
	}()
	s.t.Cleanup(func() {
		udp.Close()
		tcp.Close()
		<-done
		<-done
	})
	return netip.MustParseAddrPort(at)
}

// answerStream answers what comes on a connection, one connection at a time.
func answerStream(c net.Conn, answer func(q *dns.Msg, tcp bool) []byte) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(60*time.Second)) != nil {
		return
	}
	length := make([]byte, 2)
	for {
		if _, err := io.ReadFull(c, length); err != nil {
			return
		}
		b := make([]byte, int(length[0])<<8|int(length[1]))
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		q := new(dns.Msg)
		if q.Unpack(b) != nil {
			return
		}
		r := answer(q, true)
		if r == nil {
			return
		}
		if _, err := c.Write(append([]byte{byte(len(r) >> 8), byte(len(r))}, r...)); err != nil {
			return
		}
	}
}

// packed is a message for the wire.
func packed(m *dns.Msg) []byte {
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

// a is an answer with an address.
func a(q *dns.Msg, ip string) *dns.Msg {
	m := new(dns.Msg).SetReply(q)
	m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.ParseIP(ip)}}
	return m
}

// cname is another name.
func cname(alias, target string) tdns.CNAME { return tdns.CNAME{Alias: alias, Target: target} }

// reverse is the name under which an address has its name.
func reverse(ip string) string {
	name, err := dns.ReverseAddr(ip)
	if err != nil {
		panic(err)
	}
	return name
}
