package dhcp4

import (
	"net"
	"net/netip"
	"slices"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// Server answers for one network. It does no I/O and knows no clock: the caller sends its replies and stores its
// changes, in the other order. Times are those of lease.Clock.Now. It is not safe for use from several goroutines.
type Server struct {
	net    Config
	pool   *pool
	leases *table
}

// NewServer returns a server for a valid configuration that starts with the leases a lease file held. Leases that the
// configuration no longer allows, or not for so long, stay until they run out, but are not renewed.
func NewServer(n Config, leases []lease.Lease, now int64) (*Server, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	s := &Server{net: n, leases: newTable()}
	s.leases.load(slices.DeleteFunc(slices.Clone(leases), func(l lease.Lease) bool { return !l.IP.Is4() }), now) // others are DHCPv6's
	s.pool = newPool(n, s.leases)
	return s, nil
}

// Inherit takes over what an earlier server of the network had promised, so that replacing a configuration does not
// turn away a client between OFFER and REQUEST.
func (s *Server) Inherit(old *Server) {
	s.pool.offers.inherit(old.pool.offers)
	s.pool.resting.inherit(old.pool.resting)
	for a, c := range s.pool.offers.all() {
		s.pool.offered[c] = a
		s.pool.refresh(a)
	}
	for a := range s.pool.resting.all() {
		s.pool.refresh(a)
	}
}

// Config returns the configuration.
func (s *Server) Config() Config { return s.net }

// Leases returns the leases that hold at a time, by address.
func (s *Server) Leases(now int64) []lease.Lease {
	return s.leases.sorted(func(l *lease.Lease) bool { return l.Live(now) })
}

// History returns all leases, those included that have ended but whose address would be given to the same client again.
func (s *Server) History() []lease.Lease {
	return s.leases.sorted(func(*lease.Lease) bool { return true })
}

// Remembered returns how many leases History has.
func (s *Server) Remembered() int { return len(s.leases.at) }

// Running returns how many leases hold, or ended after Expire was called last.
func (s *Server) Running() int { return len(s.leases.running) }

// NextExpiry returns when Expire has something to do, lease.Never for never.
func (s *Server) NextExpiry() int64 {
	if len(s.leases.running) == 0 {
		return lease.Never
	}
	return s.leases.running[0].Ends
}

// Expire returns the leases that have ended since it was called last.
func (s *Server) Expire(now int64) []lease.Change {
	s.pool.tidy(now)
	var out []lease.Change
	for _, l := range s.leases.expire(now) {
		out = append(out, lease.Change{Kind: lease.Deleted, Lease: l})
	}
	return out
}

// Upcoming returns the addresses that a client never seen before is given one of, the likeliest of nobody's: at most 64, and
// fewer when fewer were never given.
func (s *Server) Upcoming() []netip.Addr { return s.pool.upcoming() }

// Avoid has the server ask whether somebody else than a client uses an address, of which nothing is known here. One that is
// in use is given as a last resort. The function is asked within Handle.
func (s *Server) Avoid(blocked func(a netip.Addr, client packet.MAC, now int64) bool) {
	s.pool.blocked = blocked
}

// Handle answers a message at a time. No reply comes with a Refusal that says why, except where silence is the answer
// the protocol wants (RELEASE, DECLINE). The changes must be stored before the reply is sent.
func (s *Server) Handle(p *Packet, now int64) (*Reply, []lease.Change, error) {
	s.pool.tidy(now)
	m, c := p.Message, newClient(p.Message)
	if p.Target != everybody() && !s.ours(p.Target) && !slices.ContainsFunc(s.net.Subnets, func(n Subnet) bool { return broadcast(n.Prefix) == p.Target }) {
		return nil, nil, packet.RefuseForeign
	}
	if id, ok := address(m.ServerIdentifier()); ok && !s.ours(id) {
		if m.MessageType() == dhcpv4.MessageTypeRequest {
			s.pool.forget(c.identity) // it chose another server's offer
		}
		return nil, nil, packet.RefuseForeign
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
	return nil, nil, packet.RefuseMessage
}

func (s *Server) discover(m *dhcpv4.DHCPv4, c client, now int64) (*Reply, []lease.Change, error) {
	wish, _ := address(m.RequestedIPAddress())
	a, ok := s.pool.choose(c, wish, now)
	if !ok {
		return nil, nil, packet.RefuseFull
	}
	s.pool.promise(a, c, now)
	r := s.reply(m, c, dhcpv4.MessageTypeOffer, a)
	s.grant(r.Message, m, c, a)
	return s.send(r, m, c), nil, nil
}

// request serves all four states a REQUEST comes from (RFC 2131, 4.3.2): it has a server id when selecting, an address
// in the option when selecting or rebooting, and one in ciaddr when renewing or rebinding.
func (s *Server) request(m *dhcpv4.DHCPv4, c client, now int64) (*Reply, []lease.Change, error) {
	_, selecting := address(m.ServerIdentifier())
	a, ok := address(m.RequestedIPAddress())
	if !ok {
		a, ok = address(m.ClientIPAddr)
	}
	if !ok {
		return nil, nil, packet.RefuseMessage
	}
	if !s.pool.allowed(a, c) || s.pool.taken(a, c, now) || s.pool.better(a, c, now) || !s.known(a, c, selecting, now) {
		if !selecting && !s.net.Authoritative && s.leases.find(c.identity) == nil {
			return nil, nil, packet.RefuseUnknown // RFC 2131, 4.3.2: no record of the client, so not ours to refuse
		}
		return s.nak(m), nil, nil
	}
	r := s.reply(m, c, dhcpv4.MessageTypeAck, a)
	seconds := s.grant(r.Message, m, c, a)
	l := lease.Lease{IP: a, MAC: c.mac, ClientID: c.sent, Hostname: s.hostname(c), Ends: lease.Never}
	if seconds != Forever {
		l.Ends = now + int64(seconds)
	}
	return s.send(r, m, c), s.bind(l, c, now), nil
}

// known reports whether an address may be confirmed to a client. One that was never heard of is confirmed what it believes
// to have when the network is ours alone: the lease file may have been lost. An address it says we offered must have been
// offered, unless the offer was made by a process before this one, which is when it is the first thing we hear of it.
func (s *Server) known(a netip.Addr, c client, selecting bool, now int64) bool {
	if l := s.leases.at[a]; l != nil && c.owns(&l.Lease) {
		return true
	}
	if _, offered := s.pool.offers.get(a, now); offered {
		return true // to this client: an offer to somebody else counts as taken
	}
	if selecting {
		_, another := s.pool.offered[c.identity]
		return !another
	}
	return s.net.Authoritative
}

func (s *Server) bind(l lease.Lease, c client, now int64) []lease.Change {
	s.pool.forget(c.identity)
	kind := lease.Added
	var changes []lease.Change
	for _, old := range s.leases.put(l, now) {
		s.pool.refresh(old.IP)
		switch {
		case !old.Live(now):
		case old.IP == l.IP:
			kind = lease.Renewed
		default:
			gone := old.Lease
			gone.Ends = now
			changes = append(changes, lease.Change{Kind: lease.Deleted, Lease: gone})
		}
	}
	s.pool.refresh(l.IP)
	return append(changes, lease.Change{Kind: kind, Lease: l})
}

func (s *Server) decline(m *dhcpv4.DHCPv4, c client, now int64) (*Reply, []lease.Change, error) {
	a, ok := address(m.RequestedIPAddress())
	if !ok {
		return nil, nil, packet.RefuseMessage
	}
	l := s.leases.at[a]
	to, offered := s.pool.offers.get(a, now)
	mine := l != nil && c.owns(&l.Lease)
	if !mine && (!offered || to != c.identity) {
		return nil, nil, packet.RefuseUnknown // nobody takes an address out of use that was never his
	}
	s.pool.forget(c.identity)
	s.pool.leave(a, now)
	return nil, s.end(l, mine, now), nil
}

func (s *Server) release(m *dhcpv4.DHCPv4, c client, now int64) (*Reply, []lease.Change, error) {
	a, ok := address(m.ClientIPAddr)
	l := s.leases.at[a]
	if !ok || l == nil || !c.owns(&l.Lease) {
		return nil, nil, packet.RefuseUnknown
	}
	return nil, s.end(l, true, now), nil
}

// end ends a lease before its time.
func (s *Server) end(e *entry, mine bool, now int64) []lease.Change {
	if !mine || e.index < 0 {
		return nil
	}
	s.leases.end(e, now)
	return []lease.Change{{Kind: lease.Deleted, Lease: e.Lease}}
}

func (s *Server) inform(m *dhcpv4.DHCPv4, c client) (*Reply, []lease.Change, error) {
	a, ok := address(m.ClientIPAddr)
	if !ok || !s.net.usable(a) {
		return nil, nil, packet.RefuseUnknown
	}
	return s.send(s.reply(m, c, dhcpv4.MessageTypeAck, a), m, c), nil, nil
}

// nak is always broadcast: the client must not be using the address a unicast would need (RFC 2131, 4.3.2).
func (s *Server) nak(m *dhcpv4.DHCPv4) *Reply {
	server := s.net.Subnets[0].Server
	if id, ok := address(m.ServerIdentifier()); ok {
		server = id
	}
	return &Reply{To: packet.Broadcast(), Server: server, Target: everybody(), Message: bare(m, dhcpv4.MessageTypeNak, server)}
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
		r.To, r.Target = packet.Broadcast(), everybody()
		return r
	}
	r.Target, _ = address(r.Message.YourIPAddr)
	return r
}

// ours reports whether an address is one that we answer from.
func (s *Server) ours(a netip.Addr) bool {
	return slices.ContainsFunc(s.net.Subnets, func(n Subnet) bool { return n.Server == a })
}

func everybody() netip.Addr { return netip.AddrFrom4([4]byte{255, 255, 255, 255}) }

// address returns a usable IPv4 address from what a message has.
func address(ip net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(ip.To4())
	return a, ok && !a.IsUnspecified()
}
