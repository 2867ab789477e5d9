package dhcp

import (
	"maps"
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// Server answers for one network. It does no I/O and knows no clock: the caller sends its replies and stores its
// changes, in the other order. It is not safe for use from several goroutines.
type Server struct {
	net    Network
	pool   *pool
	leases *table
	next   int64 // no lease ends before this; zero: none will
}

// NewServer returns a server for a valid network that starts with the leases a lease file held. Leases that the
// configuration no longer allows stay until they run out, but are not renewed.
func NewServer(n Network, leases []Lease) (*Server, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	s := &Server{net: n, leases: newTable()}
	s.pool = newPool(n, s.leases)
	for _, l := range leases {
		s.leases.put(l)
		s.expect(l)
	}
	return s, nil
}

// Inherit takes over what an earlier server of the network had promised, so that replacing a configuration does not
// turn away a client between OFFER and REQUEST.
func (s *Server) Inherit(old *Server) {
	maps.Copy(s.pool.offers, old.pool.offers)
	maps.Copy(s.pool.declined, old.pool.declined)
}

// Network returns the configuration.
func (s *Server) Network() Network { return s.net }

// Leases returns the leases that hold at a time, by address.
func (s *Server) Leases(now int64) []Lease {
	return s.leases.sorted(func(l *Lease) bool { return l.live(now) })
}

// History returns all leases, those included that have ended but whose address would be given to the same client again.
func (s *Server) History() []Lease {
	return s.leases.sorted(func(*Lease) bool { return true })
}

// NextExpiry returns when Expire has something to do, zero for never. It may be early, never late.
func (s *Server) NextExpiry() int64 { return s.next }

// Expire returns the leases that ended in (since, now].
func (s *Server) Expire(since, now int64) []Change {
	s.pool.tidy(now)
	s.next = 0
	var out []Change
	for _, l := range s.leases.sorted(func(*Lease) bool { return true }) {
		switch {
		case l.live(now):
			s.expect(l)
		case l.Expiry > since:
			out = append(out, Change{LeaseDeleted, l})
		}
	}
	return out
}

func (s *Server) expect(l Lease) {
	if l.Expiry != 0 && (s.next == 0 || l.Expiry < s.next) {
		s.next = l.Expiry
	}
}

// Handle answers a message at a time. No reply comes with a Refusal that says why, except where silence is the answer
// the protocol wants (RELEASE, DECLINE). The changes must be stored before the reply is sent.
func (s *Server) Handle(p *Packet, now int64) (*Reply, []Change, error) {
	m, c := p.Message, newClient(p.Message)
	if p.Target != s.net.Server && p.Target != netip.AddrFrom4([4]byte{255, 255, 255, 255}) && p.Target != broadcast(s.net.Prefix) {
		return nil, nil, RefuseForeign
	}
	if id, ok := address(m.ServerIdentifier()); ok && id != s.net.Server {
		if m.MessageType() == dhcpv4.MessageTypeRequest {
			s.pool.forget(c) // it chose another server's offer
		}
		return nil, nil, RefuseForeign
	}
	switch m.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		return s.discover(m, c, now)
	case dhcpv4.MessageTypeRequest:
		return s.request(m, c, now)
	case dhcpv4.MessageTypeDecline:
		return s.decline(m, c, now)
	case dhcpv4.MessageTypeRelease:
		return s.release(m, c, now)
	case dhcpv4.MessageTypeInform:
		return s.inform(m, c)
	}
	return nil, nil, RefuseMessage
}

func (s *Server) discover(m *dhcpv4.DHCPv4, c client, now int64) (*Reply, []Change, error) {
	wish, _ := address(m.RequestedIPAddress())
	a, ok := s.pool.choose(c, wish, now)
	if !ok {
		return nil, nil, RefuseFull
	}
	s.pool.promise(a, c, now)
	r := s.reply(m, c, dhcpv4.MessageTypeOffer)
	s.grant(r.Message, m, c, a)
	return s.send(r, m, c), nil, nil
}

// request serves all four states a REQUEST comes from (RFC 2131, 4.3.2): it has a server id when selecting, an address
// in the option when selecting or rebooting, and one in ciaddr when renewing or rebinding.
func (s *Server) request(m *dhcpv4.DHCPv4, c client, now int64) (*Reply, []Change, error) {
	_, selecting := address(m.ServerIdentifier())
	a, ok := address(m.RequestedIPAddress())
	if !ok {
		a, ok = address(m.ClientIPAddr)
	}
	if !ok {
		return nil, nil, RefuseMessage
	}
	if !s.pool.allowed(a, c) || s.pool.taken(a, c, now) || s.pool.better(a, c, now) || !s.known(a, c, selecting) {
		if !selecting && !s.net.Authoritative && s.leases.find(c) == nil {
			return nil, nil, RefuseUnknown // RFC 2131, 4.3.2: no record of the client, so not ours to refuse
		}
		return s.nak(m, c), nil, nil
	}
	r := s.reply(m, c, dhcpv4.MessageTypeAck)
	seconds := s.grant(r.Message, m, c, a)
	lease := Lease{IP: a, MAC: c.mac, ClientID: c.sent, Hostname: s.hostname(c)}
	if seconds != Forever {
		lease.Expiry = now + int64(seconds)
	}
	return s.send(r, m, c), s.bind(lease, c, now), nil
}

