package dns

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"taproom/internal/network/lease"
)

// clock is a machine's that a test sets.
type clock struct{ now atomic.Int64 }

func (c *clock) lease() lease.Clock {
	return lease.Clock{Steady: c.now.Load}
}

// newShared has short times, so that tests wait for little.
func newShared(t testing.TB, o Options) *Shared {
	t.Helper()
	if o.Clock.Steady == nil {
		o.Clock = new(clock).lease()
	}
	return NewShared(o)
}

func newServer(t testing.TB, c Config, s *Shared) *Server {
	t.Helper()
	if s == nil {
		s = newShared(t, Options{})
	}
	srv, err := New(c, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func addr(s string) netip.Addr         { return netip.MustParseAddr(s) }
func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// pack writes a question from words: the name, the type, and any of do, cd, ad, nord, edns=SIZE.
func pack(t testing.TB, id uint16, words string) []byte {
	t.Helper()
	f := strings.Fields(words)
	m := new(dns.Msg)
	m.SetQuestion(f[0], dns.StringToType[f[1]])
	m.Id = id
	for _, w := range f[2:] {
		size := 0
		switch w {
		case "do":
			m.SetEdns0(maxUDP, true)
		case "cd":
			m.CheckingDisabled = true
		case "ad":
			m.AuthenticatedData = true
		case "nord":
			m.RecursionDesired = false
		case "ch":
			m.Question[0].Qclass = dns.ClassCHAOS
		default:
			if _, err := fmt.Sscanf(w, "edns=%d", &size); err != nil {
				t.Fatalf("what does %q mean in a question?", w)
			}
			m.SetEdns0(uint16(size), false)
		}
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tell is a whole message as text: its code and flags, the question, and every record.
func tell(t testing.TB, msg []byte) string {
	t.Helper()
	if msg == nil {
		return "nothing"
	}
	m := new(dns.Msg)
	if err := m.Unpack(msg); err != nil {
		t.Fatalf("the answer is not well formed: %v\n%x", err, msg)
	}
	var b strings.Builder
	b.WriteString(dns.RcodeToString[m.Rcode])
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"aa", m.Authoritative},
		{"tc", m.Truncated},
		{"rd", m.RecursionDesired},
		{"ra", m.RecursionAvailable},
		{"ad", m.AuthenticatedData},
		{"cd", m.CheckingDisabled},
	} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	for _, q := range m.Question {
		fmt.Fprintf(&b, " | %s %s", q.Name, dns.TypeToString[q.Qtype])
	}
	for i, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
		for _, rr := range section {
			if o, ok := rr.(*dns.OPT); ok {
				fmt.Fprintf(&b, "\nopt version %d size %d do %v options %d", o.Version(), o.UDPSize(), o.Do(), len(o.Option))
				continue
			}
			fmt.Fprintf(&b, "\n%s %s", [...]string{"an", "ns", "ar"}[i], strings.ReplaceAll(rr.String(), "\t", " "))
		}
	}
	return b.String()
}

// ask has a server answer, from upstream if need be, as over UDP.
func ask(t testing.TB, s *Server, words string) string {
	t.Helper()
	return tell(t, askRaw(t, s, pack(t, 4711, words), 0))
}

func askRaw(t testing.TB, s *Server, msg []byte, limit int) []byte {
	t.Helper()
	answered := make(chan []byte, 1)
	sc := new(scratch)
	later := false
	out := s.handle(t.Context(), sc, msg, limit, func() client {
		later = true
		return client{send: func(msg []byte, _ netip.AddrPort) { answered <- append([]byte(nil), msg...) }}
	})
	if out != nil || !later {
		return append([]byte(nil), out...)
	}
	select {
	case out = <-answered:
	case <-time.After(60 * time.Second):
		t.Fatal("no answer in 20 s")
	}
	return out
}

// upstream is a server that a test scripts, on the same port over UDP and TCP.
type upstream struct {
	addr  netip.AddrPort
	asked atomic.Int64
}

// script returns what is sent back: nil is nothing.
type script func(q *dns.Msg, tcp bool) []byte

func newUpstream(t testing.TB, answer script) *upstream {
	t.Helper()
	var c net.PacketConn
	var l net.Listener
	for range 20 { // the port that UDP was given may be taken on TCP
		var err error
		if c, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if l, err = net.Listen("tcp", c.LocalAddr().String()); err == nil {
			break
		}
		c.Close()
	}
	if l == nil {
		t.Fatal("no port is free on both UDP and TCP")
	}
	u := &upstream{addr: c.LocalAddr().(*net.UDPAddr).AddrPort()}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		buf := make([]byte, maxTCP)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if out := u.hear(t, buf[:n], false, answer); out != nil {
				_, _ = c.WriteTo(out, from)
			}
		}
	})
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				var head [2]byte
				if _, err := io.ReadFull(conn, head[:]); err != nil {
					return
				}
				buf := make([]byte, int(head[0])<<8|int(head[1]))
				if _, err := io.ReadFull(conn, buf); err != nil {
					return
				}
				out := u.hear(t, buf, true, answer)
				if out == nil {
					<-ctx.Done()
					return
				}
				_, _ = conn.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...))
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		c.Close()
		l.Close()
		all.Wait()
	})
	return u
}

func (u *upstream) hear(t testing.TB, msg []byte, tcp bool, answer script) []byte {
	m := new(dns.Msg)
	if err := m.Unpack(msg); err != nil {
		t.Errorf("what was asked upstream is not well formed: %v", err)
		return nil
	}
	u.asked.Add(1)
	return answer(m, tcp)
}

// zoneScript answers like an honest resolver from lines of a zone file: names that have no line are not there.
func zoneScript(t testing.TB, lines ...string) script {
	t.Helper()
	var all []dns.RR
	for _, l := range lines {
		all = append(all, rr(t, l))
	}
	return func(q *dns.Msg, _ bool) []byte {
		m := new(dns.Msg)
		m.SetReply(q)
		m.RecursionAvailable = true
		name := strings.ToLower(q.Question[0].Name)
		exists := false
		for _, r := range all {
			if strings.ToLower(r.Header().Name) != name {
				continue
			}
			exists = true
			if typ := r.Header().Rrtype; typ == q.Question[0].Qtype || typ == dns.TypeCNAME {
				r = dns.Copy(r)
				if len(m.Answer) == 0 {
					r.Header().Name = q.Question[0].Name
				}
				m.Answer = append(m.Answer, r)
				if typ == dns.TypeCNAME {
					name = strings.ToLower(r.(*dns.CNAME).Target)
				}
			}
		}
		if !exists {
			m.Rcode = dns.RcodeNameError
		}
		if len(m.Answer) == 0 {
			m.Ns = append(m.Ns, rr(t, "example. 600 IN SOA ns.example. root.example. 1 2 3 4 300"))
		}
		return packed(t, m)
	}
}

func rr(t testing.TB, line string) dns.RR {
	t.Helper()
	r, err := dns.NewRR(line)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func packed(t testing.TB, m *dns.Msg) []byte {
	t.Helper()
	m.Compress = true
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
