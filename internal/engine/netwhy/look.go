package netwhy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/network/why"
)

// Look gathers what there is to know, and sends a probe.
func (l *Looker) Look(ctx context.Context, s Subject, to To) (*why.Facts, error) {
	bridge, facts, err := l.begin(s)
	if err != nil {
		return nil, err
	}
	if err := l.ends(s, facts, &to, bridge); err != nil {
		return nil, err
	}
	if err := l.settings(facts, bridge); err != nil {
		return nil, err
	}
	if err := l.route(facts, bridge); err != nil {
		return nil, err
	}
	if err := l.taken(facts, to, bridge); err != nil {
		return nil, err
	}
	l.port53(s, facts)
	if facts.Tables, err = l.tables(ctx, facts.To.Is6(), ""); err != nil {
		return nil, err
	}
	if err := l.texts(ctx, facts); err != nil {
		return nil, err
	}
	switch {
	case !facts.BridgeUp:
		facts.Untold = "the bridge is down"
		return facts, nil
	case facts.To.IsLoopback():
		facts.Untold = "no guest sends there by its NIC"
		return facts, nil
	}
	if err := l.probe(ctx, s, facts, bridge); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		facts.Untold = err.Error()
	}
	return facts, nil
}

func (l *Looker) begin(s Subject) (host.Link, *why.Facts, error) {
	f := &why.Facts{
		Object: s.Object, Label: s.Label, Ours: l.Table, Network: s.Network, Mode: s.Mode, Serves: s.Serves, Bridge: s.Bridge,
	}
	bridge, err := l.Kernel.LinkByName(s.Bridge)
	if err != nil && !errors.Is(err, host.ErrNoLink) {
		return bridge, nil, err
	}
	f.BridgeUp = err == nil && bridge.Up
	f.Subnets = s.Subnets
	if len(f.Subnets) == 0 && err == nil {
		own, err := l.Kernel.Addresses(bridge.Index)
		if err != nil && !errors.Is(err, host.ErrPartial) {
			return bridge, nil, err
		}
		for _, p := range own {
			if !p.Addr().IsLinkLocalUnicast() {
				f.Subnets = append(f.Subnets, p)
			}
		}
	}
	if s.Guest != nil {
		f.Tap = s.Guest.Tap
		tap, err := l.Kernel.LinkByName(f.Tap)
		if err != nil && !errors.Is(err, host.ErrNoLink) {
			return bridge, nil, err
		}
		f.Plugged = err == nil && tap.Up && tap.Master == bridge.Index
	}
	return bridge, f, nil
}

// ends finds the addresses of the packet.
func (l *Looker) ends(s Subject, f *why.Facts, to *To, bridge host.Link) error {
	v6 := to.Addr.Is6()
	if !to.Addr.IsValid() {
		v6 = onlyIPv6(f.Subnets)
		*to = nobody(v6)
	}
	f.To, f.Port, f.Sport, f.Proto = to.Addr, to.Port, l.port(), "tcp"
	if f.Port == 0 {
		f.Proto = "icmp"
		if v6 {
			f.Proto = "ipv6-icmp"
		}
	}
	known, err := l.Kernel.Neighbours()
	if err != nil && !errors.Is(err, host.ErrPartial) {
		return err
	}
	if s.Guest != nil {
		f.Source, f.SourceFrom = guestAddress(s.Guest, known, v6)
	}
	if f.Source.IsValid() {
		return nil
	}
	for _, p := range f.Subnets {
		if p.Addr().Is6() == v6 {
			f.Source, f.SourceFrom = free(p, known, bridge.Index), "free"
			return nil
		}
	}
	family := "IPv4"
	if v6 {
		family = "IPv6"
	}
	return fmt.Errorf("%s: %s has no %s address, and no guest on it is known to have one, so there is no packet to follow; give the network an <ip>, or have the guest send something first", s.Object, s.Bridge, family)
}

func onlyIPv6(subnets []netip.Prefix) bool {
	return len(subnets) > 0 && !slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Addr().Is4() })
}

func guestAddress(g *Guest, known []host.Neighbour, v6 bool) (netip.Addr, string) {
	for _, a := range g.Leased {
		if a.Is6() == v6 {
			return a, "lease"
		}
	}
	for _, n := range known {
		if strings.EqualFold(n.MAC, g.MAC.String()) && n.Addr.Is6() == v6 && !n.Addr.IsLinkLocalUnicast() {
			return n.Addr, "neighbour"
		}
	}
	return netip.Addr{}, ""
}

// freeTries bounds how many addresses are looked at; nobody has that many guests at the end of a subnet.
const freeTries = 4096

