package dhcp6

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/packet"
)

func TestPacketsThatLieAreRefused(t *testing.T) {
	t.Parallel()
	const ip6, udp, dhcp = packet.EthHeader, packet.EthHeader + packet.IPv6Header, packet.EthHeader + packet.IPv6Header + packet.UDPHeader
	good := func() []byte { return frame(1, client6(1, solicit, ias(1, "::10")).ToBytes()) }
	set := func(at int, b ...byte) func([]byte) []byte {
		return func(f []byte) []byte { copy(f[at:], b); return f }
	}
	for _, c := range []struct {
		name    string
		spoil   func([]byte) []byte
		summed  bool // the checksum is what the frame says
		want    error
		options string
	}{
		{name: "nothing wrong", spoil: set(0), summed: true},
		{name: "padding behind", spoil: func(f []byte) []byte { return append(f, make([]byte, 100)...) }, summed: true},
		{name: "wrong checksum", spoil: set(udp+6, 0x55, 0x55), summed: true, want: packet.RefuseChecksum},
		{name: "no checksum", spoil: set(udp+6, 0, 0), summed: true, want: packet.RefuseChecksum},
		{name: "cut off", spoil: func(f []byte) []byte { return f[:80] }, want: packet.RefuseLength},
		{name: "empty", spoil: func([]byte) []byte { return nil }, want: packet.RefuseSize},
		{name: "longer than Ethernet", spoil: func(f []byte) []byte { return append(f, make([]byte, 1500)...) }, want: packet.RefuseSize},
		{name: "IPv4", spoil: set(ip6, 0x45), want: packet.RefuseProtocol},
		{name: "fragment", spoil: set(ip6+6, 44), want: packet.RefuseProtocol},
		{name: "other port", spoil: set(udp+2, 0, 53), want: packet.RefuseProtocol},
		{name: "UDP length past the end", spoil: set(udp+4, 5, 0), want: packet.RefuseLength},
		{name: "from a group", spoil: set(6, 0x33), want: packet.RefuseSource},
		{name: "from nobody's card", spoil: set(6, 0, 0, 0, 0, 0, 0), want: packet.RefuseSource},
		{name: "from the unspecified address", spoil: set(ip6+8, make([]byte, 16)...), want: packet.RefuseSource},
		{name: "from a global address", spoil: set(ip6+8, 0x20, 1), want: packet.RefuseSource},
		{name: "from a multicast address", spoil: set(ip6+8, 0xff, 2), want: packet.RefuseSource},
		{name: "UDP without a message", spoil: set(udp+4, 0, 10), want: packet.RefuseMessage},
		{name: "relayed", spoil: set(dhcp, 12), want: packet.RefuseRelay},
		{name: "a relay's reply", spoil: set(dhcp, 13), want: packet.RefuseRelay},
		{name: "advertise", spoil: set(dhcp, 2), want: packet.RefuseMessage},
		{name: "reply", spoil: set(dhcp, 7), want: packet.RefuseMessage},
		{name: "reconfigure", spoil: set(dhcp, 10), want: packet.RefuseMessage},
		{name: "leasequery", spoil: set(dhcp, 14), want: packet.RefuseMessage},
		{name: "type 255", spoil: set(dhcp, 255), want: packet.RefuseMessage},
		{name: "IA that runs over the end", spoil: set(dhcp+6, 0, 200), want: packet.RefuseMessage},
		{name: "address that runs over its IA", spoil: set(dhcp+22, 0, 200), want: packet.RefuseMessage},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := ParseFrame(c.spoil(good()), !c.summed); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestMalformedOptionsAreRefused sends a message with a client DUID and one more option as bytes.
func TestMalformedOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		code dhcpv6.OptionCode
		data []byte
		want error
	}{
		{"nothing wrong", dhcpv6.OptionElapsedTime, []byte{0, 0}, nil},
		{"an option nobody knows", 9999, make([]byte, 700), nil},
		{"a second client DUID", dhcpv6.OptionClientID, duidLL(2), packet.RefuseMessage},
		{"an empty server DUID", dhcpv6.OptionServerID, nil, packet.RefuseMessage},
		{"IA_NA without times", dhcpv6.OptionIANA, make([]byte, 11), packet.RefuseMessage},
		{"IA_NA with half an option", dhcpv6.OptionIANA, make([]byte, 15), packet.RefuseMessage},
		{"IA_TA without an id", dhcpv6.OptionIATA, make([]byte, 3), packet.RefuseMessage},
		{"IA_PD without times", dhcpv6.OptionIAPD, make([]byte, 4), packet.RefuseMessage},
		{"address without lifetimes", dhcpv6.OptionIANA, append(make([]byte, 12), append([]byte{0, 5, 0, 20}, make([]byte, 20)...)...), packet.RefuseMessage},
		{"address with half an option", dhcpv6.OptionIANA, append(make([]byte, 12), append([]byte{0, 5, 0, 25}, make([]byte, 25)...)...), packet.RefuseMessage},
		{"option request of three bytes", dhcpv6.OptionORO, []byte{0, 23, 0}, nil},
		{"architecture of one byte", dhcpv6.OptionClientArchType, []byte{0}, nil},
		{"FQDN without anything", dhcpv6.OptionFQDN, nil, nil},
		{"FQDN that runs over its end", dhcpv6.OptionFQDN, []byte{0, 60, 'a'}, nil},
		{"FQDN that points at itself", dhcpv6.OptionFQDN, []byte{0, 0xc0, 0}, nil},
		{"FQDN that is no host name", dhcpv6.OptionFQDN, []byte{0, 4, 'a', ';', 'r', 'm', 0}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &dhcpv6.Message{MessageType: solicit}
			m.AddOption(duid(duidLL(1)...))
			m.AddOption(raw(c.code, c.data...))
			p, err := ParseFrame(frame(1, m.ToBytes()), false)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && p.name() != "" {
				t.Errorf("the client is called %q", p.name())
			}
		})
	}
}

