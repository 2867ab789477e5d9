package host

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Route is a unicast route of the main table.
type Route struct {
	To netip.Prefix
	// Metric counts among several to one subnet: the least is taken.
	Metric uint32
	Link   int // index of the link it leaves by; 0 when it has several
	// Advertised says that a router told us of it (RFC 4861). The kernel drops such routes when it becomes a router
	// itself, unless the link's accept_ra is 2.
	Advertised bool
}

// Routes lists the routes of the main table, of both families. An interrupted dump gives what was seen and ErrPartial.
func (k *Kernel) Routes() ([]Route, error) {
	var out []Route
	var partial error
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		routes, err := k.routes(family)
		if err != nil && !errors.Is(err, ErrPartial) {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		out, partial = append(out, routes...), errors.Join(partial, err)
	}
	return out, partial
}

func (k *Kernel) routes(family uint8) ([]Route, error) {
	k.Step("route list")
	h := &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}}
	msgs, err := k.get(unix.RTM_GETROUTE, unix.NLM_F_DUMP, unix.RTM_NEWROUTE, h)
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, err
	}
	var out []Route
	for _, m := range msgs {
		r, ok, perr := parseRoute(m, family)
		if perr != nil {
			return nil, perr
		}
		if ok {
			out = append(out, r)
		}
	}
	return out, err
}

// parseRoute reads one route. A kernel without IPv6 answers with the routes of other families; those are left out.
func parseRoute(b []byte, family uint8) (Route, bool, error) {
	if len(b) < unix.SizeofRtMsg {
		return Route{}, false, errors.New("the kernel sent a route message that is too short")
	}
	h := nl.DeserializeRtMsg(b)
	if h.Type != unix.RTN_UNICAST || h.Table != unix.RT_TABLE_MAIN || h.Family != family {
		return Route{}, false, nil
	}
	found, err := attrMap(b[unix.SizeofRtMsg:])
	if err != nil {
		return Route{}, false, fmt.Errorf("read a route message: %w", err)
	}
	to := netip.IPv4Unspecified()
	if family == unix.AF_INET6 {
		to = netip.IPv6Unspecified()
	}
	if a, ok := found[unix.RTA_DST]; ok {
		if to, ok = netip.AddrFromSlice(a); !ok {
			return Route{}, false, nil
		}
	}
	r := Route{To: netip.PrefixFrom(to, int(h.Dst_len)), Link: int(uint32Value(found[unix.RTA_OIF])), Metric: uint32Value(found[unix.RTA_PRIORITY])}
	r.Advertised = family == unix.AF_INET6 && h.Protocol == unix.RTPROT_RA
	return r, true, nil
}
