package lan

import (
	"bytes"
	"math"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Layout is how a NIC and its bridge should be. It is written down before anything is changed.
type Layout struct {
	NIC     string `json:"nic"`
	Bridge  string `json:"bridge"`
	Bridged bool   `json:"bridged"`
	MAC     string `json:"mac"`
	MTU     int    `json:"mtu"`
	Carrier bool   `json:"carrier"` // the NIC has one, so the bridge will
	// At is the time since boot, in nanoseconds, that lifetimes count from.
	At int64 `json:"at"`
	// What the one of the two has that talks IP. A hop by link 0 is by that one; labels and rules have the NIC's name.
	Addresses  []host.HostAddress `json:"addresses,omitempty"`
	Routes     []host.HostRoute   `json:"routes,omitempty"`
	Rules      []host.RouteRule   `json:"rules,omitempty"`
	Neighbours []host.Neighbour   `json:"neighbours,omitempty"`
	// Settings of either, by their names below net/; those of the bridge count while there is one.
	NICSettings    map[string]string `json:"nic_settings,omitempty"`
	BridgeSettings map[string]string `json:"bridge_settings,omitempty"`
}

// Holder is the link that talks IP.
func (l *Layout) Holder() string {
	if l.Bridged {
		return l.Bridge
	}
	return l.NIC
}

// Current is the layout of a NIC that talks IP itself, as it is seen.
func Current(s *Seen, bridge string) Layout {
	l := s.layout(&s.NIC, bridge)
	l.MAC, l.MTU = s.NIC.Link.MAC, s.NIC.Link.MTU
	l.NICSettings, l.BridgeSettings = pick(s.NIC.Settings, lent), pick(s.NIC.Settings, copied)
	return l
}

// WithBridge is the layout in which the bridge has taken over from such a NIC.
func (l Layout) WithBridge() Layout {
	l.Bridged = true
	if _, ok := l.NICSettings[noIPv6]; ok { // not on a kernel without IPv6
		l.NICSettings = map[string]string{noIPv6: "1"}
	}
	return l
}

// Unbridged is the layout in which the NIC gets back what its bridge has by now; before is how the NIC once was.
func Unbridged(s *Seen, before Layout) Layout {
	l := s.layout(&s.Bridge, before.Bridge)
	l.MAC, l.MTU, l.NICSettings = before.MAC, before.MTU, before.NICSettings
	return l
}

// Fresher gives a layout the lifetimes that its addresses have by now, where somebody has prolonged them meanwhile.
func (l Layout) Fresher(s *Seen) Layout {
	old := l
	l.At, l.Addresses = s.Now, nil
	for _, a := range old.Addresses {
		valid, preferred := old.left(a.Valid, s.Now), old.left(a.Preferred, s.Now)
		for _, side := range []*Side{&s.NIC, &s.Bridge} {
			for _, b := range side.Addresses {
				if a.Prefix == b.Prefix {
					valid, preferred = max(valid, b.Valid), max(preferred, b.Preferred)
				}
			}
		}
		if a.Valid, a.Preferred = valid, preferred; valid > 0 {
			l.Addresses = append(l.Addresses, a)
		}
	}
	l.Routes = nil
	for _, r := range old.Routes {
		if r.Expires > 0 {
			if r.Expires = old.left(r.Expires, s.Now); r.Expires == 0 {
				continue
			}
		}
		l.Routes = append(l.Routes, r)
	}
	return l
}

// left is how many seconds of a lifetime are left.
func (l Layout) left(seconds uint32, now int64) uint32 {
	if seconds == host.Forever {
		return seconds
	}
	gone := (now - l.At) / int64(time.Second)
	return uint32(max(0, min(int64(seconds)-gone, math.MaxUint32)))
}

// layout is what one of the two has, in the names of the NIC.
func (s *Seen) layout(of *Side, bridge string) Layout {
	l := Layout{NIC: s.NIC.Link.Name, Bridge: bridge, At: s.Now, Carrier: s.NIC.Carrier, Rules: renamed(of.Rules, of.Link.Name, s.NIC.Link.Name)}
	for _, a := range of.Addresses {
		if kernels(a, of) {
			continue
		}
		a.Label = relabel(a.Label, of.Link.Name, s.NIC.Link.Name)
		l.Addresses = append(l.Addresses, a)
	}
	for _, r := range of.Routes {
		if !automatic(r, of.Addresses) {
			l.Routes = append(l.Routes, moved(r, of.Link.Index, 0))
		}
	}
	for _, n := range of.Neighbours {
		n.Index = 0
		l.Neighbours = append(l.Neighbours, n)
	}
	return l
}

// kernels reports whether an address is the link-local one that the kernel gives a link for its MAC address.
func kernels(a host.HostAddress, of *Side) bool {
	const byMAC = "0"
	addr := a.Prefix.Addr()
	if !addr.Is6() || !addr.IsLinkLocalUnicast() || of.Settings["ipv6/addr_gen_mode"] != byMAC {
		return false
	}
	b, mac := addr.As16(), macBytes(of.Link.MAC)
	return len(mac) == 6 && bytes.Equal(b[8:], []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]})
}

// automatic reports whether a route is one that the kernel makes when it is given one of the addresses.
func automatic(r host.HostRoute, addresses []host.HostAddress) bool {
	if r.Proto != unix.RTPROT_KERNEL || r.Table != unix.RT_TABLE_MAIN {
		return false
	}
	for _, a := range addresses {
		to := a.Prefix
		if a.Peer.IsValid() {
			to, _ = a.Peer.Prefix(a.Prefix.Bits())
		}
		if a.Holds() && to.Masked() == r.To {
			return true
		}
	}
	return false
}

// moved is a route by another link.
func moved(r host.HostRoute, from, to int) host.HostRoute {
	hops := make([]host.HostHop, len(r.Hops))
	for i, h := range r.Hops {
		if h.Link == from {
			h.Link = to
		}
		hops[i] = h
	}
	r.Hops = hops
	return r
}

func renamed(rules []host.RouteRule, from, to string) []host.RouteRule {
	out := make([]host.RouteRule, 0, len(rules))
	for _, r := range rules {
		out = append(out, r.Renamed(from, to))
	}
	return out
}

// relabel gives an address of IPv4 the label that belongs to another link: eth0:1 becomes br0:1.
func relabel(label, from, to string) string {
	if rest, ok := strings.CutPrefix(label, from); ok && (rest == "" || rest[0] == ':') {
		label = to + rest
	}
	return label[:min(len(label), unix.IFNAMSIZ-1)]
}
