package lan

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

type addAddress struct {
	link string
	host.HostAddress
}

func (s addAddress) String() string {
	b := words{"ip", "address", "add", s.which()}
	b.addIf(s.Broadcast.IsValid(), "broadcast", s.Broadcast.String())
	b.addIf(s.Scope != unix.RT_SCOPE_UNIVERSE && !isIPv6(s.HostAddress), "scope", scope(s.Scope))
	b.add("dev", s.link)
	b.addIf(s.Label != "" && s.Label != s.link, "label", s.Label)
	b.addIf(s.Metric != 0, "metric", strconv.Itoa(int(s.Metric)))
	b.addIf(s.Proto != 0, "proto", strconv.Itoa(int(s.Proto)))
	b.addIf(s.Valid != host.Forever, "valid_lft", strconv.Itoa(int(s.Valid)), "preferred_lft", strconv.Itoa(int(s.Preferred)))
	for _, f := range []struct {
		bit  uint32
		name string
	}{
		{unix.IFA_F_HOMEADDRESS, "home"},
		{unix.IFA_F_MANAGETEMPADDR, "mngtmpaddr"},
		{unix.IFA_F_NODAD, "nodad"},
		{unix.IFA_F_OPTIMISTIC, "optimistic"},
		{unix.IFA_F_NOPREFIXROUTE, "noprefixroute"},
		{unix.IFA_F_MCAUTOJOIN, "autojoin"},
	} {
		b.addIf(s.Flags&f.bit != 0, f.name)
	}
	return b.String()
}

func (s addAddress) which() string { return which(s.HostAddress) }

func which(a host.HostAddress) string {
	if a.Peer.IsValid() {
		return fmt.Sprintf("%s peer %s/%d", a.Prefix.Addr(), a.Peer, a.Prefix.Bits())
	}
	return a.Prefix.String()
}

func (s addAddress) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	return k.AddHostAddress(links[s.link], s.HostAddress)
}

type delAddress struct {
	link string
	host.HostAddress
}

func (s delAddress) String() string {
	return fmt.Sprintf("ip address delete %s dev %s", which(s.HostAddress), s.link)
}

func (s delAddress) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	return k.DelHostAddress(links[s.link], s.HostAddress)
}

type addRoute struct {
	link string
	host.HostRoute
}

func (s addRoute) String() string { return routeCommand("append", s.link, s.HostRoute) }
func (s addRoute) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	return k.AddHostRoute(moved(s.HostRoute, 0, links[s.link]))
}

type delRoute struct {
	link string
	host.HostRoute
}

func (s delRoute) String() string { return routeCommand("delete", s.link, s.HostRoute) }
func (s delRoute) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	return k.DelHostRoute(moved(s.HostRoute, 0, links[s.link]))
}

type addNeighbour struct {
	link string
	host.Neighbour
}

func (s addNeighbour) String() string {
	state := "stale"
	if s.Permanent {
		state = "permanent"
	}
	return fmt.Sprintf("ip neighbour add %s lladdr %s nud %s dev %s", s.Addr, s.MAC, state, s.link)
}

func (s addNeighbour) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	n := s.Neighbour
	n.Index = links[s.link]
	return k.AddNeighbour(n)
}

type addRule struct{ host.RouteRule }

func (s addRule) String() string { return ruleCommand("add", s.RouteRule) }
func (s addRule) apply(_ context.Context, k *host.Kernel, _ map[string]int) error {
	return k.AddRouteRule(s.RouteRule)
}

type delRule struct{ host.RouteRule }

func (s delRule) String() string { return ruleCommand("delete", s.RouteRule) }
func (s delRule) apply(_ context.Context, k *host.Kernel, _ map[string]int) error {
	return k.DelRouteRule(s.RouteRule)
}

// words are those of a command.
type words []string

func (w *words) add(more ...string) { *w = append(*w, more...) }
func (w *words) addIf(is bool, more ...string) {
	if is {
		w.add(more...)
	}
}
func (w words) String() string { return strings.Join(w, " ") }

// Names that ip has for what it knows by number.
var (
	routeTypes   = map[uint8]string{unix.RTN_LOCAL: "local", unix.RTN_BROADCAST: "broadcast", unix.RTN_ANYCAST: "anycast", unix.RTN_MULTICAST: "multicast"}
	routeMetrics = map[uint16]string{
		unix.RTAX_MTU: "mtu", unix.RTAX_WINDOW: "window", unix.RTAX_SSTHRESH: "ssthresh", unix.RTAX_CWND: "cwnd", unix.RTAX_ADVMSS: "advmss",
		unix.RTAX_REORDERING: "reordering", unix.RTAX_HOPLIMIT: "hoplimit", unix.RTAX_INITCWND: "initcwnd", unix.RTAX_INITRWND: "initrwnd",
		unix.RTAX_QUICKACK: "quickack", unix.RTAX_FASTOPEN_NO_COOKIE: "fastopen_no_cookie",
	}
	routePrefs = map[uint8]string{1: "high", 3: "low"}
)

