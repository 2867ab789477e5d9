package dns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
)

// The lies that a forwarder tells about a.example. The question comes from honest clients; a second forwarder is
// honest.
func lies(t testing.TB) map[string]script {
	reply := func(change func(m *dns.Msg)) script {
		return func(q *dns.Msg, _ bool) []byte {
			m := new(dns.Msg).SetReply(q)
			m.Answer = append(m.Answer, rr(t, "a.example. 60 IN A 198.51.100.66"))
			change(m)
			return packed(t, m)
		}
	}
	return map[string]script{
		"another id":       reply(func(m *dns.Msg) { m.Id++ }),
		"a question":       reply(func(m *dns.Msg) { m.Response = false }),
		"another question": reply(func(m *dns.Msg) { m.Question[0].Name = "b.example." }),
		"another type":     reply(func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAAAA }),
		"another class":    reply(func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }),
		"no question":      reply(func(m *dns.Msg) { m.Question = nil }),
		"two questions":    reply(func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }),
		"another's answer": reply(func(m *dns.Msg) { m.Answer = []dns.RR{rr(t, "b.example. 60 IN A 198.51.100.66")} }),
		"a loop in a name": func(q *dns.Msg, _ bool) []byte {
			b := packed(t, new(dns.Msg).SetReply(q))
			b[7] = 1
			return append(b, 0xc0, byte(len(b)), 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 51, 100, 66)
		},
		"half a header": func(q *dns.Msg, _ bool) []byte { return packed(t, new(dns.Msg).SetReply(q))[:7] },
		"nothing":       func(*dns.Msg, bool) []byte { return []byte{} },
		"64 KB": func(q *dns.Msg, _ bool) []byte {
			return append(packed(t, new(dns.Msg).SetReply(q)), make([]byte, 60000)...)
		},
		"nothing over TCP": func(q *dns.Msg, tcp bool) []byte {
			if tcp {
				return nil
			}
			m := new(dns.Msg).SetReply(q)
			m.Truncated = true
			return packed(t, m)
		},
		"too long over TCP too": reply(func(m *dns.Msg) { m.Truncated = true }),
	}
}

func TestALyingForwarderIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, lie := range lies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			liar, honest := newUpstream(t, lie), newUpstream(t, zoneScript(t, "a.example. 60 IN A 192.0.2.1"))
			s := newServer(t, Config{Forwarders: []Forwarder{{Addr: liar.addr}, {Addr: honest.addr}}}, nil)
			if got, want := ask(t, s, "a.example. A"), "NOERROR rd ra | a.example. A\nan a.example. 60 IN A 192.0.2.1"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if n := s.Stats().CacheEntries; n != 1 {
				t.Errorf("%d answers are remembered, want the honest one", n)
			}
		})
	}
}

func TestWhatAForwarderAddsIsNoAnswerToAnotherQuestion(t *testing.T) {
	t.Parallel()
	honest := zoneScript(t, "bank.example. 60 IN A 192.0.2.1")
	up := newUpstream(t, func(q *dns.Msg, tcp bool) []byte {
		if !strings.EqualFold(q.Question[0].Name, "a.example.") {
			return honest(q, tcp)
		}
		m := new(dns.Msg).SetReply(q)
		m.Answer = append(m.Answer, rr(t, "a.example. 60 IN A 192.0.2.2"))
		m.Ns = append(m.Ns, rr(t, "example. 60 IN NS bank.example."))
		m.Extra = append(m.Extra, rr(t, "bank.example. 60 IN A 198.51.100.66"))
		return packed(t, m)
	})
	s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, nil)
	ask(t, s, "a.example. A")
	if got, want := ask(t, s, "bank.example. A"), "NOERROR rd ra | bank.example. A\nan bank.example. 60 IN A 192.0.2.1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTheLongestAnswerReachesWhoCanTakeIt has a forwarder fill what TCP can carry.