// TestMessagesAreDiscardedAsRFC8415Says is section 16, message by message.
func TestMessagesAreDiscardedAsRFC8415Says(t *testing.T) {
	t.Parallel()
	ours, other := raw(dhcpv6.OptionServerID, small().DUID...), raw(dhcpv6.OptionServerID, 0, 3, 0, 1, 2, 0, 0, 0, 0, 9)
	me, ia := duid(duidLL(1)...), ias(1, "::10")
	const answered = packet.Refusal("")
	none, malformed, foreign := answered, packet.RefuseMessage, packet.RefuseForeign
	type row [6]packet.Refusal // complete, no client, no server, our server, another server, without an IA
	for kind, want := range map[dhcpv6.MessageType]row{
		solicit: {none, malformed, none, malformed, malformed, none},
		request: {none, malformed, malformed, none, foreign, none},
		confirm: {none, malformed, none, malformed, malformed, packet.RefuseUnknown},
		renew:   {none, malformed, malformed, none, foreign, none},
		rebind:  {none, malformed, none, malformed, malformed, packet.RefuseUnknown},
		release: {none, malformed, malformed, none, foreign, none},
		decline: {none, malformed, malformed, none, foreign, none},
		inform:  {malformed, malformed, malformed, malformed, malformed, none}, // an IA has no place in it
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			complete := []dhcpv6.Option{me, ia}
			if want[2] != none && kind != inform {
				complete = append(complete, ours)
			}
			send := func(options ...dhcpv6.Option) packet.Refusal {
				s, err := NewServer(small(), nil, 1000)
				if err != nil {
					t.Fatal(err)
				}
				m := &dhcpv6.Message{MessageType: kind, Options: dhcpv6.MessageOptions{Options: options}}
				p, err := ParseFrame(frame(1, m.ToBytes()), false)
				if err == nil {
					_, _, err = s.Handle(p, 1000)
				}
				var why packet.Refusal
				if err != nil && !errors.As(err, &why) {
					t.Errorf("%v is no Refusal", err)
				}
				return why
			}
			got := row{
				send(complete...), send(append([]dhcpv6.Option{ia}, complete[2:]...)...), send(me, ia), send(me, ia, ours), send(me, ia, other),
				send(append([]dhcpv6.Option{me}, complete[2:]...)...),
			}
			if got != want {
				t.Errorf("complete, no client, no server, our server, another, no IA:\n got %q\nwant %q", got, want)
			}
		})
	}
}

func TestAnInformationRequestNeedsNoClientAndMayNameTheServer(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	for _, options := range [][]dhcpv6.Option{
		{raw(dhcpv6.OptionServerID, small().DUID...)}, {raw(dhcpv6.OptionServerID, 0, 3, 0, 1, 9)}, {},
	} {
		m := &dhcpv6.Message{MessageType: inform, Options: dhcpv6.MessageOptions{Options: options}}
		l.sendFrame("anybody:", frame(1, m.ToBytes()))
	}
	l.want(`
		anybody: REPLY
		anybody: (foreign server)
		anybody: REPLY`)
}

func TestWhoSendsByUnicastIsToldNotTo(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	l.out = nil
	for _, to := range []string{"fe80::1", "ff05::1:3"} {
		for _, kind := range []dhcpv6.MessageType{solicit, request, confirm, renew, rebind, release, decline, inform} {
			options := []dhcpv6.Option{ias(1, "::10")}
			if kind == inform {
				options = nil
			}
			d := packet.Datagram{
				From: nic(1), To: packet.MAC{2, 0, 0, 0, 0, 1}, Payload: client6(1, kind, options...).ToBytes(),
				Src: netip.AddrPortFrom(nic(1).LinkLocal(), 546), Dst: netip.AddrPortFrom(netip.MustParseAddr(to), 547),
			}
			l.sendFrame(fmt.Sprint(to, " ", kind, ":"), d.Frame())
		}
	}
	l.want(`
		fe80::1 SOLICIT: (foreign server)
		fe80::1 REQUEST: REPLY UseMulticast
		fe80::1 CONFIRM: (foreign server)
		fe80::1 RENEW: REPLY UseMulticast
		fe80::1 REBIND: (foreign server)
		fe80::1 RELEASE: REPLY UseMulticast
		fe80::1 DECLINE: REPLY UseMulticast
		fe80::1 INFORMATION-REQUEST: (foreign server)
		ff05::1:3 SOLICIT: (foreign server)
		ff05::1:3 REQUEST: (foreign server)
		ff05::1:3 CONFIRM: (foreign server)
		ff05::1:3 RENEW: (foreign server)
		ff05::1:3 REBIND: (foreign server)
		ff05::1:3 RELEASE: (foreign server)
		ff05::1:3 DECLINE: (foreign server)
		ff05::1:3 INFORMATION-REQUEST: (foreign server)`)
	l.wantLeases(`::10 of 1/1 "" until 4600`)
}