// known reports whether an address may be confirmed to a client. A client that was never heard of is confirmed what it
// believes to have when the network is ours alone: the lease file may have been lost. An address chosen from an offer
// must have been offered.
func (s *Server) known(a netip.Addr, c client, selecting bool) bool {
	if l := s.leases.at[a]; l != nil && c.owns(l) {
		return true
	}
	if _, offered := s.pool.offers[a]; offered {
		return true // to this client: an offer to somebody else counts as taken
	}
	return s.net.Authoritative && !selecting
}

func (s *Server) bind(lease Lease, c client, now int64) []Change {
	s.pool.forget(c)
	kind := LeaseAdded
	var changes []Change
	for _, old := range s.leases.put(lease) {
		switch {
		case !old.live(now):
		case old.IP == lease.IP:
			kind = LeaseRenewed
		default:
			gone := *old
			gone.Expiry = now
			changes = append(changes, Change{LeaseDeleted, gone})
		}
	}
	s.expect(lease)
	return append(changes, Change{kind, lease})
}

func (s *Server) decline(m *dhcpv4.DHCPv4, c client, now int64) (*Reply, []Change, error) {
	a, ok := address(m.RequestedIPAddress())
	if !ok {
		return nil, nil, RefuseMessage
	}
	l := s.leases.at[a]
	o, offered := s.pool.offers[a]
	mine := l != nil && c.owns(l)
	if !mine && (!offered || o.to.mac != c.mac || o.to.id != c.id) {
		return nil, nil, RefuseUnknown // nobody takes an address out of use that was never his
	}
	s.pool.forget(c)
	s.pool.declined[a] = now + declineSeconds
	return nil, s.end(l, mine, now), nil
}

func (s *Server) release(m *dhcpv4.DHCPv4, c client, now int64) (*Reply, []Change, error) {
	a, ok := address(m.ClientIPAddr)
	l := s.leases.at[a]
	if !ok || l == nil || !c.owns(l) {
		return nil, nil, RefuseUnknown
	}
	return nil, s.end(l, true, now), nil
}

// end makes a lease one of the past; it is remembered, so that the client gets the address again.
func (s *Server) end(l *Lease, mine bool, now int64) []Change {
	if !mine || !l.live(now) {
		return nil
	}
	l.Expiry = now
	return []Change{{LeaseDeleted, *l}}
}

func (s *Server) inform(m *dhcpv4.DHCPv4, c client) (*Reply, []Change, error) {
	a, ok := address(m.ClientIPAddr)
	if !ok || !s.net.usable(a) {
		return nil, nil, RefuseUnknown
	}
	return s.send(s.reply(m, c, dhcpv4.MessageTypeAck), m, c), nil, nil
}

// nak is always broadcast: the client must not be using the address a unicast would need (RFC 2131, 4.3.2).
func (s *Server) nak(m *dhcpv4.DHCPv4, c client) *Reply {
	r := s.bare(m, dhcpv4.MessageTypeNak)
	return &Reply{To: MAC{255, 255, 255, 255, 255, 255}, Target: netip.AddrFrom4([4]byte{255, 255, 255, 255}), Message: r}
}

// send addresses a reply (RFC 2131, 4.1): to the client's address if it has one, to everybody if it cannot receive
// unicast yet, else to the address it is being given.
func (s *Server) send(r *Reply, m *dhcpv4.DHCPv4, c client) *Reply {
	r.To = c.mac
	if a, ok := address(m.ClientIPAddr); ok {
		r.Target = a
		return r
	}
	if m.IsBroadcast() {
		r.To = MAC{255, 255, 255, 255, 255, 255}
		r.Target = netip.AddrFrom4([4]byte{255, 255, 255, 255})
		return r
	}
	r.Target, _ = address(r.Message.YourIPAddr)
	return r
}

// address returns a usable IPv4 address from what a message has.
func address(ip net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(ip.To4())
	return a, ok && !a.IsUnspecified()
}

// Remembered returns how many leases History has.
func (s *Server) Remembered() int { return len(s.leases.at) }
