package load

import (
	"errors"
	"fmt"
	"net/netip"

	"taproom/internal/host"
)

// Site is a host with a bridge that guests can be plugged into.
type Site struct {
	Bridge int           // its index
	Addr   [2]netip.Addr // the host's on it, of IPv4 and of IPv6

	kernel *host.Kernel
	names  int
}

const bits4, bits6 = 16, 64

// addresses are those of the n-th on a site; the first is the host's.
func addresses(n int) [2]netip.Addr {
	return [2]netip.Addr{netip.AddrFrom4([4]byte{10, 8, byte(n >> 8), byte(n)}), netip.AddrFrom16([16]byte{0: 0xfd, 7: 8, 14: byte(n >> 8), 15: byte(n)})}
}

// NewSite makes a bridge of that name, with an address of either family. Close it.
func NewSite(k *host.Kernel, name string) (*Site, error) {
	s := &Site{Addr: addresses(1), kernel: k, names: 1}
	var err error
	if s.Bridge, err = k.CreateBridge(host.BridgeSpec{Name: name}); err != nil {
		return nil, err
	}
	if err = raise(k, s.Bridge, Card{Name: name, Addresses: s.Prefixes(s.Addr)}, nil); err != nil {
		return nil, errors.Join(err, k.DeleteLink(s.Bridge))
	}
	return s, nil
}

// Prefixes are addresses as a card on the site has them.
func (s *Site) Prefixes(a [2]netip.Addr) []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(a[0], bits4), netip.PrefixFrom(a[1], bits6)}
}

// Close removes the bridge.
func (s *Site) Close() error { return s.kernel.DeleteLink(s.Bridge) }

// Place is a guest on a site. Close it.
type Place struct {
	*Guest
	Tap  *host.Tap
	MAC  string
	Addr [2]netip.Addr // of IPv4 and of IPv6
}

// Plug makes a guest in a namespace of its own, behind a tap that is a port of the bridge.
func (s *Site) Plug(inside *host.Kernel) (*Place, error) {
	tap, err := s.kernel.CreateTap(host.TapSpec{Name: fmt.Sprint("vnet", s.names-1), VNetHdr: true})
	if err != nil {
		return nil, err
	}
	if err = s.kernel.SetMaster(tap.Index, s.Bridge); err == nil {
		err = s.kernel.SetUp(tap.Index, true)
	}
	if err != nil {
		return nil, errors.Join(err, tap.Close())
	}
	return s.Take(s.kernel, inside, tap)
}

// Take makes a guest behind a tap or a macvtap of a host, which it owns from now on, also after an error.
func (s *Site) Take(outside, inside *host.Kernel, tap *host.Tap) (*Place, error) {
	s.names++
	mac := [6]byte{0x52, 0x54, 0, 0, byte(s.names >> 8), byte(s.names)}
	p := &Place{Tap: tap, MAC: fmt.Sprintf("52:54:00:00:%02x:%02x", mac[4], mac[5]), Addr: addresses(s.names)}
	var err error
	if p.Guest, err = NewGuest(inside, outside, tap, Card{Name: "eth0", Addresses: s.Prefixes(p.Addr)}, mac[:]); err != nil {
		return nil, errors.Join(err, tap.Close())
	}
	return p, nil
}

// Close ends the guest and gives its tap back, which goes with that; a macvtap stays.
func (p *Place) Close() error { return errors.Join(p.Guest.Close(), p.Tap.Close()) }
