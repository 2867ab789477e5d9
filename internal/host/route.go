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
	To   netip.Prefix
	Link int // index of the link it leaves by; 0 when it has several
}

// Routes lists the IPv4 routes of the main table. An interrupted dump gives what was seen and ErrPartial.
func (k *Kernel) Routes() ([]Route, error) {
	k.Step("route list")
	c, err := k.conn()
	if err != nil {
		return nil, err
	}
	h := &nl.RtMsg{RtMsg: unix.RtMsg{Family: unix.AF_INET}}
	msgs, err := c.get(unix.RTM_GETROUTE, unix.NLM_F_DUMP, unix.RTM_NEWROUTE, h)
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	var out []Route
	for _, m := range msgs {
		r, ok, perr := parseRoute(m)
		if perr != nil {
			return nil, perr
		}
		if ok {
			out = append(out, r)
		}
	}
	return out, err
}

func parseRoute(b []byte) (Route, bool, error) {
	if len(b) < unix.SizeofRtMsg {
		return Route{}, false, errors.New("the kernel sent a route message that is too short")
	}
	h := nl.DeserializeRtMsg(b)
	if h.Type != unix.RTN_UNICAST || h.Table != unix.RT_TABLE_MAIN {
		return Route{}, false, nil
	}
	found, err := attrMap(b[unix.SizeofRtMsg:])
	if err != nil {
		return Route{}, false, fmt.Errorf("read a route message: %w", err)
	}
	to := netip.IPv4Unspecified()
	if a, ok := found[unix.RTA_DST]; ok {
		if to, ok = netip.AddrFromSlice(a); !ok {
			return Route{}, false, nil
		}
	}
	return Route{To: netip.PrefixFrom(to, int(h.Dst_len)), Link: int(uint32Value(found[unix.RTA_OIF]))}, true, nil
}