func routeCommand(verb, link string, r host.HostRoute) string {
	b := words{"ip"}
	b.addIf(r.Family() == unix.AF_INET6, "-6")
	b.add("route", verb)
	b.addIf(routeTypes[r.Type] != "", routeTypes[r.Type])
	if r.To.Bits() == 0 {
		b.add("default")
	} else {
		b.add(r.To.String())
	}
	b.addIf(r.From.IsValid(), "from", r.From.String())
	b.addIf(r.TOS != 0, "tos", strconv.Itoa(int(r.TOS)))
	several := len(r.Hops) > 1 || r.Hops[0].Weight > 0
	if !several {
		b.add(hop(r, r.Hops[0], link)...)
	}
	b.addIf(r.Table != unix.RT_TABLE_MAIN, "table", strconv.Itoa(int(r.Table)))
	b.addIf(r.Proto != unix.RTPROT_BOOT, "proto", strconv.Itoa(int(r.Proto)))
	usual := uint8(unix.RT_SCOPE_LINK)
	if several || r.Hops[0].Gateway.IsValid() {
		usual = unix.RT_SCOPE_UNIVERSE
	}
	b.addIf(r.Family() == unix.AF_INET && r.Scope != usual, "scope", scope(r.Scope))
	b.addIf(r.Source.IsValid(), "src", r.Source.String())
	b.addIf(r.Metric != 0, "metric", strconv.Itoa(int(r.Metric)))
	b.addIf(r.Realms != 0, "realms", fmt.Sprintf("%d/%d", r.Realms>>16, r.Realms&0xffff))
	b.addIf(routePrefs[r.Pref] != "", "pref", routePrefs[r.Pref])
	b.addIf(r.Expires != 0 && verb != "delete", "expires", strconv.Itoa(int(r.Expires)))
	locked := r.Metrics[unix.RTAX_LOCK]
	for _, kind := range slices.Sorted(maps.Keys(r.Metrics)) {
		if name := routeMetrics[kind]; name != "" {
			b.add(name)
			b.addIf(locked&(1<<kind) != 0, "lock")
			b.add(strconv.Itoa(int(r.Metrics[kind])))
		}
	}
	if several {
		for _, h := range r.Hops {
			b.add("nexthop")
			b.add(hop(r, h, link)...)
			b.add("weight", strconv.Itoa(int(h.Weight)+1))
		}
	}
	return b.String()
}

// scope is what ip calls one.
func scope(n uint8) string {
	switch n {
	case unix.RT_SCOPE_UNIVERSE:
		return "global"
	case unix.RT_SCOPE_LINK:
		return "link"
	case unix.RT_SCOPE_HOST:
		return "host"
	}
	return strconv.Itoa(int(n))
}

func hop(r host.HostRoute, h host.HostHop, link string) words {
	var b words
	if h.Gateway.IsValid() {
		b.add("via")
		b.addIf(h.Gateway.Is6() && r.Family() == unix.AF_INET, "inet6")
		b.add(h.Gateway.String())
	}
	if h.Link == 0 {
		b.add("dev", link)
	} else {
		b.add("dev", fmt.Sprintf("if%d", h.Link))
	}
	b.addIf(h.Onlink, "onlink")
	return b
}

// ruleCommand prints what people write into rules; of other attributes it says that there are.
func ruleCommand(verb string, r host.RouteRule) string {
	b := words{"ip"}
	b.addIf(r.Header[0] == unix.AF_INET6, "-6")
	b.add("rule", verb)
	rest := words{}
	for _, a := range r.Attrs {
		n := uint32(0)
		if len(a.Value) == 4 {
			n = binary.NativeEndian.Uint32(a.Value)
		}
		switch a.Kind {
		case 1: // FRA_DST
			rest.add("to", prefix(a.Value, r.Header[1]))
		case 2: // FRA_SRC
			rest.add("from", prefix(a.Value, r.Header[2]))
		case 3: // FRA_IIFNAME
			rest.add("iif", unix.ByteSliceToString(a.Value))
		case 17: // FRA_OIFNAME
			rest.add("oif", unix.ByteSliceToString(a.Value))
		case 6: // FRA_PRIORITY
			rest.add("priority", strconv.Itoa(int(n)))
		case 10: // FRA_FWMARK
			rest.add("fwmark", strconv.Itoa(int(n)))
		case 15: // FRA_TABLE
			rest.add("lookup", strconv.Itoa(int(n)))
		}
	}
	const invert = 2 // FIB_RULE_INVERT
	b.addIf(r.Header[8]&invert != 0, "not")
	b.add(rest...)
	return b.String()
}

func prefix(address []byte, bits byte) string {
	a, _ := netip.AddrFromSlice(address)
	return netip.PrefixFrom(a, int(bits)).String()
}
