package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/miekg/dns"
)

// closedPort is where nobody answers, and the kernel says so.
func closedPort(t testing.TB) netip.AddrPort {
	t.Helper()
	return netip.AddrPortFrom(addr("127.0.0.1"), 1)
}

func TestAnAnswerIsRememberedAndAges(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, zoneScript(t, "www.far.example. 300 IN CNAME web.far.example.", "web.far.example. 100 IN A 192.0.2.1"))
	clock := new(clock)
	shared := newShared(t, Options{Clock: clock.lease()})
	s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, shared)
	other := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, shared)
	answer := func(name string, a, b int) string {
		return fmt.Sprintf("NOERROR rd ra | %s A\nan %s %d IN CNAME web.far.example.\nan web.far.example. %d IN A 192.0.2.1", name, name, a, b)
	}
	missing := func(ttl int) string {
		return fmt.Sprintf("NXDOMAIN rd ra | no.example. A\nns example. %d IN SOA ns.example. root.example. 1 2 3 4 300", ttl)
	}
	for _, step := range []struct {
		at    int64
		s     *Server
		q     string
		want  string
		asked int64
	}{
		{0, s, "www.far.example. A", answer("www.far.example.", 300, 100), 1},
		{40, s, "WWW.far.EXAMPLE. A", answer("WWW.far.EXAMPLE.", 260, 60), 1},
		{99, s, "www.far.example. A nord", strings.Replace(answer("www.far.example.", 201, 1), " rd", "", 1), 1},
		{99, other, "www.far.example. A", answer("www.far.example.", 300, 100), 2},
		{100, s, "www.far.example. A", answer("www.far.example.", 300, 100), 3},
		{100, s, "no.example. A", missing(600), 4},
		{399, s, "no.example. A", missing(301), 4},
		{400, s, "no.example. A", missing(600), 5},
	} {
		clock.now.Store(step.at)
		if got := ask(t, step.s, step.q); got != step.want {
			t.Errorf("at %d, %s:\n got %s\nwant %s", step.at, step.q, got, step.want)
		}
		if got := up.asked.Load(); got != step.asked {
			t.Errorf("at %d, after %s: asked upstream %d times, want %d", step.at, step.q, got, step.asked)
		}
	}
	if got, want := s.Stats(), (Stats{Queries: 7, Cached: 3, Forwarded: 4, CacheEntries: 2, CacheBytes: got2(s)}); got != want {
		t.Errorf("stats:\n got %+v\nwant %+v", got, want)
	}
	if err := s.SetConfig(Config{Forwarders: []Forwarder{{Addr: closedPort(t)}}}); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, "no.example. A"); !strings.HasPrefix(got, "SERVFAIL") {
		t.Errorf("what another forwarder said is still told: %s", got)
	}
}

func got2(s *Server) int { return s.part.bytes }

func TestSignaturesAndTheBitsAboutThemPassThrough(t *testing.T) {
	t.Parallel()
	const sig = "s.example. 60 IN RRSIG A 13 2 60 20301231000000 20200101000000 4711 example. c2lnbmF0dXJl"
	up := newUpstream(t, func(q *dns.Msg, _ bool) []byte {
		m := new(dns.Msg)
		m.SetReply(q)
		m.Answer = append(m.Answer, rr(t, "s.example. 60 IN A 192.0.2.1"))
		m.AuthenticatedData = !q.CheckingDisabled && q.AuthenticatedData
		if o := q.IsEdns0(); o != nil {
			if len(o.Option) > 0 || o.UDPSize() != maxUDP {
				t.Errorf("asked with %v", o)
			}
			if o.Do() {
				m.Answer = append(m.Answer, rr(t, sig))
			}
			m.SetEdns0(4096, o.Do())
			m.IsEdns0().Option = append(m.IsEdns0().Option, &dns.EDNS0_EDE{InfoCode: 3})
		}
		return packed(t, m)
	})
	s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, nil)
	const a = "\nan s.example. 60 IN A 192.0.2.1"
	const opt = "\nopt version 0 size 1232 do "
	for _, c := range []struct{ q, want string }{
		{"s.example. A", "NOERROR rd ra | s.example. A" + a},
		{"s.example. A ad", "NOERROR rd ra ad | s.example. A" + a},
		{"s.example. A edns=512", "NOERROR rd ra | s.example. A" + a + opt + "false options 0"},
		{"s.example. A do", "NOERROR rd ra ad | s.example. A" + a + "\nan " + sig + opt + "true options 0"},
		{"s.example. A do cd", "NOERROR rd ra cd | s.example. A" + a + "\nan " + sig + opt + "true options 0"},
	} {
		for range 2 { // from upstream, and from memory
			if got := ask(t, s, c.q); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.q, got, c.want)
			}
		}
	}
	if got := up.asked.Load(); got != 3 {
		t.Errorf("asked upstream %d times, want 3: with signatures, without checks, and plainly", got)
	}
}

func TestAServerThatCannotAnswerIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	good := zoneScript(t, "a.example. 60 IN A 192.0.2.1")
	rcode := func(n int) script {
		return func(q *dns.Msg, _ bool) []byte { return packed(t, new(dns.Msg).SetRcode(q, n)) }
	}
	for name, bad := range map[string]script{
		"says nothing": func(*dns.Msg, bool) []byte { return nil },
		"SERVFAIL":     rcode(dns.RcodeServerFailure),
		"REFUSED":      rcode(dns.RcodeRefused),
		"NOTIMP":       rcode(dns.RcodeNotImplemented),
		"BADVERS": func(q *dns.Msg, _ bool) []byte {
			m := new(dns.Msg).SetReply(q)
			m.SetEdns0(1232, false)
			m.Rcode = dns.RcodeBadVers
			return packed(t, m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newUpstream(t, bad), newUpstream(t, good)
			shared := newShared(t, Options{})
			shared.SetUpstreams([]netip.AddrPort{first.addr, second.addr})
			s := newServer(t, Config{}, shared)
			if got, want := ask(t, s, "a.example. A"), "NOERROR rd ra | a.example. A\nan a.example. 60 IN A 192.0.2.1"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	t.Run("nobody is there", func(t *testing.T) {
		t.Parallel()
		second := newUpstream(t, good)
		best := time.Hour // a busy machine makes single ones slow
		for range 20 {
			shared := newShared(t, Options{})
			shared.SetUpstreams([]netip.AddrPort{closedPort(t), second.addr})
			s := newServer(t, Config{}, shared)
			start := time.Now()
			if got := ask(t, s, "a.example. A"); !strings.HasPrefix(got, "NOERROR") {
				t.Errorf("got %s", got)
			}
			if best = min(best, time.Since(start)); best < unknownPatience {
				return
			}
		}
		t.Errorf("the kernel said at once that nobody is there, and it took %s", best)
	})
}

func TestServersThatFailedAreAskedLastForAWhile(t *testing.T) {
	t.Parallel()
	a, b, c := addrPort("192.0.2.1:53"), addrPort("192.0.2.2:53"), addrPort("192.0.2.3:53")
	ts, now := newTimes(), time.Now()
	list := []netip.AddrPort{a, b, c}
	expect := func(at time.Time, want ...netip.AddrPort) {
		t.Helper()
		if got := ts.order(list, at); !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
	}
	ts.failed(a, now)
	expect(now, a, b, c)
	ts.failed(a, now)
	expect(now, b, c, a)
	expect(now.Add(penalty), a, b, c)
	ts.answered(a, 10*time.Millisecond)
	expect(now, a, b, c)
	for _, p := range []struct {
		took, want time.Duration
	}{{0, unknownPatience}, {time.Millisecond, minPatience}, {100 * time.Millisecond, 300 * time.Millisecond}, {time.Minute, maxPatience}} {
		ts := newTimes()
		if p.took > 0 {
			ts.answered(a, p.took)
		}
		if got := ts.patience(a); got != p.want {
			t.Errorf("one that took %s is waited for %s, want %s", p.took, got, p.want)
		}
	}
	for i := range 3 * maxTimes {
		ts.failed(netip.AddrPortFrom(a.Addr(), uint16(i)), now)
	}
	if len(ts.of) > maxTimes {
		t.Errorf("%d servers are remembered", len(ts.of))
	}
}

func otherCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

func TestOldServersAreAskedInWaysThatTheyKnow(t *testing.T) {
	t.Parallel()
	good := zoneScript(t, "a.example. 60 IN A 192.0.2.1")
	for name, c := range map[string]struct {
		script script
		asked  int64
	}{
		"knows no EDNS": {func(q *dns.Msg, tcp bool) []byte {
			if q.IsEdns0() != nil {
				return packed(t, new(dns.Msg).SetRcode(q, dns.RcodeFormatError))
			}
			return good(q, tcp)
		}, 2},
		"knows no EDNS and repeats no question": {func(q *dns.Msg, tcp bool) []byte {
			if q.IsEdns0() != nil {
				m := new(dns.Msg).SetRcode(q, dns.RcodeFormatError)
				m.Question = nil
				return packed(t, m)
			}
			return good(q, tcp)
		}, 2},
		"writes letters otherwise": {func(q *dns.Msg, tcp bool) []byte {
			q.Question[0].Name = strings.Map(otherCase, q.Question[0].Name)
			return good(q, tcp)
		}, 2},
		"writes letters otherwise, and has no TCP": {func(q *dns.Msg, tcp bool) []byte {
			if tcp {
				return []byte{} // the connection ends
			}
			q.Question[0].Name = strings.Map(otherCase, q.Question[0].Name)
			return good(q, tcp)
		}, 3},
		"has a long answer": {func(q *dns.Msg, tcp bool) []byte {
			if !tcp {
				m := new(dns.Msg).SetReply(q)
				m.Truncated = true
				return packed(t, m)
			}
			return good(q, tcp)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t, c.script)
			s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, nil)
			if got, want := ask(t, s, "a.example. A"), "NOERROR rd ra | a.example. A\nan a.example. 60 IN A 192.0.2.1"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if got := up.asked.Load(); got != c.asked {
				t.Errorf("asked %d times, want %d", got, c.asked)
			}
		})
	}
}