func TestAMessageWithMoreThanFitsIsAnsweredAboutItsBeginning(t *testing.T) {
	t.Parallel()
	c := large()
	c.DUID = make([]byte, maxDUID)
	c.Options = []Option{{Code: 200, Value: make([]byte, 800)}, {Code: 201, Value: []byte{1}}}
	l := newLab(t, c)
	long := append([]byte{0, 2, 0, 0, 0, 9}, make([]byte, maxDUID-6)...)
	server := raw(dhcpv6.OptionServerID, c.DUID...)
	options := []dhcpv6.Option{duid(long...), server, ask(200, 201)}
	for i := range byte(60) {
		options = append(options, ias(i))
	}
	m := l.send(1, request, options...)
	if got := len(m.Options.IANA()); got != maxIAs || l.s.Remembered() != maxIAs {
		t.Errorf("%d associations were answered, %d leases were made", got, l.s.Remembered())
	}
	// Now everything they have is forbidden: each loses what it has, gets another and lists what was never its own.
	c.Ranges = []Range{{Start: ip("::100"), End: ip("::1ff")}}
	l.restart(c)
	options = options[:3]
	for i := range byte(12) {
		options = append(options, ias(i, "::f", "::e"))
	}
	for _, next := range []Range{{Start: ip("::200"), End: ip("::2ff")}, {Start: ip("::300"), End: ip("::3ff")}} {
		l.send(1, renew, options...)
		c.Ranges[0] = next
		l.restart(c)
	}
	m = l.send(1, renew, options...)
	size, listed := len(m.ToBytes()), 0
	for _, a := range m.Options.IANA() {
		listed += len(a.Options.Addresses())
	}
	if want := maxIAs + maxIAs*maxRunOut + maxListed; listed != want || size > maxMessage {
		t.Errorf("%d bytes with %d addresses, want %d", size, listed, want)
	}
	if m.GetOneOption(200) != nil || m.GetOneOption(201) == nil {
		t.Error("an option that does not fit was sent, or one that fits behind it was not")
	}
}

// FuzzFrame lets anybody say anything to a server with a lease: it may not fall over, answer with more than a frame, or
// forget whose the lease is.
func FuzzFrame(f *testing.F) {
	for _, kind := range []dhcpv6.MessageType{solicit, request, confirm, renew, rebind, release, decline} {
		f.Add(client6(2, kind, ias(1, "::10", "::11"), ias(2), fqdn("a.b"), ask(23, 24, 39, 56, 59), raw(dhcpv6.OptionRapidCommit), archs(7)).ToBytes())
	}
	f.Add(client6(2, inform, ask(23, 32)).ToBytes())
	c := small()
	c.Rapid = true
	c.BootURL = []Boot{{Arch: []uint16{7}, URL: "tftp://[fe80::1]/x"}, {URL: "http://boot"}}
	c.Hosts = []Host{{Name: "a", IP: ip("::20")}}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) > maxMessage {
			return
		}
		l := newLab(t, c)
		l.join(1, "::10")
		before := l.s.Leases(l.now)[0]
		for range 2 {
			l.sendFrame("fuzz:", frame(2, payload))
		}
		if got := l.s.Leases(l.now); !contains(got, before) {
			t.Errorf("%v is gone from %v", before, got)
		}
		now := l.s.Leases(l.now)
		l.restart(c)
		if again := l.s.Leases(l.now); fmt.Sprint(again) != fmt.Sprint(now) {
			t.Errorf("the file tells of %v, the server had %v", again, now)
		}
	})
}

// FuzzRawFrame goes below the message.
func FuzzRawFrame(f *testing.F) {
	f.Add(frame(1, client6(1, solicit, ias(1)).ToBytes()), false)
	f.Add(frame(1, client6(1, request, ias(1)).ToBytes()), true)
	f.Fuzz(func(t *testing.T, b []byte, partial bool) {
		p, err := ParseFrame(b, partial)
		var why packet.Refusal
		if err != nil {
			if !errors.As(err, &why) {
				t.Fatalf("%v is no Refusal", err)
			}
			return
		}
		if p.From.Is4() || p.Source.IsGroup() || binary.BigEndian.Uint16(b[12:]) != packet.TypeIPv6 {
			t.Errorf("% x passed as %+v", b, p)
		}
	})
}
