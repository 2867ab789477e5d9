package dhcp6

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

const (
	solicit  = dhcpv6.MessageTypeSolicit
	request  = dhcpv6.MessageTypeRequest
	confirm  = dhcpv6.MessageTypeConfirm
	renew    = dhcpv6.MessageTypeRenew
	rebind   = dhcpv6.MessageTypeRebind
	release  = dhcpv6.MessageTypeRelease
	decline  = dhcpv6.MessageTypeDecline
	inform   = dhcpv6.MessageTypeInformationRequest
	onlyLink = "2001:db8:7::" // what all addresses of the tests begin with
)

// ip reads an address, of the link if it begins with colons.
func ip(s string) netip.Addr {
	if rest, ok := strings.CutPrefix(s, "::"); ok {
		s = onlyLink + rest
	}
	return netip.MustParseAddr(s)
}

// small is a network with three addresses to hand out.
func small() Config {
	return Config{
		DUID:          []byte{0, 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		Prefixes:      []netip.Prefix{netip.MustParsePrefix("2001:db8:7::/64")},
		Ranges:        []Range{{Start: ip("::10"), End: ip("::12")}},
		DNS:           []netip.Addr{ip("::1")},
		Search:        []string{"example.test"},
		Authoritative: true,
	}
}

// large is a network with as many addresses as a range can have.
func large() Config {
	c := small()
	c.Ranges = []Range{{Start: ip("::"), End: ip("2001:db8:7:0:ffff:ffff:ffff:ffff")}}
	return c
}

// lab is a server with a clock that a test turns and a transcript of what was said.
type lab struct {
	t     testing.TB
	s     *Server
	clock lease.Clock
	now   int64
	log   []byte // the lease file
	out   []string
}

func newLab(t testing.TB, c Config) *lab {
	t.Helper()
	l := &lab{t: t, now: 1000}
	l.clock = lease.Clock{Boot: "here", Steady: func() int64 { return l.now }, Wall: func() int64 { return l.now + 1<<30 }}
	l.restart(c)
	return l
}

// restart replaces the server by one that knows what the lease file holds.
func (l *lab) restart(c Config) {
	l.t.Helper()
	leases, damaged := l.clock.Parse(l.log)
	s, err := NewServer(c, leases, l.now)
	if err != nil || damaged != 0 {
		l.t.Fatalf("restart from %d leases, %d damaged: %v", len(leases), damaged, err)
	}
	l.s = s
}

func nic(n byte) packet.MAC { return packet.MAC{0x52, 0x54, 0, 0, 0, n} }

func duidLL(n byte) []byte {
	mac := nic(n)
	return append([]byte{0, 3, 0, 1}, mac[:]...)
}

func raw(code dhcpv6.OptionCode, b ...byte) dhcpv6.Option {
	return &dhcpv6.OptionGeneric{OptionCode: code, OptionData: b}
}

// ias is an IA_NA that lists addresses.
func ias(id byte, addresses ...string) dhcpv6.Option {
	o := &dhcpv6.OptIANA{IaId: [4]byte{3: id}}
	for _, a := range addresses {
		o.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.IP(ip(a).AsSlice())})
	}
	return o
}

func duid(b ...byte) dhcpv6.Option { return raw(dhcpv6.OptionClientID, b...) }

func fqdn(name string) dhcpv6.Option {
	return raw(dhcpv6.OptionFQDN, append([]byte{1}, encodeName(name)...)...)
}

func ask(codes ...dhcpv6.OptionCode) dhcpv6.Option { return dhcpv6.OptRequestedOption(codes...) }

// client6 makes a message of client n as clients do: a DUID-LL unless it has another, the server's DUID where it belongs.
func client6(n byte, kind dhcpv6.MessageType, options ...dhcpv6.Option) *dhcpv6.Message {
	m := &dhcpv6.Message{MessageType: kind, TransactionID: dhcpv6.TransactionID{7, 7, n}}
	for _, o := range options {
		m.AddOption(o)
	}
	if m.GetOneOption(dhcpv6.OptionClientID) == nil {
		m.AddOption(duid(duidLL(n)...))
	}
	switch kind {
	case request, renew, release, decline:
		if m.GetOneOption(dhcpv6.OptionServerID) == nil {
			m.AddOption(raw(dhcpv6.OptionServerID, small().DUID...))
		}
	}
	return m
}

// frame is a message as it comes off the bridge.
func frame(n byte, payload []byte) []byte {
	d := packet.Datagram{
		From: nic(n), To: packet.Multicast(servers()), Payload: payload,
		Src: netip.AddrPortFrom(nic(n).LinkLocal(), ClientPort), Dst: netip.AddrPortFrom(servers(), ServerPort),
	}
	return d.Frame()
}

// send lets the server handle a message and writes down what came of it. The reply is what a client reads off the wire.
func (l *lab) send(n byte, kind dhcpv6.MessageType, options ...dhcpv6.Option) *dhcpv6.Message {
	l.t.Helper()
	return l.sendFrame(fmt.Sprintf("%d %s:", n, kind), frame(n, client6(n, kind, options...).ToBytes()))
}

