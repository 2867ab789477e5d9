package vnetd

import (
	"math/rand/v2"
	"slices"

	"taproom/internal/network/arp"
	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
	"taproom/internal/network/ra"
)

// services are the cores of one network that live on frames. A core that is nil is not served.
type services struct {
	config helper.Network
	v4     *dhcp4.Server
	v6     *dhcp6.Server
	router *ra.Router
	prober *arp.Prober
	began  int64         // what ended before is no news
	idle   []lease.Lease // of what is not served now, for when it is again
}

// newServices makes the cores from what leases there are, and from the services before them, if there were.
func newServices(c helper.Network, leases []lease.Lease, old *services, now int64) (*services, error) {
	s := &services{config: c, began: now}
	var err error
	for _, l := range leases {
		if l.IP.Is4() && c.DHCP4 == nil || l.IP.Is6() && c.DHCP6 == nil {
			s.idle = append(s.idle, l)
		}
	}
	if c.DHCP4 != nil {
		if s.v4, err = dhcp4.NewServer(*c.DHCP4, leases, now); err != nil {
			return nil, err
		}
	}
	if c.DHCP6 != nil {
		if s.v6, err = dhcp6.NewServer(*c.DHCP6, leases, now); err != nil {
			return nil, err
		}
	}
	if old != nil && old.v4 != nil && s.v4 != nil {
		s.v4.Inherit(old.v4)
	}
	if old != nil && s.v4 != nil {
		s.prober = old.prober
	}
	if old != nil && old.v6 != nil && s.v6 != nil {
		s.v6.Inherit(old.v6)
	}
	adv := ra.Config{}
	if c.RA != nil {
		adv = *c.RA
	}
	if old != nil && old.router != nil { // one that is not wanted any more still has to take back what it said
		s.router = old.router
		s.router.Change(adv, now)
	} else if c.RA != nil {
		s.router = ra.NewRouter(adv, now, rand.Int64N)
	}
	return s, nil
}

// history is every lease there is a memory of.
func (s *services) history() []lease.Lease {
	all := slices.Clone(s.idle)
	if s.v4 != nil {
		all = append(all, s.v4.History()...)
	}
	if s.v6 != nil {
		all = append(all, s.v6.History()...)
	}
	return all
}

// running is every lease that holds at a time.
func (s *services) running(now int64) []lease.Lease {
	var all []lease.Lease
	if s.v4 != nil {
		all = s.v4.Leases(now)
	}
	if s.v6 != nil {
		all = append(all, s.v6.Leases(now)...)
	}
	return all
}

// remembered is how many leases history has.
func (s *services) remembered() int {
	n := len(s.idle)
	if s.v4 != nil {
		n += s.v4.Remembered()
	}
	if s.v6 != nil {
		n += s.v6.Remembered()
	}
	return n
}

// due is when tick has something to do.
func (s *services) due() int64 {
	at := int64(lease.Never)
	if s.v4 != nil {
		at = min(at, s.v4.NextExpiry())
	}
	if s.v6 != nil {
		if next := s.v6.NextExpiry(); next != 0 {
			at = min(at, next)
		}
	}
	if s.router != nil {
		at = min(at, s.router.Due())
	}
	if s.prober != nil {
		at = min(at, s.prober.Next())
	}
	return at
}

// ahead has the addresses that are given next probed, after something that may have changed them.
func (s *services) ahead(own packet.MAC, now int64) {
	if s.v4 == nil {
		return
	}
	if s.prober == nil {
		s.prober = arp.NewProber(own)
	}
	s.v4.Avoid(s.prober.Blocked)
	if next := s.v4.Upcoming(); !s.prober.Wants(next) {
		s.prober.Want(next, now)
	}
}

// expire ends leases.
func (s *services) expire(now int64) []lease.Change {
	var changes []lease.Change
	if s.v4 != nil {
		changes = s.v4.Expire(now)
	}
	if s.v6 != nil {
		changes = append(changes, s.v6.Expire(s.began, now)...)
	}
	return changes
}

// tick does what is due: leases end, and advertisements are sent.
func (s *services) tick(own packet.MAC, now int64) (changes []lease.Change, frames [][]byte) {
	changes = s.expire(now)
	if s.router != nil {
		if f := s.router.Advertise(own, s.config.LinkLocal, now); f != nil {
			frames = append(frames, f)
		}
	}
	if s.prober != nil {
		frames = append(frames, s.prober.Due(now)...)
	}
	return changes, frames
}

// handle answers a frame. The changes must be stored before the answer is sent.
func (s *services) handle(f frame, own packet.MAC, now int64) (answer []byte, changes []lease.Change, err error) {
	if !f.toUs {
		return nil, nil, packet.RefuseForeign
	}
	switch packet.Type(f.data) {
	case packet.TypeIPv4:
		return s.handle4(f, own, now)
	case packet.TypeIPv6:
		if len(f.data) > packet.EthHeader+6 && f.data[packet.EthHeader+6] == icmp6 {
			return s.solicited(f, own, now)
		}
		return s.handle6(f, own, now)
	case packet.TypeARP:
		return nil, nil, s.heard(f, now)
	}
	return nil, nil, packet.RefuseProtocol
}

// icmp6 is the next header of router solicitations.
const icmp6 = 58

func (s *services) handle4(f frame, own packet.MAC, now int64) ([]byte, []lease.Change, error) {
	p, err := dhcp4.ParseFrame(f.data, f.partial)
	switch {
	case err != nil:
		return nil, nil, err
	case p.Source == own:
		return nil, nil, packet.RefuseSource
	case s.v4 == nil:
		return nil, nil, packet.RefuseUnknown
	}
	r, changes, err := s.v4.Handle(p, now)
	if r == nil {
		return nil, changes, err
	}
	return r.Frame(own), changes, err
}

func (s *services) handle6(f frame, own packet.MAC, now int64) ([]byte, []lease.Change, error) {
	p, err := dhcp6.ParseFrame(f.data, f.partial)
	switch {
	case err != nil:
		return nil, nil, err
	case p.Source == own:
		return nil, nil, packet.RefuseSource
	case s.v6 == nil:
		return nil, nil, packet.RefuseUnknown
	}
	r, changes, err := s.v6.Handle(p, now)
	if r == nil {
		return nil, changes, err
	}
	return r.Frame(own, s.config.LinkLocal), changes, err
}

func (s *services) solicited(f frame, own packet.MAC, now int64) ([]byte, []lease.Change, error) {
	q, err := ra.ParseSolicitation(f.data, f.partial)
	if err != nil {
		return nil, nil, err
	}
	if s.router == nil {
		return nil, nil, packet.RefuseUnknown
	}
	return s.router.Answer(q, own, s.config.LinkLocal, now), nil, nil
}

// heard notes which card uses an address.
func (s *services) heard(f frame, now int64) error {
	a, err := packet.ParseARP(f.data)
	if err == nil && s.prober != nil {
		s.prober.Heard(a, now)
	}
	return err
}
