package dhcp4

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// small is a network with three addresses to hand out.
func small() Config {
	return Config{
		Subnets: []Subnet{{
			Server: netip.MustParseAddr("10.7.0.1"), Prefix: netip.MustParsePrefix("10.7.0.0/24"), Gateway: netip.MustParseAddr("10.7.0.1"),
		}},
		Ranges: []Range{{Start: netip.MustParseAddr("10.7.0.10"), End: netip.MustParseAddr("10.7.0.12")}},
		DNS:    []netip.Addr{netip.MustParseAddr("10.7.0.1")}, Domain: "example.test", Authoritative: true,
	}
}

// lab is a server with a clock that a test turns and a transcript of what was said.
type lab struct {
	t   *testing.T
	s   *Server
	now int64
	log []lease.Lease
	out []string
}

func newLab(t *testing.T, n Config) *lab {
	t.Helper()
	s, err := NewServer(n, nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, s: s, now: 1000}
}

// restart replaces the server by one that knows what the lease file would hold.
func (l *lab) restart(n Config) {
	l.t.Helper()
	var file []byte
	clock := lease.Clock{Boot: "one", Steady: func() int64 { return l.now }, Wall: func() int64 { return l.now }}
	for _, given := range l.log {
		file = clock.Append(file, given)
	}
	leases, damaged := clock.Parse(file)
	s, err := NewServer(n, leases, l.now)
	if err != nil || damaged != 0 {
		l.t.Fatalf("restart from %d leases, %d damaged: %v", len(leases), damaged, err)
	}
	l.s = s
}

func nic(n byte) packet.MAC { return packet.MAC{0x52, 0x54, 0, 0, 0, n} }

// message makes a request of client n.
func message(n byte, kind dhcpv4.MessageType, how ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	mac := nic(n)
	m, err := dhcpv4.New(append([]dhcpv4.Modifier{
		dhcpv4.WithHwAddr(mac[:]), dhcpv4.WithMessageType(kind), dhcpv4.WithTransactionID(dhcpv4.TransactionID{0, 0, 0, n}),
	}, how...)...)
	if err != nil {
		panic(err)
	}
	return m
}

func wish(a string) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(a)))
}

func has(a string) dhcpv4.Modifier { return dhcpv4.WithClientIP(net.ParseIP(a)) }

func server(a string) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.ParseIP(a)))
}

func clientID(b ...byte) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptClientIdentifier(b))
}

// send lets the server handle a message and writes down what came of it.
func (l *lab) send(n byte, kind dhcpv4.MessageType, how ...dhcpv4.Modifier) *Reply {
	l.t.Helper()
	p := &Packet{Source: nic(n), Target: netip.MustParseAddr("255.255.255.255"), Message: message(n, kind, how...)}
	r, changes, err := l.s.Handle(p, l.now)
	line := fmt.Sprintf("%d %s:", n, kind)
	var why packet.Refusal
	switch {
	case errors.As(err, &why):
		line += " (" + string(why) + ")"
	case r != nil:
		line += " " + r.Message.MessageType().String()
		if a, ok := address(r.Message.YourIPAddr); ok {
			line += fmt.Sprintf(" %s for %v", a, r.Message.IPAddressLeaseTime(0))
		}
		line += fmt.Sprintf(" to %s", r.Target)
	}
	for _, c := range changes {
		l.log = append(l.log, c.Lease)
		line += fmt.Sprintf("; %s %s of %d", c.Kind, c.Lease.IP, c.Lease.MAC[5])
	}
	l.out = append(l.out, line)
	return r
}

// join is a client's usual four messages.
func (l *lab) join(n byte, how ...dhcpv4.Modifier) string {
	l.t.Helper()
	r := l.send(n, dhcpv4.MessageTypeDiscover, how...)
	if r == nil {
		return ""
	}
	a := r.Message.YourIPAddr.String()
	l.send(n, dhcpv4.MessageTypeRequest, append([]dhcpv4.Modifier{wish(a), server("10.7.0.1")}, how...)...)
	return a
}

func (l *lab) want(lines string) {
	l.t.Helper()
	want := strings.TrimSpace(strings.ReplaceAll(lines, "\t", ""))
	if diff := cmp.Diff(want, strings.Join(l.out, "\n")); diff != "" {
		l.t.Errorf("the conversation differs (-want +got):\n%s", diff)
	}
}

func (l *lab) wantLeases(lines string) {
	l.t.Helper()
	l.out = nil
	for _, x := range l.s.Leases(l.now) {
		l.out = append(l.out, fmt.Sprintf("%s of %d %q until %d", x.IP, x.MAC[5], x.Hostname, x.Ends))
	}
	l.want(lines)
}
