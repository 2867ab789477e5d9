package helper_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"taproom/internal/host/hosttest"
	tdns "taproom/internal/network/dns"
	"taproom/internal/network/helper"
)

// loops are questions whose names lead into themselves, or nowhere.
func loops() [][]byte {
	header := []byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	var all [][]byte
	for _, name := range [][]byte{
		{0xc0, 12},                // itself
		{0xc0, 14, 0xc0, 12},      // one another
		{1, 'a', 0xc0, 12},        // a name without end
		{0xc0, 200}, {0xff, 0xff}, // beyond the message
		{0xc0}, {63}, {0x40, 'a'}, {0x80}, // cut short, and kinds of labels that there are not
		bytes.Repeat([]byte{1, 'a'}, 200),  // too long
		bytes.Repeat([]byte{0xc0, 12}, 90), // many of them
	} {
		m := append(bytes.Clone(header), name...)
		all = append(all, m, append(m[:len(m):len(m)], 0, 1, 0, 1))
	}
	lies := append(bytes.Clone(header), 1, 'a', 0, 0, 1, 0, 1)
	binary.BigEndian.PutUint16(lies[4:], 0xffff) // questions
	all = append(all, lies, header[:5], nil)
	opt := append(bytes.Clone(header), 1, 'a', 0, 0, 1, 0, 1, 0, 0, 41, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff) // an option longer than all
	opt[11] = 1
	return append(all, opt)
}

func TestNamesThatLoopAreOnlyRefused(t *testing.T) {
	t.Parallel()
	n := wide()
	s := besiege(t, n)
	udp := s.victim.dial("udp", "10.9.0.1:53")
	defer udp.Close()
	s.under(func() {
		for range 200 {
			for _, m := range loops() {
				_, _ = udp.Write(m)
			}
		}
		for _, m := range loops() {
			c := s.victim.dial("tcp", "10.9.0.1:53")
			_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...))
			c.Close()
		}
	})
	for _, proto := range []string{"udp", "tcp"} {
		if got := s.victim.query(proto, "10.9.0.1", "files.nine.test."); got != "10.9.0.200" {
			t.Errorf("over %s the attacked network says %q", proto, got)
		}
	}
	s.survived(n.UUID)
}

func TestConnectionsThatStallAreBoundedAndTakeNobodysPlace(t *testing.T) {
	t.Parallel()
	n := wide()
	s := besiege(t, n)
	var mu sync.Mutex
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	s.under(func() {
		for i := range 300 {
			from := net.TCPAddr{IP: net.IPv4(10, 9, 0, byte(100+i%50))}
			if i < 50 {
				s.victim.ns.Run("ip", "addr", "add", from.IP.String()+"/24", "dev", "eth0")
			}
			var c net.Conn
			var err error
			s.victim.ns.Do(func() {
				c, err = (&net.Dialer{LocalAddr: &from, Timeout: 200 * time.Millisecond}).DialContext(s.ctx, "tcp", "10.9.0.1:53")
			})
			if err != nil {
				continue // no room is an answer too
			}
			if i%2 == 0 {
				_, _ = c.Write([]byte{0, 40, 1}) // half a question
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			// The name is asked over TCP beside them.
			if got := s.quiet.query("tcp", "10.10.0.1", "quiet.ten.test."); got != "10.10.0.7" {
				t.Errorf("beside %d connections that stall, the quiet network says %q", len(open), got)
			}
		}
	})
	if got := s.victim.query("udp", "10.9.0.1", "files.nine.test."); got != "10.9.0.200" {
		t.Errorf("the attacked network says %q over UDP", got)
	}
	if len(open) < 200 {
		t.Errorf("only %d connections were made", len(open))
	}
	s.survived(n.UUID)
}

// dark is a network whose domains are asked of forwarders that do as their names say.
func dark(s func(at string, answer func(*dns.Msg, bool) []byte) netip.AddrPort, of map[string]func(*dns.Msg, bool) []byte) helper.Network {
	n := wide()
	for i, domain := range []string{"silent.example", "liar.example", "huge.example", "honest.example"} {
		if answer := of[domain]; answer != nil {
			at := s(fmt.Sprintf("127.0.0.%d:53", 10+i), answer)
			n.DNS.Forwarders = append(n.DNS.Forwarders, tdns.Forwarder{Domain: domain, Addr: at})
		}
	}
	return n
}

func honest(q *dns.Msg, _ bool) []byte { return packed(a(q, "192.0.2.1")) }

// ask sends a question and waits for no answer.
func ask(c net.Conn, id int, name string) {
	q := new(dns.Msg).SetQuestion(name, dns.TypeA)
	q.Id = uint16(id)
	_, _ = c.Write(packed(q))
}

func TestAForwarderThatNeverAnswersHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	s := besiege(t, wide())
	n := dark(s.forwarder, map[string]func(*dns.Msg, bool) []byte{
		"silent.example": func(*dns.Msg, bool) []byte { return nil }, "honest.example": honest,
	})
	s.set(n, s.index)
	c := s.victim.dial("udp", "10.9.0.1:53")
	defer c.Close()
	s.under(func() {
		for i := range 2000 {
			ask(c, i, fmt.Sprintf("n%d.silent.example.", i))
			if i%500 > 0 {
				continue
			}
			if got := s.victim.query("udp", "10.9.0.1", "files.nine.test."); got != "10.9.0.200" {
				t.Errorf("a name of the network itself is at %q", got)
			}
		}
	})
	s.forwards()
	s.survived(n.UUID)
}

