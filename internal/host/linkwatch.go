package host

import (
	"context"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// LinkChange is what the kernel tells of a link.
type LinkChange struct {
	// Link is what the link is after the change, or was when it went.
	Link Link
	// Gone says that there is no such link any more.
	Gone bool
	// Lost says that the link has lost an address, a route of ours, what may bound its traffic, or, as a port of a bridge, an address that
	// somebody said is behind it; of Link only Index is known then.
	Lost bool
	// Port says that what the link is as a port of its bridge may have changed; of Link only Index is known then.
	Port bool
	// Forwards says that whether the host forwards packets was set, for all its links at once; nothing of Link is known
	// then. The same is told whatever it was set to, and of IPv4 as of IPv6.
	Forwards bool
}

// LinkWatch tells what changes about links, from when it was made.
type LinkWatch struct {
	*Multicast
}

// WatchLinks begins to watch all links of the network namespace. Run, which ends the watch, must be called.
func (k *Kernel) WatchLinks() (*LinkWatch, error) {
	m, err := k.Listen("link", unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
		unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF)
	if err != nil {
		return nil, err
	}
	if err := m.filtered(); err != nil {
		return nil, errors.Join(err, m.file.Close())
	}
	return &LinkWatch{m}, nil
}

// Run calls each with what changed, in order, until ctx is done; what was told while each ran comes together. With missed
// more changed than could be told, and only looking at every link says what.
func (w *LinkWatch) Run(ctx context.Context, each func(changes []LinkChange, missed bool)) error {
	var changes []LinkChange
	take := func(b []byte) (int, bool) {
		more, ok := parseChanges(b)
		changes = append(changes, more...)
		return len(more), ok
	}
	return w.Multicast.Run(ctx, take, func(missed bool) {
		each(changes, missed)
		changes = nil
	})
}

// parseChanges reads a datagram. What cannot be read counts as missed.
func parseChanges(b []byte) (changes []LinkChange, ok bool) {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return changes, false
		}
		c, is, err := parseChange(binary.NativeEndian.Uint16(b[4:]), b[unix.SizeofNlMsghdr:size])
		if err != nil {
			return changes, false
		}
		if is {
			changes = append(changes, c)
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return changes, true
}

// parseChange reads one message. Bridges tell of their ports too, in a family of their own.
func parseChange(kind uint16, m []byte) (c LinkChange, is bool, err error) {
	switch kind {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		if len(m) >= unix.SizeofIfInfomsg && m[0] == unix.AF_BRIDGE && kind == unix.RTM_NEWLINK {
			c.Port, c.Link.Index = true, int(int32(binary.NativeEndian.Uint32(m[4:])))
			return c, true, nil
		}
		if len(m) < unix.SizeofIfInfomsg || m[0] != unix.AF_UNSPEC {
			return c, false, nil
		}
		c.Link, err = parseLink(m)
		c.Gone = kind == unix.RTM_DELLINK
	case unix.RTM_DELNEIGH:
		if len(m) < unix.SizeofNdMsg || m[0] != unix.AF_BRIDGE {
			return c, false, nil
		}
		c.Lost, c.Link.Index = true, int(int32(binary.NativeEndian.Uint32(m[4:])))
	case unix.RTM_DELADDR:
		if len(m) < unix.SizeofIfAddrmsg {
			return c, false, nil
		}
		c.Lost, c.Link.Index = true, int(binary.NativeEndian.Uint32(m[4:])) // struct ifaddrmsg: family, prefixlen, flags, scope, index
	case unix.RTM_DELROUTE:
		c.Link.Index = lostRoute(m)
		c.Lost = c.Link.Index != 0
		return c, c.Lost, nil
	case unix.RTM_DELQDISC, unix.RTM_DELTCLASS, unix.RTM_DELTFILTER:
		c.Link.Index = lostQueue(kind, m)
		c.Lost = c.Link.Index != 0
		return c, c.Lost, nil
	case unix.RTM_NEWNETCONF:
		c.Forwards, err = parseForwards(m)
		return c, c.Forwards, err
	default:
		return c, false, nil
	}
	return c, err == nil, err
}

// Of the kernel's netconf.h, which x/sys does not carry.
const (
	netconfIfindex    = 1  // NETCONFA_IFINDEX
	netconfForwarding = 2  // NETCONFA_FORWARDING
	netconfAll        = -1 // NETCONFA_IFINDEX_ALL
)

// parseForwards reports whether a message tells of the forwarding of all links. Its header is one byte, the family.
func parseForwards(m []byte) (bool, error) {
	if len(m) < 4 {
		return false, nil
	}
	list, err := attrMap(m[4:])
	if err != nil {
		return false, err
	}
	index, named := list[netconfIfindex]
	_, forwarding := list[netconfForwarding]
	return named && forwarding && int32(uint32Value(index)) == netconfAll, nil
}
