package state

import (
	"errors"
	"net/netip"

	"taproom/internal/host"
)

// Macvlan is a link with an address of its own on a link of the host: a guest's macvtap, or a macvlan for the host itself.
type Macvlan struct {
	Owner string // UUID of the guest
	Lower string // the link that it lies on, which is not ours
	Tap   bool   // a macvtap: making one yields descriptors, which whoever carries the plan out must pass on
	Mode  host.MacvlanMode
	MAC   string // of a macvtap the guest's; "" is any
	MTU   int    // 0 is any
	// Addresses are the host's, sorted by host.ComparePrefix, without link-local ones of IPv6. A macvtap has none.
	Addresses []netip.Prefix
	NoIPv6    bool
	// Static says that the kernel gives it no IPv6 address by itself and believes no router. Only desired.
	Static bool
	// AllMulticast lets every multicast frame through. Without it a macvtap gets those alone that the host listens for, so
	// its guest gets no neighbour solicitations of IPv6. Desired or not, it is never taken away.
	AllMulticast bool
	// Told says that its guest says what it is to take: AllMulticast, Promiscuous and Hears are then exactly so. Only desired.
	Told        bool
	Promiscuous bool // it takes every frame
	// Hears are the addresses beside its own that it takes frames for, in lower case, sorted, with spaces between. They are
	// looked at where Scope.Told names it.
	Hears  string
	Up     bool
	Queues int // 0 is 1; counts only when it is made
	// Leaving says that somebody was about to remove it and did not. Only observed.
	Leaving bool
	// Held says that a guest has its descriptors: it is changed and never made. Only desired.
	Held bool
}

// Lower is a link that macvlans lie on. It is not ours: it is brought up and never down, and gets an address back that was
// changed for a guest.
type Lower struct {
	Up  bool
	MAC string // "" leaves it as it is
	// Lent is the address that a macvtap in mode passthrough gave it: only that one is replaced by MAC.
	Lent string
}

// lowers looks at links of others.
func (o *Observed) lowers(e *Env, s Scope) error {
	for _, name := range s.Lowers {
		l, err := e.Kernel.LinkByName(name)
		if errors.Is(err, host.ErrNoLink) {
			continue
		}
		if err != nil {
			return err
		}
		o.Lowers[name], o.Index[name] = Lower{Up: l.Up, MAC: l.MAC}, l.Index
	}
	return nil
}

// macvlanAddresses reads the addresses of a macvlan that is the host's.
func (o *Observed) macvlanAddresses(e *Env, name string) error {
	m, ok := o.Macvlans[name]
	if !ok || m.Tap {
		return nil
	}
	a, there, err := o.addressesOf(e, name, o.Index[name])
	if err != nil {
		return err
	}
	if !there {
		delete(o.Macvlans, name)
		return nil
	}
	o.hostAddresses(name, a)
	return nil
}

// hostAddresses keeps the addresses of a macvlan that is the host's.
func (o *Observed) hostAddresses(name string, all []netip.Prefix) {
	m, ok := o.Macvlans[name]
	if !ok || m.Tap {
		return
	}
	var b Bridge
	b.split(all)
	m.Addresses = b.Addresses
	o.Macvlans[name] = m
}
