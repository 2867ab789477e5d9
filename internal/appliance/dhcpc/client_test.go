package dhcpc

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
)

var mac = net.HardwareAddr{0x52, 0x54, 0, 1, 2, 3}

// server is a Transport with a DHCP server behind it, made of another implementation's messages. Each answer function
// turns a request into the datagrams that come back.
type server struct {
	t       *testing.T
	answer  func(*dhcpv4.DHCPv4) [][]byte
	queue   [][]byte
	heard   []string
	expired int
}

func (s *server) Send(payload []byte) error {
	m, err := dhcpv4.FromBytes(payload)
	if err != nil {
		s.t.Fatalf("the client sent what is no DHCP message: %v", err)
	}
	s.heard = append(s.heard, m.MessageType().String())
	s.queue = append(s.queue, s.answer(m)...)
	return nil
}

func (s *server) Receive(time.Time) ([]byte, error) {
	if len(s.queue) == 0 {
		s.expired++
		return nil, os.ErrDeadlineExceeded
	}
	first := s.queue[0]
	s.queue = s.queue[1:]
	return first, nil
}

func reply(t *testing.T, m *dhcpv4.DHCPv4, kind dhcpv4.MessageType, more ...dhcpv4.Modifier) []byte {
	t.Helper()
	r, err := dhcpv4.NewReplyFromRequest(m, append([]dhcpv4.Modifier{
		dhcpv4.WithMessageType(kind),
		dhcpv4.WithYourIP(net.IPv4(192, 168, 151, 77)),
		dhcpv4.WithServerIP(net.IPv4(192, 168, 151, 1)),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(192, 168, 151, 1))),
		dhcpv4.WithNetmask(net.CIDRMask(25, 32)),
		dhcpv4.WithRouter(net.IPv4(192, 168, 151, 1)),
		dhcpv4.WithDNS(net.IPv4(192, 168, 151, 1), net.IPv4(9, 9, 9, 9)),
		dhcpv4.WithLeaseTime(3600),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r.ToBytes()
}

// honest answers as a server should.
func honest(t *testing.T) func(*dhcpv4.DHCPv4) [][]byte {
	return func(m *dhcpv4.DHCPv4) [][]byte {
		switch m.MessageType() {
		case dhcpv4.MessageTypeDiscover:
			return [][]byte{reply(t, m, dhcpv4.MessageTypeOffer)}
		case dhcpv4.MessageTypeRequest:
			return [][]byte{reply(t, m, dhcpv4.MessageTypeAck)}
		}
		return nil
	}
}

func given() Lease {
	return Lease{
		Address:  netip.MustParsePrefix("192.168.151.77/25"),
		Server:   netip.MustParseAddr("192.168.151.1"),
		Routers:  []netip.Addr{netip.MustParseAddr("192.168.151.1")},
		DNS:      []netip.Addr{netip.MustParseAddr("192.168.151.1"), netip.MustParseAddr("9.9.9.9")},
		Duration: time.Hour, Renew: 30 * time.Minute, Rebind: 52*time.Minute + 30*time.Second,
	}
}

func client() *Client {
	return &Client{MAC: mac, HostName: "guest", First: 100 * time.Microsecond, Last: time.Millisecond}
}

func compare(t *testing.T, want, got any) {
	t.Helper()
	same := []cmp.Option{
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
	if diff := cmp.Diff(want, got, same...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLeaseIsWhatTheServerGave(t *testing.T) {
	t.Parallel()
	s := &server{t: t, answer: honest(t)}
	lease, err := client().Acquire(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, given(), lease)
	compare(t, []string{"DISCOVER", "REQUEST"}, s.heard)
}

func TestRequestNamesTheOfferedAddressAndServer(t *testing.T) {
	t.Parallel()
	var request *dhcpv4.DHCPv4
	answer := honest(t)
	s := &server{t: t, answer: func(m *dhcpv4.DHCPv4) [][]byte {
		request = m
		return answer(m)
	}}
	if _, err := client().Acquire(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{
		"address": request.RequestedIPAddress().String(), "server": request.ServerIdentifier().String(),
		"host": request.HostName(), "hardware": request.ClientHWAddr.String(), "broadcast": request.FlagsToString(),
	}
	compare(t, map[string]string{
		"address": "192.168.151.77", "server": "192.168.151.1",
		"host": "guest", "hardware": "52:54:00:01:02:03", "broadcast": "Broadcast",
	}, got)
}

func TestLostMessagesAreSentAgain(t *testing.T) {
	t.Parallel()
	answer, lose := honest(t), map[int]bool{0: true, 1: true, 3: true, 4: true}
	s := &server{t: t}
	s.answer = func(m *dhcpv4.DHCPv4) [][]byte {
		if lose[len(s.heard)-1] {
			return nil
		}
		return answer(m)
	}
	lease, err := client().Acquire(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, given(), lease)
	compare(t, []string{"DISCOVER", "DISCOVER", "DISCOVER", "REQUEST", "REQUEST", "REQUEST"}, s.heard)
}

func TestServerThatNeverConfirmsIsAskedAfresh(t *testing.T) {
	t.Parallel()
	s := &server{t: t}
	s.answer = func(m *dhcpv4.DHCPv4) [][]byte {
		if m.MessageType() == dhcpv4.MessageTypeRequest && len(s.heard) <= 1+tries {
			return nil
		}
		return honest(t)(m)
	}
	if _, err := client().Acquire(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want := append([]string{"DISCOVER"}, slices.Repeat([]string{"REQUEST"}, tries)...)
	compare(t, append(want, "DISCOVER", "REQUEST"), s.heard)
}

func TestRefusalLeadsToAnotherDiscover(t *testing.T) {
	t.Parallel()
	s := &server{t: t}
	s.answer = func(m *dhcpv4.DHCPv4) [][]byte {
		if len(s.heard) == 2 {
			return [][]byte{reply(t, m, dhcpv4.MessageTypeNak)}
		}
		return honest(t)(m)
	}
	if _, err := client().Acquire(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	compare(t, []string{"DISCOVER", "REQUEST", "DISCOVER", "REQUEST"}, s.heard)
}

func TestWhatIsNotTheAnswerIsPassedOver(t *testing.T) {
	t.Parallel()
	answer := honest(t)
	s := &server{t: t, answer: func(m *dhcpv4.DHCPv4) [][]byte {
		good := answer(m)[0]
		otherXID, otherMAC, aRequest, cut := slices.Clone(good), slices.Clone(good), slices.Clone(good), good[:250]
		otherXID[4]++
		otherMAC[33]++
		aRequest[0] = opRequest
		return [][]byte{
			nil, cut, otherXID, otherMAC, aRequest, make([]byte, 400),
			reply(t, m, dhcpv4.MessageTypeInform),
			reply(t, m, m.MessageType()+1, dhcpv4.WithYourIP(net.IPv4zero)),
			reply(t, m, m.MessageType()+1, dhcpv4.WithYourIP(net.IPv4bcast)),
			reply(t, m, m.MessageType()+1, dhcpv4.WithGeneric(dhcpv4.OptionSubnetMask, []byte{255, 0, 255, 0})),
			reply(t, m, m.MessageType()+1, dhcpv4.WithoutOption(dhcpv4.OptionServerIdentifier)),
			good,
		}
	}}
	lease, err := client().Acquire(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, given(), lease)
	compare(t, []string{"DISCOVER", "REQUEST"}, s.heard)
}

func TestRenewalIsOneQuestion(t *testing.T) {
	t.Parallel()
	s := &server{t: t}
	var asked netip.Addr
	s.answer = func(m *dhcpv4.DHCPv4) [][]byte {
		asked, _ = netip.AddrFromSlice(m.ClientIPAddr.To4())
		return honest(t)(m)
	}
	lease, err := client().Renew(t.Context(), s, given(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, given(), lease)
	compare(t, netip.MustParseAddr("192.168.151.77"), asked)

	s.answer = func(m *dhcpv4.DHCPv4) [][]byte { return [][]byte{reply(t, m, dhcpv4.MessageTypeNak)} }
	if _, err := client().Renew(t.Context(), s, given(), time.Second); !errors.Is(err, ErrRefused) {
		t.Errorf("refused renewal: %v, want ErrRefused", err)
	}
	s.answer = func(*dhcpv4.DHCPv4) [][]byte { return nil }
	if _, err := client().Renew(t.Context(), s, given(), time.Microsecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("unanswered renewal: %v, want os.ErrDeadlineExceeded", err)
	}
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{t: t}
	s.answer = func(*dhcpv4.DHCPv4) [][]byte {
		if len(s.heard) == 3 {
			cancel()
		}
		return nil
	}
	if _, err := client().Acquire(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestLeaseTimesMakeSenseWhateverTheServerSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease, t1, t2 string
		want          [3]time.Duration
	}{
		"nothing":  {"", "", "", [3]time.Duration{time.Hour, 30 * time.Minute, 52*time.Minute + 30*time.Second}},
		"zero":     {"\x00\x00\x00\x00", "", "", [3]time.Duration{10 * time.Second, 5 * time.Second, 8750 * time.Millisecond}},
		"reversed": {"\x00\x00\x00\x64", "\x00\x00\x00\xff", "\x00\x00\x00\x01", [3]time.Duration{100 * time.Second, 50 * time.Second, 87500 * time.Millisecond}},
		"short":    {"\x64", "\x01", "\x01", [3]time.Duration{time.Hour, 30 * time.Minute, 52*time.Minute + 30*time.Second}},
	} {
		m := &message{yours: netip.MustParseAddr("10.0.0.2"), options: map[byte][]byte{
			optServer: {10, 0, 0, 1}, optLease: []byte(c.lease), optT1: []byte(c.t1), optT2: []byte(c.t2),
		}}
		l, err := m.lease()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := [3]time.Duration{l.Duration, l.Renew, l.Rebind}; got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestPacketHasValidChecksumsAndComesBackOut(t *testing.T) {
	t.Parallel()
	p := Packet([]byte("odd payload"))
	if got := sum(0, p[:20]); got != 0xffff {
		t.Errorf("IP header adds up to %#x, want 0xffff", got)
	}
	udp := p[20:]
	if got := sum(uint32(sum(0, p[12:20]))+17+uint32(len(udp)), udp); got != 0xffff {
		t.Errorf("UDP adds up to %#x, want 0xffff", got)
	}
	answer := slices.Clone(p)
	copy(answer[20:24], []byte{0, 67, 0, 68})
	compare(t, "odd payload", string(Payload(append(answer, 0, 0, 0)))) // Ethernet pads short frames
	if got := Payload(p); got != nil {
		t.Errorf("a packet to a server was taken for one to a client: %q", got)
	}
}

func FuzzMessagesOfStrangers(f *testing.F) {
	good := (&message{op: opReply, yours: netip.MustParseAddr("10.0.0.2"), hardware: mac, options: map[byte][]byte{
		optKind: {byte(ACK)}, optServer: {10, 0, 0, 1}, optMask: {255, 255, 255, 0},
	}}).encode()
	f.Add(good)
	f.Add(Packet(good))
	f.Fuzz(func(t *testing.T, b []byte) {
		Payload(b)
		m, err := decode(b)
		if err != nil {
			return
		}
		if l, err := m.lease(); err == nil && (l.Renew <= 0 || l.Rebind < l.Renew || l.Duration < l.Rebind) {
			t.Errorf("lease times out of order: %v", l)
		}
	})
}
