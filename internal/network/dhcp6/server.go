package dhcp6

import (
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// Server answers for one network. It does no I/O and knows no clock: the caller sends its replies and stores its
// changes, in the other order. It is not safe for use from several goroutines.
type Server struct {
	config  Config
	pool    *pool
	options []dhcpv6.Option // that do not depend on the client
	born    int64
	settled bool // Expire has reported what ended before
}

// NewServer returns a server for a valid configuration that starts with the leases a lease file held, oldest first. Leases
// that the configuration no longer allows, or not for so long, stay until they run out, but are not renewed.
func NewServer(c Config, leases []lease.Lease, now int64) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Server{config: c, born: now}
	s.pool = newPool(&s.config, len(leases))
	s.options = s.static()
	for _, l := range leases {
		if l.IP.Is6() && !l.IP.Is4In6() {
			s.load(l, now)
		}
	}
	for t := s.pool.leases; len(t.ended) > 0 && len(t.at) > maxLeases; {
		s.pool.drop(t.ended[0])
	}
	return s, nil
}

func (s *Server) load(l lease.Lease, now int64) {
	p := s.pool
	if e := p.leases.at[l.IP]; e != nil {
		p.drop(e)
	}
	for e := p.leases.of[owner(&l)]; e != nil; e = e.older {
		if !e.Live(now) {
			p.drop(e)
		}
	}
	p.queue(p.leases.add(l), now)
	p.refresh(l.IP)
}

// Inherit takes over what an earlier server of the network knows and no lease file does: which addresses rest.
func (s *Server) Inherit(old *Server) {
	for _, o := range old.pool.rest.order {
		if old.pool.rest.until[o.addr] == o.until && s.pool.leases.at[o.addr] == nil {
			s.pool.rest.put(o.addr, o.until)
			s.pool.refresh(o.addr)
		}
	}
}

// Config returns the configuration.
func (s *Server) Config() Config { return s.config }

// Leases returns the leases that hold at a time, by address.
func (s *Server) Leases(now int64) []lease.Lease {
	return s.pool.leases.sorted(func(l *lease.Lease) bool { return l.Live(now) })
}

// History returns all leases, those included that have ended but whose address would be given to the same client again.
func (s *Server) History() []lease.Lease {
	return s.pool.leases.sorted(func(*lease.Lease) bool { return true })
}

// Remembered returns how many leases History has.
func (s *Server) Remembered() int { return len(s.pool.leases.at) }

// NextExpiry returns when Expire has something to do, zero for never. It may be early, never late.
func (s *Server) NextExpiry() int64 {
	next := int64(lease.Never)
	if q := s.pool.leases.running; len(q) > 0 {
		next = q[0].Ends
	}
	if o, ok := s.pool.rest.first(); ok {
		next = min(next, o.until)
	}
	if next == lease.Never {
		return 0
	}
	return next
}

// Expire returns the leases that ended up to now, each once; of those that the server was made with, what ended after since.
func (s *Server) Expire(since, now int64) []lease.Change {
	var changes []lease.Change
	if !s.settled {
		s.settled = true
		for _, l := range s.pool.leases.sorted(func(l *lease.Lease) bool { return !l.Live(s.born) }) {
			if l.Ends > since {
				changes = append(changes, lease.Change{Kind: lease.Deleted, Lease: l})
			}
			s.pool.retire(s.pool.leases.at[l.IP])
		}
	}
	return append(changes, s.pool.settle(now)...)
}

// Handle answers a message at a time. No reply comes with a packet.Refusal that says why. The changes, which may come with
// a refusal as well, must be stored before the reply is sent.
func (s *Server) Handle(p *Packet, now int64) (*Reply, []lease.Change, error) {
	if err := p.check(s.config.DUID); err != nil {
		return nil, nil, err
	}
	x := &exchange{Server: s, p: p, now: now, changes: s.pool.settle(now)}
	if !p.Target.IsMulticast() {
		x.begin(dhcpv6.MessageTypeReply) // RFC 8415, 18.4: nobody was told to send by unicast
		x.status(useMulticast)
		return x.reply, x.changes, nil
	}
	x.client = client{mac: p.Source, duid: duidText(p.client), name: p.name()}
	x.client.host = s.pool.host(&x.client, p.client)
	for _, a := range p.ias {
		if a.kind == dhcpv6.OptionIANA {
			x.client.ias = append(x.client.ias, a.number())
		}
	}
	err := error(packet.RefuseMessage)
	switch p.Type {
	case dhcpv6.MessageTypeSolicit:
		err = x.solicit()
	case dhcpv6.MessageTypeRequest:
		err = x.request()
	case dhcpv6.MessageTypeConfirm:
		err = x.confirm()
	case dhcpv6.MessageTypeRenew, dhcpv6.MessageTypeRebind:
		err = x.extend()
	case dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline:
		err = x.giveBack()
	case dhcpv6.MessageTypeInformationRequest:
		err = x.inform()
	}
	if err != nil {
		return nil, x.changes, err
	}
	return x.reply, x.changes, nil
}

// exchange is a message and what comes of it.
type exchange struct {
	*Server
	p       *Packet
	client  client
	now     int64
	reply   *Reply
	room    int // bytes left in the reply
	changes []lease.Change
}

// bind gives an address to an identity association from now on.
func (x *exchange) bind(iaid uint32, a netip.Addr) {
	l := lease.Lease{IP: a, MAC: x.client.mac, ClientID: x.client.duid, IAID: iaid, Hostname: x.hostname(), Ends: lease.Never}
	if seconds := x.pool.seconds(a, x.client.host); seconds != Forever {
		l.Ends = x.now + int64(seconds)
	}
	x.changes = append(x.changes, x.pool.store(l, x.now)...)
}

// hostname is the fixed name of a client, or the one it gives itself.
func (x *exchange) hostname() string {
	if h := x.client.host; h != nil && h.Name != "" {
		return h.Name
	}
	return x.client.name
}