func TestTheSameQuestionIsAskedOnce(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	good := zoneScript(t, "a.example. 60 IN A 192.0.2.1")
	up := newUpstream(t, func(q *dns.Msg, tcp bool) []byte {
		<-release
		return good(q, tcp)
	})
	s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, nil)
	const clients = 10
	got := make(chan string, 2*clients)
	sc := new(scratch)
	for i := range clients {
		msg := pack(t, uint16(i), "a.example. A")
		for range 2 { // every client asks again
			out := s.handle(t.Context(), sc, msg, 0, func() client {
				return client{
					from: netip.AddrPortFrom(addr("10.0.0.1"), uint16(1000+i)),
					send: func(msg []byte, _ netip.AddrPort) { got <- tell(t, msg) },
				}
			})
			if out != nil {
				t.Fatalf("answered at once: %s", tell(t, out))
			}
		}
	}
	close(release)
	for range clients {
		if a := <-got; a != "NOERROR rd ra | a.example. A\nan a.example. 60 IN A 192.0.2.1" {
			t.Errorf("got %s", a)
		}
	}
	s.Close()
	if len(got) != 0 {
		t.Errorf("%d repetitions were answered", len(got))
	}
	if st := s.Stats(); st.Forwarded != 1 || st.Joined != clients-1 {
		t.Errorf("stats %+v", st)
	}
	if up.asked.Load() != 1 {
		t.Errorf("asked upstream %d times", up.asked.Load())
	}
}

func TestWithNobodyToAskTheAnswerIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, zoneScript(t, "a.example. 60 IN A 192.0.2.1"))
	shared := newShared(t, Options{})
	s := newServer(t, Config{Addresses: []netip.Addr{addr("10.0.0.1")}}, shared)
	const refused, good = "REFUSED rd ra | a.example. A", "NOERROR rd ra | a.example. A\nan a.example. 60 IN A 192.0.2.1"
	ours := []netip.Addr{up.addr.Addr()}
	steps := []struct {
		do   func()
		want string
	}{
		{func() {}, refused},
		{func() { shared.SetUpstreams([]netip.AddrPort{up.addr}) }, good},
		{func() { shared.SetUpstreams(nil) }, refused},
		{func() { shared.SetUpstreams([]netip.AddrPort{addrPort("10.0.0.1:53")}) }, refused},
		{func() { shared.SetUpstreams([]netip.AddrPort{addrPort("[::ffff:10.0.0.1]:5353"), up.addr}) }, good},
		{func() { shared.ChangeOwn(nil, ours) }, good}, // remembered
		{func() { shared.SetUpstreams([]netip.AddrPort{up.addr}) }, refused},
		{func() { shared.ChangeOwn(nil, ours) }, refused},
		{func() { shared.ChangeOwn(ours, nil) }, refused}, // another network has it
		{func() { shared.ChangeOwn(ours, nil) }, good},
	}
	for i, step := range steps {
		step.do()
		if got := ask(t, s, "a.example. A"); got != step.want {
			t.Errorf("step %d: got %s, want %s", i, got, step.want)
		}
	}
}

func TestLookupTellsWhereAnAnswerIsFrom(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, zoneScript(t, "a.example. 60 IN A 192.0.2.1"))
	s := newServer(t, Config{Domain: "lab", Forwarders: []Forwarder{{Addr: up.addr}}}, nil)
	s.SetLease(addr("10.0.0.5"), "vm")
	for _, c := range []struct{ name, typ, want string }{
		{"vm.lab", "", "{NOERROR [vm.lab.\t0\tIN\tA\t10.0.0.5] network} <nil>"},
		{"a.example", "a", "{NOERROR [a.example.\t60\tIN\tA\t192.0.2.1] " + up.addr.String() + "} <nil>"},
		{"a.example.", "A", "{NOERROR [a.example.\t60\tIN\tA\t192.0.2.1] cache} <nil>"},
		{"b.example.", "A", "{NXDOMAIN [] " + up.addr.String() + "} <nil>"},
		{"a.example.", "XYZ", `{ [] } look up a.example.: "XYZ" is no type of a record, such as A, AAAA or SRV`},
		{"a..example.", "A", `{ [] } look up a name: "a..example." is not a domain name`},
	} {
		a, err := s.Lookup(t.Context(), c.name, c.typ)
		if got := fmt.Sprint(a, " ", err); got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.name, c.typ, got, c.want)
		}
	}
}

func TestAChangeIsNotAnsweredByWhomItTookAway(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	old := newUpstream(t, func(q *dns.Msg, tcp bool) []byte {
		<-release
		return zoneScript(t, "a.example. 60 IN A 198.51.100.1")(q, tcp)
	})
	fresh := newUpstream(t, zoneScript(t, "a.example. 60 IN A 192.0.2.1"))
	shared := newShared(t, Options{})
	s := newServer(t, Config{}, shared)
	shared.SetUpstreams([]netip.AddrPort{old.addr})
	before := make(chan Answer, 1)
	if out := s.handle(t.Context(), new(scratch), pack(t, 1, "a.example. A"), 0, func() client {
		return client{send: func(msg []byte, from netip.AddrPort) { before <- Answer{Rcode: tell(t, msg), Source: from.String()} }}
	}); out != nil {
		t.Fatalf("answered at once: %s", tell(t, out))
	}
	shared.SetUpstreams([]netip.AddrPort{fresh.addr})
	const want = "NOERROR rd ra | a.example. A\nan a.example. 60 IN A 192.0.2.1"
	if got := ask(t, s, "a.example. A"); got != want {
		t.Errorf("while the old one is silent: %s", got)
	}
	close(release)
	if a := <-before; a.Source != old.addr.String() || !strings.HasSuffix(a.Rcode, " 198.51.100.1") {
		t.Errorf("who asked before the change was told %v", a)
	}
	if got := ask(t, s, "a.example. A"); got != want {
		t.Errorf("after the old one spoke: %s", got)
	}
}