// free is an address of a subnet that the host has not heard from, counted from its end, where fewest are given out.
func free(p netip.Prefix, known []host.Neighbour, link int) netip.Addr {
	last := p.Masked().Addr()
	b := last.AsSlice()
	for bit := p.Bits(); bit < last.BitLen(); bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ = netip.AddrFromSlice(b)
	a := last.Prev() // the last one is for all of them
	for range freeTries {
		if !p.Contains(a) {
			break
		}
		taken := a == p.Addr() || slices.ContainsFunc(known, func(n host.Neighbour) bool { return n.Index == link && n.Addr == a })
		if !taken {
			return a
		}
		a = a.Prev()
	}
	return last.Prev()
}

// settings reads what the kernel is told to do.
func (l *Looker) settings(f *why.Facts, bridge host.Link) error {
	read := func(path string) int {
		v, err := l.Kernel.Sysctl(path)
		if err != nil {
			return 0 // no such setting: the kernel does not do it
		}
		n, _ := strconv.Atoi(strings.TrimSpace(v))
		return n
	}
	if f.To.Is6() {
		f.ForwardAll = read("net/ipv6/conf/all/forwarding") != 0
		f.Forwarding = f.ForwardAll
		f.BridgeNF = read("net/bridge/bridge-nf-call-ip6tables") != 0
	} else {
		f.ForwardAll = read("net/ipv4/ip_forward") != 0
		f.Forwarding = read("net/ipv4/conf/"+bridge.Name+"/forwarding") != 0
		f.RPFilter = max(read("net/ipv4/conf/all/rp_filter"), read("net/ipv4/conf/"+bridge.Name+"/rp_filter"))
		f.BridgeNF = read("net/bridge/bridge-nf-call-iptables") != 0
	}
	return nil
}

// route asks the kernel where the packet would go, and looks who else claims the network's addresses.
func (l *Looker) route(f *why.Facts, bridge host.Link) error {
	routes, err := l.Kernel.Routes()
	if err != nil && !errors.Is(err, host.ErrPartial) {
		return err
	}
	for _, r := range routes {
		if r.To.Bits() == 0 && r.To.Addr().Is6() == f.To.Is6() {
			f.Route.Default = true
		}
		for _, s := range f.Subnets {
			if f.Network == "" || r.Link == bridge.Index || r.To.Addr().Is6() != s.Addr().Is6() || r.To.Bits() < s.Bits() || !s.Contains(r.To.Addr()) {
				continue
			}
			if via, err := l.Kernel.LinkByIndex(r.Link); err == nil {
				f.Overlaps = append(f.Overlaps, why.Overlap{Prefix: r.To, Link: via.Name})
			}
		}
	}
	if bridge.Index == 0 {
		return nil
	}
	return l.way(f, f.To, bridge)
}

// way asks the kernel where a packet that came in by the bridge goes.
func (l *Looker) way(f *why.Facts, to netip.Addr, bridge host.Link) error {
	hop, err := l.Kernel.RouteOf(f.Source, to, bridge.Index)
	if err != nil {
		return err
	}
	f.Route.Local, f.Route.Gateway = hop.Local, hop.Gateway
	if hop.Refused != 0 {
		f.Route.Error = unix.ErrnoName(hop.Refused)
		return nil
	}
	if out, err := l.Kernel.LinkByIndex(hop.Link); err == nil {
		f.Route.Out = out.Name
		now, err := l.Kernel.LinkState(hop.Link)
		f.Route.OutUp = err == nil && now.Carrier
	}
	return nil
}

// taken looks whether the packet is for a port of the host that leads to a guest, and where it goes from there.
func (l *Looker) taken(f *why.Facts, to To, bridge host.Link) error {
	i := slices.IndexFunc(to.Forwards, func(w why.Forward) bool { return w.Takes(f.To, f.Port) })
	if i < 0 || !f.Route.Local && !f.To.IsLoopback() {
		return nil
	}
	f.Taken = &to.Forwards[i]
	guest, ok := f.Rewritten()
	if !ok {
		return nil
	}
	f.Route = why.Route{Default: f.Route.Default}
	return l.way(f, guest.Addr(), bridge)
}

// helperName is what our own program that answers guests is called.
const helperName = "taproom-vnet"

// port53 looks who answers guests' questions for names.
func (l *Looker) port53(s Subject, f *why.Facts) {
	if !s.Serves {
		return
	}
	for _, p := range s.Subnets {
		h, err := l.Kernel.PortHolder("udp", netip.AddrPortFrom(p.Addr(), 53))
		if err == nil && !strings.HasPrefix(h.Name, helperName) {
			f.Squatter = h.String()
			return
		}
	}
}