func (l *lab) sendFrame(line string, f []byte) *dhcpv6.Message {
	l.t.Helper()
	var r *Reply
	var changes []lease.Change
	p, err := ParseFrame(f, false)
	if err == nil {
		r, changes, err = l.s.Handle(p, l.now)
	}
	for _, c := range changes {
		l.log = l.clock.Append(l.log, c.Lease)
	}
	var m *dhcpv6.Message
	var why packet.Refusal
	switch {
	case errors.As(err, &why):
		line += " (" + string(why) + ")"
	case err != nil || r == nil:
		l.t.Fatalf("%s %v, %v", line, r, err)
	default:
		m = l.receive(r)
		line += " " + told(m)
	}
	for _, c := range changes {
		line += fmt.Sprintf("; %s %s of %d", c.Kind, short(c.Lease.IP), c.Lease.MAC[5])
	}
	l.out = append(l.out, line)
	return m
}

// receive takes a reply apart as its client does.
func (l *lab) receive(r *Reply) *dhcpv6.Message {
	l.t.Helper()
	bridge := packet.MAC{2, 0, 0, 0, 0, 1}
	f := r.Frame(bridge, bridge.LinkLocal())
	d, err := packet.ParseUDP6(f, false)
	if err != nil || len(f) > packet.MaxFrame {
		l.t.Fatalf("a reply of %d bytes: %v", len(f), err)
	}
	m, err := dhcpv6.MessageFromBytes(d.Payload)
	if err != nil {
		l.t.Fatalf("a reply that no client understands: %v\n% x", err, d.Payload)
	}
	return m
}

func short(a netip.Addr) string { return strings.Replace(a.String(), onlyLink, "::", 1) }

// told writes a reply in few words, without what is only copied.
func told(m *dhcpv6.Message) string {
	words := []string{m.MessageType.String()}
	for _, o := range m.Options.Options {
		switch o := o.(type) {
		case *dhcpv6.OptIANA:
			words = append(words, toldIA("ia", o.IaId, fmt.Sprintf(" T %g/%g", o.T1.Seconds(), o.T2.Seconds()), o.Options.Options))
		case *dhcpv6.OptIATA:
			words = append(words, toldIA("ta", o.IaId, "", o.Options.Options))
		case *dhcpv6.OptIAPD:
			words = append(words, toldIA("pd", o.IaId, "", o.Options.Options))
		case *dhcpv6.OptStatusCode:
			words = append(words, o.StatusCode.String())
		default:
			switch o.Code() {
			case dhcpv6.OptionRapidCommit:
				words = append(words, "rapid")
			case dhcpv6.OptionPreference:
				words = append(words, fmt.Sprint("first choice ", o.ToBytes()[0] == 255))
			}
		}
	}
	return strings.Join(words, " ")
}

func toldIA(kind string, id [4]byte, times string, options dhcpv6.Options) string {
	var words []string
	for _, o := range options {
		switch o := o.(type) {
		case *dhcpv6.OptIAAddress:
			a, _ := netip.AddrFromSlice(o.IPv6Addr)
			words = append(words, fmt.Sprintf("%s %g/%g", short(a), o.PreferredLifetime.Seconds(), o.ValidLifetime.Seconds()))
		case *dhcpv6.OptStatusCode:
			words, times = append(words, o.StatusCode.String()), ""
		}
	}
	return fmt.Sprintf("%s%d[%s%s]", kind, binary.BigEndian.Uint32(id[:]), strings.Join(words, ", "), times)
}

// offered returns the first address of a reply.
func offered(m *dhcpv6.Message) string {
	if m == nil || m.Options.OneIANA() == nil || m.Options.OneIANA().Options.OneAddress() == nil {
		return ""
	}
	a, _ := netip.AddrFromSlice(m.Options.OneIANA().Options.OneAddress().IPv6Addr)
	return a.String()
}

// join is a client's usual four messages for IA 1, with what it wishes for.
func (l *lab) join(n byte, wish string, options ...dhcpv6.Option) string {
	l.t.Helper()
	first := ias(1)
	if wish != "" {
		first = ias(1, wish)
	}
	a := offered(l.send(n, solicit, append([]dhcpv6.Option{first}, options...)...))
	if a == "" {
		return ""
	}
	return offered(l.send(n, request, append([]dhcpv6.Option{ias(1, a)}, options...)...))
}

func (l *lab) want(lines string) {
	l.t.Helper()
	want := strings.TrimSpace(strings.ReplaceAll(lines, "\t", ""))
	if diff := cmp.Diff(want, strings.Join(l.out, "\n")); diff != "" {
		l.t.Errorf("the conversation differs (-want +got):\n%s", diff)
	}
	l.out = nil
}

func (l *lab) wantLeases(lines string) {
	l.t.Helper()
	l.out = nil
	for _, x := range l.s.Leases(l.now) {
		l.out = append(l.out, fmt.Sprintf("%s of %d/%d %q until %d", short(x.IP), x.MAC[5], x.IAID, x.Hostname, x.Ends))
	}
	l.want(lines)
}

// archs is the option with a firmware's architecture.
func archs(a ...iana.Arch) dhcpv6.Option { return dhcpv6.OptClientArchType(a...) }

func contains(leases []lease.Lease, l lease.Lease) bool {
	return slices.ContainsFunc(leases, func(o lease.Lease) bool { return o == l })
}
