package host

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// RouteMatch is the route that a packet takes, as it stands in its table.
type RouteMatch struct {
	To   netip.Prefix
	Main bool // it is a unicast route of the main table
}

// MatchRoute asks the kernel which route a packet of the host's own to an address takes. There may be none: found is false, and
// no route of any table leads there. A kernel before 4.15 tells of no route, but of the address alone.
func (k *Kernel) MatchRoute(to netip.Addr) (m RouteMatch, found bool, err error) {
	k.Step("route match")
	h := &nl.RtMsg{RtMsg: unix.RtMsg{Family: unix.AF_INET, Dst_len: uint8(to.BitLen()), Flags: unix.RTM_F_FIB_MATCH | unix.RTM_F_LOOKUP_TABLE}}
	if to.Is6() {
		h.Family, h.Flags = unix.AF_INET6, unix.RTM_F_FIB_MATCH // it always names the table
	}
	msgs, err := k.get(unix.RTM_GETROUTE, 0, unix.RTM_NEWROUTE, h, nl.NewRtAttr(unix.RTA_DST, to.AsSlice()))
	if errors.Is(err, unix.ENETUNREACH) {
		return RouteMatch{}, false, nil
	}
	if err == nil && len(msgs) != 1 {
		err = fmt.Errorf("%d answers", len(msgs))
	}
	if err == nil {
		m, err = parseMatch(msgs[0], to)
	}
	if err != nil {
		return RouteMatch{}, false, fmt.Errorf("ask for the route that matches %s: %w", to, err)
	}
	return m, true, nil
}

func parseMatch(b []byte, to netip.Addr) (RouteMatch, error) {
	if len(b) < unix.SizeofRtMsg {
		return RouteMatch{}, errors.New("the kernel sent a route message that is too short")
	}
	h := nl.DeserializeRtMsg(b)
	found, err := attrMap(b[unix.SizeofRtMsg:])
	if err != nil {
		return RouteMatch{}, err
	}
	table := uint32(h.Table)
	if t, ok := found[unix.RTA_TABLE]; ok {
		table = uint32Value(t)
	}
	p, err := to.Prefix(int(h.Dst_len))
	return RouteMatch{To: p, Main: h.Type == unix.RTN_UNICAST && table == unix.RT_TABLE_MAIN}, err
}
