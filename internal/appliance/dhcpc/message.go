package dhcpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Kind is DHCP's message type (option 53).
type Kind byte

// The message types of RFC 2131 that a client meets.
const (
	Discover Kind = 1
	Offer    Kind = 2
	Request  Kind = 3
	Decline  Kind = 4
	ACK      Kind = 5
	NAK      Kind = 6
	Release  Kind = 7
)

const (
	fixedSize  = 236
	minSize    = 300 // what BOOTP relays expect at least
	magic      = 0x63825363
	opRequest  = 1
	opReply    = 2
	broadcast  = 0x8000
	optPad     = 0
	optMask    = 1
	optRouter  = 3
	optDNS     = 6
	optHost    = 12
	optMTU     = 26
	optAddress = 50
	optLease   = 51
	optKind    = 53
	optServer  = 54
	optParams  = 55
	optT1      = 58
	optT2      = 59
	optClient  = 61
	optEnd     = 255
)

// message is a DHCP message, as far as a client cares.
type message struct {
	op        byte
	xid       uint32
	broadcast bool
	client    netip.Addr // ciaddr
	yours     netip.Addr // yiaddr
	hardware  net.HardwareAddr
	options   map[byte][]byte
}

var errNotDHCP = errors.New("not a DHCP message for us")

func (m *message) kind() Kind {
	if v := m.options[optKind]; len(v) == 1 {
		return Kind(v[0])
	}
	return 0
}

func (m *message) encode() []byte {
	b := make([]byte, fixedSize, minSize)
	b[0], b[1], b[2] = m.op, 1, 6
	binary.BigEndian.PutUint32(b[4:], m.xid)
	if m.broadcast {
		binary.BigEndian.PutUint16(b[10:], broadcast)
	}
	putAddr(b[12:], m.client)
	putAddr(b[16:], m.yours)
	copy(b[28:44], m.hardware)
	b = binary.BigEndian.AppendUint32(b, magic)
	for code := 1; code < optEnd; code++ { // in order of their codes, so that equal messages are equal bytes
		if v, ok := m.options[byte(code)]; ok {
			b = append(append(b, byte(code), byte(len(v))), v...)
		}
	}
	b = append(b, optEnd)
	for len(b) < minSize {
		b = append(b, optPad)
	}
	return b
}

func putAddr(b []byte, a netip.Addr) {
	if a.Is4() {
		v := a.As4()
		copy(b, v[:])
	}
}

// decode reads a message from a stranger.
func decode(b []byte) (*message, error) {
	if len(b) < fixedSize+4 || binary.BigEndian.Uint32(b[fixedSize:]) != magic {
		return nil, errNotDHCP
	}
	m := &message{
		op:        b[0],
		xid:       binary.BigEndian.Uint32(b[4:]),
		broadcast: binary.BigEndian.Uint16(b[10:])&broadcast != 0,
		client:    netip.AddrFrom4([4]byte(b[12:16])),
		yours:     netip.AddrFrom4([4]byte(b[16:20])),
		hardware:  net.HardwareAddr(append([]byte(nil), b[28:34]...)),
		options:   map[byte][]byte{},
	}
	rest := b[fixedSize+4:]
	for len(rest) > 0 && rest[0] != optEnd {
		if rest[0] == optPad {
			rest = rest[1:]
			continue
		}
		if len(rest) < 2 || len(rest) < 2+int(rest[1]) {
			return nil, fmt.Errorf("option %d is cut: %w", rest[0], errNotDHCP)
		}
		size := int(rest[1])
		// An option that occurs again continues the first one (RFC 3396).
		m.options[rest[0]] = append(m.options[rest[0]], rest[2:2+size]...)
		rest = rest[2+size:]
	}
	return m, nil
}

// Lease is what a server gave.
type Lease struct {
	Address  netip.Prefix
	Server   netip.Addr
	Routers  []netip.Addr
	DNS      []netip.Addr
	MTU      int // 0: the server said nothing
	Duration time.Duration
	Renew    time.Duration // T1, after the lease began
	Rebind   time.Duration // T2
}

// infinite is how DHCP writes a lease that never ends.
const infinite = 0xffffffff

// lease reads the lease out of an offer or acknowledgement. A server that gives an impossible address gives nothing.
func (m *message) lease() (Lease, error) {
	if a := m.yours; !a.IsGlobalUnicast() && !a.IsLinkLocalUnicast() {
		return Lease{}, fmt.Errorf("server offers the address %v", a)
	}
	l := Lease{Address: netip.PrefixFrom(m.yours, 24)}
	if mask := m.options[optMask]; len(mask) == 4 {
		ones, bits := net.IPMask(mask).Size()
		if bits == 0 {
			return Lease{}, fmt.Errorf("server offers the netmask %v", net.IP(mask))
		}
		l.Address = netip.PrefixFrom(m.yours, ones)
	}
	server := addrs(m.options[optServer])
	if len(server) != 1 {
		return Lease{}, errors.New("server does not say who it is")
	}
	l.Server = server[0]
	l.Routers, l.DNS = addrs(m.options[optRouter]), addrs(m.options[optDNS])
	if v := m.options[optMTU]; len(v) == 2 {
		if mtu := int(binary.BigEndian.Uint16(v)); mtu >= 576 {
			l.MTU = mtu
		}
	}
	l.Duration = m.seconds(optLease, time.Hour)
	l.Renew = m.seconds(optT1, l.Duration/2)
	l.Rebind = m.seconds(optT2, l.Duration*7/8)
	// A lease of no time would have us ask without a pause.
	l.Duration = max(l.Duration, 10*time.Second)
	if l.Renew <= 0 || l.Renew > l.Duration {
		l.Renew = l.Duration / 2
	}
	if l.Rebind < l.Renew || l.Rebind > l.Duration {
		l.Rebind = l.Renew + (l.Duration-l.Renew)*3/4
	}
	return l, nil
}

func (m *message) seconds(option byte, otherwise time.Duration) time.Duration {
	v := m.options[option]
	if len(v) != 4 {
		return otherwise
	}
	s := binary.BigEndian.Uint32(v)
	if s == infinite {
		return 100 * 365 * 24 * time.Hour
	}
	return time.Duration(s) * time.Second
}

// addrs reads a list of addresses; a list that is cut is read as far as it goes.
func addrs(v []byte) []netip.Addr {
	var list []netip.Addr
	for ; len(v) >= 4; v = v[4:] {
		list = append(list, netip.AddrFrom4([4]byte(v[:4])))
	}
	return list
}