func TestTheLongestAnswerReachesWhoCanTakeIt(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(q *dns.Msg, tcp bool) []byte {
		m := new(dns.Msg).SetReply(q)
		if !tcp {
			m.Truncated = true
			return packed(t, m)
		}
		b := packed(t, m)
		rest := maxTCP - len(b) - 12
		b[7] = 1
		b = append(b, 0xc0, 12, 0, byte(dns.TypeNULL), 0, 1, 0, 0, 0, 60, byte(rest>>8), byte(rest))
		return append(b, make([]byte, rest)...)
	})
	shared := newShared(t, Options{})
	s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, shared)
	if got := ask(t, s, "a.example. NULL"); got != "NOERROR tc rd ra | a.example. NULL" {
		t.Errorf("over UDP: %s", got)
	}
	if out := askRaw(t, s, pack(t, 1, "a.example. NULL"), maxTCP); len(out) != maxTCP {
		t.Errorf("over TCP: %d bytes", len(out))
	}
	// With EDNS our own OPT record has no room behind it.
	if got := tell(t, askRaw(t, s, pack(t, 1, "a.example. NULL edns=1232"), maxTCP)); !strings.HasPrefix(got, "NOERROR tc rd ra") {
		t.Errorf("over TCP with EDNS: %s", got)
	}
	if up.asked.Load() != 2 {
		t.Errorf("asked %d times, want once over UDP and once over TCP", up.asked.Load())
	}
	sc := shared.getScratch()
	sc.b.out = make([]byte, maxTCP)
	shared.putScratch(sc)
	if sc.b.out != nil {
		t.Error("room for the longest answer is kept for the next question")
	}
	if got := shared.cache.used; got > shared.limits.CacheBytes/4+entryCost {
		t.Errorf("%d bytes are remembered", got)
	}
}

// deadDialer takes questions and never answers. It counts what is open.
type deadDialer struct {
	mu         sync.Mutex
	open, most int
	serving    sync.WaitGroup
	trickle    bool // over TCP, a byte a second
}

type deadConn struct {
	net.Conn
	d *deadDialer
}

func (d *deadDialer) dial(serve func(net.Conn)) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open++
	d.most = max(d.most, d.open)
	ours, theirs := net.Pipe()
	d.serving.Go(func() { serve(theirs) })
	return deadConn{ours, d}, nil
}

func (c deadConn) Close() error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.open--
	return c.Conn.Close()
}

func (d *deadDialer) DialUDP(context.Context, netip.AddrPort) (net.Conn, error) {
	return d.dial(func(c net.Conn) {
		defer c.Close()
		buf := make([]byte, receiveLen)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if d.trickle { // come over TCP
				buf[2] |= 0x82
				_, _ = c.Write(buf[:n])
			}
		}
	})
}

func (d *deadDialer) DialTCP(context.Context, netip.AddrPort) (net.Conn, error) {
	return d.dial(func(c net.Conn) {
		defer c.Close()
		buf := make([]byte, receiveLen)
		if _, err := c.Read(buf); err != nil {
			return
		}
		for out := []byte{0xff, 0xff, 0}; ; out = []byte{0} { // the length of the longest message, and then slowly
			if _, err := c.Write(out); err != nil {
				return
			}
			<-time.After(time.Second)
		}
	})
}

// TestANetworkThatFloodsADeadForwarderHarmsNoOther runs on a clock that moves when everybody waits.
func TestANetworkThatFloodsADeadForwarderHarmsNoOther(t *testing.T) {
	for _, trickle := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &deadDialer{trickle: trickle}
			shared := newShared(t, Options{Dialer: d})
			shared.SetUpstreams([]netip.AddrPort{addrPort("192.0.2.1:53")})
			greedy, modest := newServer(t, Config{}, shared), newServer(t, Config{}, shared)
			modest.SetLease(addr("10.0.0.1"), "vm")
			var mu sync.Mutex
			codes := map[string]int{}
			note := func(msg []byte) {
				mu.Lock()
				defer mu.Unlock()
				codes[strings.Fields(tell(t, msg))[0]]++
			}
			sc := new(scratch)
			flood := func(s *Server, n int) {
				for i := range n {
					out := s.handle(t.Context(), sc, pack(t, uint16(i), fmt.Sprintf("n%d.example. A", i)), 0, func() client {
						return client{send: func(msg []byte, _ netip.AddrPort) { note(msg) }}
					})
					if out != nil {
						note(out)
					}
				}
			}
			start := time.Now()
			flood(greedy, 5000)
			if st := greedy.Stats(); st.Asking != shared.limits.Queries.Each || st.Refused != 5000-uint64(st.Asking) {
				t.Errorf("the greedy network: %+v", st)
			}
			if got, want := ask(t, modest, "vm. A"), "NOERROR aa rd ra | vm. A\nan vm. 0 IN A 10.0.0.1"; got != want {
				t.Errorf("the other network: %s", got)
			}
			flood(modest, 3)
			if st := modest.Stats(); st.Asking != 3 {
				t.Errorf("the other network asks upstream no more: %+v", st)
			}
			greedy.flights.running.Wait()
			modest.flights.running.Wait()
			if took := time.Since(start); took > shared.limits.Total+time.Second {
				t.Errorf("the last was told after %s", took)
			}
			if codes["SERVFAIL"] != 5003 {
				t.Errorf("answers: %v", codes)
			}
			if d.open != 0 || d.most > (shared.limits.Queries.Each+3)*(maxOpen+1) {
				t.Errorf("%d connections are open, there were %d", d.open, d.most)
			}
			d.serving.Wait()
			// The failures are remembered: who asks again is told at once.
			if n := greedy.Stats().CacheEntries; n != shared.limits.Queries.Each {
				t.Errorf("%d failures are remembered", n)
			}
		})
	}
}

func TestClosingANetworkEndsItsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadDialer{}
		shared := newShared(t, Options{Dialer: d})
		shared.SetUpstreams([]netip.AddrPort{addrPort("192.0.2.1:53")})
		s, err := New(Config{}, shared)
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan Answer)
		go func() {
			a, _ := s.Lookup(t.Context(), "a.example", "A")
			told <- a
		}()
		synctest.Wait()
		start := time.Now()
		s.Close()
		if a := <-told; a.Rcode != "SERVFAIL" || time.Since(start) > time.Millisecond {
			t.Errorf("got %v after %s", a, time.Since(start))
		}
		if a, err := s.Lookup(t.Context(), "b.example", "A"); err != nil || a.Rcode != "SERVFAIL" {
			t.Errorf("a closed server asks: %v %v", a, err)
		}
		d.serving.Wait()
	})
}

// TestMemoryIsBoundedWhateverForwardersAnswer asks for far more than the cache may hold, of long answers.
func TestMemoryIsBoundedWhateverForwardersAnswer(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(q *dns.Msg, _ bool) []byte {
		m := new(dns.Msg).SetReply(q)
		b := packed(t, m)
		b[7] = 1
		b = append(b, 0xc0, 12, 0, byte(dns.TypeNULL), 0, 1, 0, 1, 0, 0, 4, 0)
		return append(b, make([]byte, 1024)...)
	})
	shared := newShared(t, Options{Limits: Limits{CacheBytes: 256 << 10}})
	a := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, shared)
	b := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, shared)
	ask(t, b, "mine.example. NULL")
	for i := range 1500 {
		ask(t, a, fmt.Sprintf("n%d.example. NULL", i))
	}
	asked := up.asked.Load()
	ask(t, b, "mine.example. NULL")
	if up.asked.Load() != asked {
		t.Error("what another network remembered was pushed out")
	}
	var held int
	for p := range shared.cache.parts {
		for _, e := range p.entries {
			held += cap(e.wire) + len(e.key)
		}
	}
	if held > shared.limits.CacheBytes || shared.cache.used > shared.limits.CacheBytes {
		t.Errorf("%d bytes are held and %d counted, of %d", held, shared.cache.used, shared.limits.CacheBytes)
	}
	runtime.KeepAlive(shared)
}

// TestAFloodOnOneNetworkLeavesTheOtherItsAnswers is on real sockets, with questions for a forwarder that is not there,
// connections that say nothing, and junk.
func TestAFloodOnOneNetworkLeavesTheOtherItsAnswers(t *testing.T) {
	t.Parallel()
	dead := newUpstream(t, func(*dns.Msg, bool) []byte { return nil })
	good := newUpstream(t, zoneScript(t, "a.example. 60 IN A 192.0.2.1"))
	shared := newShared(t, Options{Limits: Limits{Total: time.Second}})
	flooded := newServer(t, Config{Forwarders: []Forwarder{{Addr: dead.addr}}}, shared)
	calm := newServer(t, Config{Forwarders: []Forwarder{{Addr: good.addr}}}, shared)
	calm.SetLease(addr("10.0.0.1"), "vm")
	target, at := serve(t, flooded, "127.0.0.1")[0], serve(t, calm, "127.0.0.1")[0]
	stop := make(chan struct{})
	var flood sync.WaitGroup
	defer flood.Wait()
	defer close(stop)
	for range 2 * shared.limits.PerClient {
		dial(t, "tcp", target)
	}
	for i := range 2 {
		c := dial(t, "udp", target)
		flood.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_, _ = c.Write(pack(t, uint16(n), fmt.Sprintf("n%d.%d.example. A", n, i)))
				_, _ = c.Write([]byte("junk that is longer than a header"))
			}
		})
	}
	c := dial(t, "udp", at)
	buf := make([]byte, 512)
	for i := range 300 {
		words, want := "vm. A", vmA
		if i%2 == 1 {
			words, want = "a.example. A", "NOERROR rd ra | a.example. A\nan a.example. 60 IN A 192.0.2.1"
		}
		if _, err := c.Write(pack(t, uint16(i), words)); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(buf)
		if err != nil {
			t.Fatalf("question %d: %v", i, err)
		}
		if got := tell(t, buf[:n]); got != want {
			t.Fatalf("question %d: %s", i, got)
		}
	}
	if st := flooded.Stats(); st.Asking > shared.limits.Queries.Each || st.Refused == 0 {
		t.Errorf("the flooded network: %+v", st)
	}
}
