package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// RouteProtocol marks routes of ours, in the field where routing daemons have their numbers. The kernel and iproute2 know no
// other one by it; `ip route` shows it as it is.
const RouteProtocol = 116

// StaticRoute is a route by a router behind a link.
type StaticRoute struct {
	To     netip.Prefix // masked
	Via    netip.Addr
	Metric uint32 // of several to one subnet the least counts; the kernel has 1024 for IPv6 where 0 is said
}

// CompareRoute orders routes by what they lead to.
func CompareRoute(a, b StaticRoute) int {
	if c := ComparePrefix(a.To, b.To); c != 0 {
		return c
	}
	if a.Metric != b.Metric {
		return int(int64(a.Metric) - int64(b.Metric))
	}
	return a.Via.Compare(b.Via)
}

// String is the route as iproute2 takes it, without its link.
func (r StaticRoute) String() string {
	s := fmt.Sprintf("%s via %s", r.To, r.Via)
	if r.Metric != 0 {
		s += fmt.Sprintf(" metric %d", r.Metric)
	}
	return s
}

// StaticRoutes lists the routes of ours in the main table, by the index of their link, sorted. An interrupted dump gives what
// was seen and ErrPartial.
func (k *Kernel) StaticRoutes() (map[int][]StaticRoute, error) {
	out := map[int][]StaticRoute{}
	var partial error
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		k.Step("route list of ours")
		h := &nl.RtMsg{RtMsg: unix.RtMsg{Family: family, Protocol: RouteProtocol, Table: unix.RT_TABLE_MAIN}} // a kernel before 4.20 tells of all
		msgs, err := k.get(unix.RTM_GETROUTE, unix.NLM_F_DUMP, unix.RTM_NEWROUTE, h)
		if err != nil && !errors.Is(err, ErrPartial) {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		partial = errors.Join(partial, err)
		for _, m := range msgs {
			r, link, ok, err := parseStatic(m, family)
			if err != nil {
				return nil, err
			}
			if ok {
				out[link] = append(out[link], r)
			}
		}
	}
	for _, routes := range out {
		slices.SortFunc(routes, CompareRoute)
	}
	return out, partial
}

func parseStatic(m []byte, family uint8) (r StaticRoute, link int, ok bool, err error) {
	to, ok, err := parseRoute(m, family)
	if err != nil || !ok || m[5] != RouteProtocol { // struct rtmsg: family, dst_len, src_len, tos, table, protocol
		return r, 0, false, err
	}
	found, err := attrMap(m[unix.SizeofRtMsg:])
	if err != nil {
		return r, 0, false, fmt.Errorf("read a route message: %w", err)
	}
	r.To, r.Metric = to.To, uint32Value(found[unix.RTA_PRIORITY])
	r.Via, ok = netip.AddrFromSlice(found[unix.RTA_GATEWAY])
	return r, to.Link, ok && to.Link != 0, nil
}

// AddRoute makes a route by a link that is up. One that somebody else has made to the same subnet with the same metric is an
// ErrTaken; with replace it is changed.
func (k *Kernel) AddRoute(link int, r StaticRoute, replace bool) error {
	k.Step("route add")
	flags := unix.NLM_F_CREATE | unix.NLM_F_EXCL
	if replace {
		flags = unix.NLM_F_CREATE | unix.NLM_F_REPLACE
	}
	err := k.do(unix.RTM_NEWROUTE, flags, routeMessage(link, r)...)
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add route %s: the host has one to %s already (ip route show %s): %w: %w", r, r.To, r.To, ErrTaken, err)
	}
	if err != nil {
		return fmt.Errorf("add route %s: %w", r, err)
	}
	return nil
}

// DelRoute removes a route of ours. One that is not there is no error.
func (k *Kernel) DelRoute(link int, r StaticRoute) error {
	k.Step("route delete")
	err := k.do(unix.RTM_DELROUTE, 0, routeMessage(link, r)...)
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete route %s: %w", r, err)
	}
	return nil
}

func routeMessage(link int, r StaticRoute) []nl.NetlinkRequestData {
	h := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family: unix.AF_INET, Dst_len: uint8(r.To.Bits()), Table: unix.RT_TABLE_MAIN, Protocol: RouteProtocol, Scope: unix.RT_SCOPE_UNIVERSE, Type: unix.RTN_UNICAST,
	}}
	if r.To.Addr().Is6() {
		h.Family = unix.AF_INET6
	}
	data := []nl.NetlinkRequestData{h, nl.NewRtAttr(unix.RTA_GATEWAY, r.Via.AsSlice()), nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(link)))}
	if r.To.Bits() > 0 {
		data = append(data, nl.NewRtAttr(unix.RTA_DST, r.To.Addr().AsSlice()))
	}
	if r.Metric != 0 {
		data = append(data, nl.NewRtAttr(unix.RTA_PRIORITY, nl.Uint32Attr(r.Metric)))
	}
	return data
}

// lostRoute is the link of a route of ours that went; 0 for any other message about routes.
func lostRoute(m []byte) int {
	if len(m) < unix.SizeofRtMsg || m[5] != RouteProtocol {
		return 0
	}
	found, err := attrMap(m[unix.SizeofRtMsg:])
	if err != nil || len(found[unix.RTA_OIF]) != 4 {
		return 0
	}
	return int(binary.NativeEndian.Uint32(found[unix.RTA_OIF]))
}

// RouteCommand is the command that does with a route by a link what verb says.
func RouteCommand(verb, link string, r StaticRoute) []string {
	words := append([]string{"ip", "route", verb}, strings.Fields(r.String())...)
	return append(words, "dev", link, "proto", fmt.Sprint(RouteProtocol))
}