// forwards waits until the attacked network has room again to ask a forwarder that answers, and believes it.
func (s *siege) forwards() {
	s.t.Helper()
	got := ""
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for i := 0; got != "192.0.2.1" && s.ctx.Err() == nil; i++ {
		got = s.victim.query("udp", "10.9.0.1", fmt.Sprintf("n%d.honest.example.", i))
		<-pace.C
	}
	if got != "192.0.2.1" {
		s.t.Errorf("a name that another forwarder knows is at %q", got)
	}
}

func TestALyingForwarderIsNotBelievedByTheProcess(t *testing.T) {
	t.Parallel()
	s := besiege(t, wide())
	var mu sync.Mutex
	count := 0
	n := dark(s.forwarder, map[string]func(*dns.Msg, bool) []byte{"liar.example": func(q *dns.Msg, _ bool) []byte {
		mu.Lock()
		count++
		lie := count
		mu.Unlock()
		m := a(q, "198.51.100.66")
		m.Extra = append(m.Extra, a(new(dns.Msg).SetQuestion("files.nine.test.", dns.TypeA), "198.51.100.66").Answer...)
		switch b := packed(m); lie % 6 {
		case 0:
			m.Id++
		case 1:
			m.Question[0].Name = "other.example."
		case 2:
			return b[:len(b)/2]
		case 3:
			b = packed(new(dns.Msg).SetReply(q))
			b[7] = 1
			return append(b, 0xc0, byte(len(b)), 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 51, 100, 66)
		case 4:
			m.Response = false
		case 5:
			return append(b, make([]byte, 60_000)...)
		}
		return packed(m)
	}, "honest.example": honest})
	s.set(n, s.index)
	c := s.victim.dial("udp", "10.9.0.1:53")
	defer c.Close()
	s.under(func() {
		for i := range 1000 {
			ask(c, i, fmt.Sprintf("n%d.liar.example.", i))
		}
	})
	if got := s.victim.query("udp", "10.9.0.1", "files.nine.test."); got != "10.9.0.200" {
		t.Errorf("a name of the network itself is at %q", got)
	}
	s.forwards()
	if got := s.victim.query("udp", "10.9.0.1", "late.liar.example."); got != "SERVFAIL" {
		t.Errorf("a name that only lies are told about is at %q", got)
	}
	s.survived(n.UUID)
}

func TestAnswersOfTheGreatestLengthAreBoundedInMemory(t *testing.T) {
	t.Parallel()
	s := besiege(t, wide())
	n := dark(s.forwarder, map[string]func(*dns.Msg, bool) []byte{"huge.example": func(q *dns.Msg, tcp bool) []byte {
		m := new(dns.Msg).SetReply(q)
		if !tcp {
			m.Truncated = true
			return packed(m)
		}
		b := packed(m)
		rest := 0xffff - len(b) - 12 - 11 // an OPT record has room behind it
		b[7] = 1
		b = append(b, 0xc0, 12, 0, byte(dns.TypeNULL), 0, 1, 0, 0, 0, 60, byte(rest>>8), byte(rest))
		return append(b, make([]byte, rest)...)
	}})
	s.set(n, s.index)
	var longest, answers int
	s.under(func() {
		for i := range 400 {
			c := &dns.Conn{Conn: s.victim.dial("tcp", "10.9.0.1:53")}
			q := new(dns.Msg).SetQuestion(fmt.Sprintf("n%d.huge.example.", i), dns.TypeNULL)
			if c.SetDeadline(time.Now().Add(hosttest.Patience)) == nil && c.WriteMsg(q) == nil {
				if b, err := c.ReadMsgHeader(nil); err == nil {
					answers++
					longest = max(longest, len(b))
				}
			}
			c.Close()
		}
	})
	if longest < 65_000 || answers < 300 {
		t.Errorf("%d answers came, of %d bytes at most", answers, longest)
	}
	if got := s.victim.query("udp", "10.9.0.1", "files.nine.test."); got != "10.9.0.200" {
		t.Errorf("a name of the network itself is at %q", got)
	}
	s.survived(n.UUID)
}
