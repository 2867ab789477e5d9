package lan

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Plan returns the steps from what is seen to how it should be.
func Plan(s *Seen, want Layout) []Step {
	want = want.Fresher(s)
	p := &planner{s: s, want: want}
	if want.Bridged {
		p.bridge()
	} else {
		p.unbridge()
	}
	return p.steps
}

type planner struct {
	s     *Seen
	want  Layout
	steps []Step
}

func (p *planner) add(steps ...Step) { p.steps = append(p.steps, steps...) }

// bridge has the bridge take over. Until the NIC is a port and the bridge sends, everything goes by the NIC; from then until
// the NIC's routes are gone, what leaves by the NIC and what comes to the bridge arrives all the same.
func (p *planner) bridge() {
	nic, bridge, want := &p.s.NIC, &p.s.Bridge, p.want
	now := bridge.Settings
	if bridge.Link.Index == 0 {
		p.add(makeBridge{want.Bridge, want.MAC, want.MTU})
		now = p.s.Fresh
	}
	settings := maps.Clone(want.BridgeSettings)
	dad, ok := settings[acceptDAD]
	ask := ok && slices.ContainsFunc(want.Addresses, func(a host.HostAddress) bool { return isIPv6(a) && !has(bridge, a) })
	if ask {
		settings[acceptDAD] = "0" // addresses that this host has had until now need no asking whether somebody has them
	}
	p.settings(want.Bridge, now, settings)
	if ask {
		now = maps.Clone(now)
		now[acceptDAD] = "0"
	}
	if !bridge.Link.Up {
		p.add(bringUp{want.Bridge})
	}
	p.addresses(bridge, want.Bridge, false)
	if !p.s.port() {
		p.add(enslave{want.NIC, want.Bridge})
		if want.Carrier {
			p.add(await{want.NIC, want.Bridge})
		}
	}
	p.neighbours(bridge, want.Bridge)
	p.addresses(bridge, want.Bridge, true)
	p.ways(bridge, want.Bridge)
	p.without(nic, want.NIC)
	p.settings(want.NIC, nic.Settings, want.NICSettings)
	if ask {
		p.settings(want.Bridge, now, map[string]string{acceptDAD: dad})
	}
}

// unbridge has the NIC take over, and removes the bridge. A NIC that has gone takes nothing.
func (p *planner) unbridge() {
	nic, bridge, want := &p.s.NIC, &p.s.Bridge, p.want
	if nic.Link.Index != 0 {
		dad, ok := want.NICSettings[acceptDAD]
		now := maps.Clone(nic.Settings)
		ask := ok && slices.ContainsFunc(want.Addresses, func(a host.HostAddress) bool { return isIPv6(a) && !has(nic, a) })
		if ask {
			p.settings(want.NIC, now, map[string]string{acceptDAD: "0"})
			now[acceptDAD] = "0"
		}
		p.settings(want.NIC, now, pick(want.NICSettings, keys{noIPv6}))
		if !nic.Link.Up {
			p.add(bringUp{want.NIC})
		}
		p.neighbours(nic, want.NIC)
		p.addresses(nic, want.NIC, false)
		p.addresses(nic, want.NIC, true)
		p.ways(nic, want.NIC)
		if bridge.Link.Index != 0 {
			p.without(bridge, want.Bridge)
		}
		if p.s.port() {
			p.add(release{want.NIC})
		}
		if ok {
			p.settings(want.NIC, now, map[string]string{acceptDAD: dad})
		}
	}
	if bridge.Link.Index != 0 {
		p.add(dropBridge{want.Bridge})
	}
}

// settings sets those that differ.
func (p *planner) settings(link string, now, want map[string]string) {
	for _, key := range copied {
		value, wanted := want[key]
		if old, ok := now[key]; wanted && (!ok && key == secret || ok && old != value) {
			p.add(set{link, key, value})
		}
	}
}

func isIPv6(a host.HostAddress) bool { return a.Prefix.Addr().Is6() }

func has(side *Side, a host.HostAddress) bool {
	return slices.ContainsFunc(side.Addresses, func(b host.HostAddress) bool { return a.Prefix == b.Prefix && a.Peer == b.Peer })
}

// addresses adds those of a family that a side lacks. Of IPv4 the kernel puts the newest last, of IPv6 first.
func (p *planner) addresses(to *Side, name string, six bool) {
	all := slices.Clone(p.want.Addresses)
	if six {
		slices.Reverse(all)
	}
	for _, a := range all {
		if isIPv6(a) == six && !has(to, a) {
			a.Label = relabel(a.Label, p.want.NIC, name)
			p.add(addAddress{name, a})
		}
	}
}

// neighbours adds what is known of them. What was learned is told when a side takes over, before it has routes, so that the first
// packets need not wait; later it is the kernel's.
func (p *planner) neighbours(to *Side, name string) {
	takesOver := p.want.Bridged != p.s.port()
	for _, n := range p.want.Neighbours {
		known := slices.ContainsFunc(to.Neighbours, func(o host.Neighbour) bool { return o.Addr == n.Addr })
		if !known && (n.Permanent || takesOver) {
			p.add(addNeighbour{name, n})
		}
	}
}

// ways adds routes and rules that a side lacks.
func (p *planner) ways(to *Side, name string) {
	has := func(r host.HostRoute) bool {
		return slices.ContainsFunc(to.Routes, func(o host.HostRoute) bool { return same(moved(o, to.Link.Index, 0), r) })
	}
	for _, r := range p.want.Routes {
		beside := p.beside(r)
		if !has(r) && !has(beside) {
			p.add(addRoute{name, beside})
		}
	}
	for _, r := range renamed(p.want.Rules, p.want.NIC, name) {
		if !slices.ContainsFunc(to.Rules, func(o host.RouteRule) bool { return reflect.DeepEqual(o, r) }) {
			p.add(addRule{r})
		}
	}
}

// metricOfRouters is the metric of default routes that routers advertise, where it is not set (IP6_RT_PRIO_USER).
const metricOfRouters = 1024

// beside is a route that does not lie where the kernel puts the one that a router advertises. The kernel does not take a default
// route that was added for its own: it fails to add it once more, and reads no further in the advertisement, so that addresses
// would not be prolonged (ndisc_router_discovery of net/ipv6/ndisc.c). This one counts until the next advertisement, and ends with
// its lifetime.
func (p *planner) beside(r host.HostRoute) host.HostRoute {
	metric := uint32(metricOfRouters)
	if set, err := strconv.ParseUint(p.want.BridgeSettings[routerMetric], 10, 32); err == nil && set > 0 {
		metric = uint32(set)
	}
	if r.Family() == unix.AF_INET6 && r.Proto == unix.RTPROT_RA && r.To.Bits() == 0 && r.Metric == metric {
		r.Metric++
	}
	return r
}

// same compares routes as the kernel does: what they lead to and how.
func same(a, b host.HostRoute) bool {
	a.Expires, b.Expires = 0, 0
	return reflect.DeepEqual(a, b)
}

// without takes rules, routes and addresses of IPv4 off a side; those of IPv6 go with the setting that disables it, or with
// the bridge. What came later goes first: the first of several addresses would take the others along.
func (p *planner) without(from *Side, name string) {
	for _, r := range from.Rules {
		p.add(delRule{r})
	}
	for _, r := range from.Routes {
		if !automatic(r, from.Addresses) {
			p.add(delRoute{name, moved(r, from.Link.Index, 0)})
		}
	}
	for _, a := range slices.Backward(from.Addresses) {
		if !isIPv6(a) {
			p.add(delAddress{name, a})
		}
	}
}
