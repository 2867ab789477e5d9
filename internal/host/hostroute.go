package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// HostRoute is a route, of any table, with all that makes it what it is, so that it can be made again on another link.
type HostRoute struct {
	To      netip.Prefix      `json:"to"`
	From    netip.Prefix      `json:"from,omitzero"` // of IPv6: only for packets of this source
	Table   uint32            `json:"table"`
	Type    uint8             `json:"type"`     // RTN_*
	Proto   uint8             `json:"protocol"` // RTPROT_*
	Scope   uint8             `json:"scope,omitempty"`
	TOS     uint8             `json:"tos,omitempty"`
	Metric  uint32            `json:"metric,omitempty"`
	Source  netip.Addr        `json:"source,omitzero"` // the preferred one
	Pref    uint8             `json:"pref,omitempty"`  // of a router's (RFC 4191)
	Expires uint32            `json:"expires,omitempty"`
	Realms  uint32            `json:"realms,omitempty"`
	Metrics map[uint16]uint32 `json:"metrics,omitempty"` // RTAX_*
	Hops    []HostHop         `json:"hops"`
	// Unknown is an attribute that is not understood: a route that has one cannot be made again. 0 is none.
	Unknown uint16 `json:"-"`
}

// HostHop is a way that a route goes.
type HostHop struct {
	Link    int        `json:"link"`
	Gateway netip.Addr `json:"gateway,omitzero"` // of IPv4, also one of IPv6
	Onlink  bool       `json:"onlink,omitempty"`
	Weight  uint8      `json:"weight,omitempty"` // less one, as the kernel counts
}

// Family is unix.AF_INET or unix.AF_INET6.
func (r HostRoute) Family() uint8 {
	if r.To.Addr().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// By reports whether some of a route's ways leave by the link.
func (r HostRoute) By(index int) bool {
	return slices.ContainsFunc(r.Hops, func(h HostHop) bool { return h.Link == index })
}

// HostRoutes lists the routes of all tables and both families that leave by a link, without those that the kernel keeps for
// its own addresses (table local). A route of IPv6 with several ways counts as several routes, as it does for the kernel.
func (k *Kernel) HostRoutes(index int) ([]HostRoute, error) {
	var out []HostRoute
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		k.Step("route list")
		msgs, err := k.get(unix.RTM_GETROUTE, unix.NLM_F_DUMP, unix.RTM_NEWROUTE, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
		if err != nil {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		for _, m := range msgs {
			routes, err := parseHostRoute(m, family)
			if err != nil {
				return nil, err
			}
			for _, r := range routes {
				if r.By(index) && (r.Table != unix.RT_TABLE_LOCAL || r.Proto != unix.RTPROT_KERNEL) {
					out = append(out, r)
				}
			}
		}
	}
	return out, nil
}

func parseHostRoute(b []byte, family uint8) ([]HostRoute, error) {
	if len(b) < unix.SizeofRtMsg {
		return nil, errors.New("the kernel sent a route message that is too short")
	}
	h := nl.DeserializeRtMsg(b)
	if h.Family != family || h.Flags&unix.RTM_F_CLONED != 0 {
		return nil, nil
	}
	any := netip.IPv4Unspecified()
	if family == unix.AF_INET6 {
		any = netip.IPv6Unspecified()
	}
	r := HostRoute{
		To: netip.PrefixFrom(any, int(h.Dst_len)), Table: uint32(h.Table), Type: h.Type, Proto: h.Protocol, Scope: h.Scope, TOS: h.Tos,
	}
	one := HostHop{Onlink: h.Flags&unix.RTNH_F_ONLINK != 0}
	err := attrs(b[unix.SizeofRtMsg:], func(kind uint16, v []byte) error { return r.attribute(&one, kind, v, int(h.Src_len)) })
	if err != nil {
		return nil, fmt.Errorf("read a route message: %w", err)
	}
	if !r.To.IsValid() {
		return nil, nil // bits that its address has not
	}
	if len(r.Hops) == 0 {
		r.Hops = []HostHop{one}
	}
	if family == unix.AF_INET {
		return []HostRoute{r}, nil
	}
	out := make([]HostRoute, len(r.Hops))
	for i, hop := range r.Hops {
		out[i] = r
		out[i].Hops = []HostHop{hop}
	}
	return out, nil
}

// attribute reads one attribute; of those of a single way into one.
func (r *HostRoute) attribute(one *HostHop, kind uint16, v []byte, from int) error {
	switch kind {
	case unix.RTA_DST:
		a, _ := netip.AddrFromSlice(v)
		r.To = netip.PrefixFrom(a, r.To.Bits())
	case unix.RTA_SRC:
		a, _ := netip.AddrFromSlice(v)
		r.From = netip.PrefixFrom(a, from)
	case unix.RTA_TABLE:
		r.Table = uint32Value(v)
	case unix.RTA_OIF:
		one.Link = int(uint32Value(v))
	case unix.RTA_GATEWAY:
		one.Gateway, _ = netip.AddrFromSlice(v)
	case unix.RTA_VIA:
		one.Gateway = parseVia(v)
	case unix.RTA_PRIORITY:
		r.Metric = uint32Value(v)
	case unix.RTA_PREFSRC:
		r.Source, _ = netip.AddrFromSlice(v)
	case unix.RTA_FLOW:
		r.Realms = uint32Value(v)
	case unix.RTA_PREF:
		if len(v) == 1 {
			r.Pref = v[0]
		}
	case unix.RTA_METRICS:
		return attrs(v, func(kind uint16, v []byte) error {
			if kind == unix.RTAX_CC_ALGO {
				r.Unknown = unix.RTA_METRICS
				return nil
			}
			if r.Metrics == nil {
				r.Metrics = map[uint16]uint32{}
			}
			r.Metrics[kind] = uint32Value(v)
			return nil
		})
	case unix.RTA_MULTIPATH:
		return r.multipath(v)
	case unix.RTA_CACHEINFO: // struct rta_cacheinfo: clntref, lastuse, expires in hundredths of a second
		if len(v) >= 12 && int32(binary.NativeEndian.Uint32(v[8:])) > 0 {
			r.Expires = (binary.NativeEndian.Uint32(v[8:]) + 99) / 100
		}
	case unix.RTA_UID, unix.RTA_MARK, unix.RTA_IIF:
	default:
		r.Unknown = kind
	}
	return nil
}

// sizeofRtNexthop is that of struct rtnexthop: length, flags, hops, link.
const sizeofRtNexthop = 8

func (r *HostRoute) multipath(v []byte) error {
	for len(v) >= sizeofRtNexthop {
		size := int(binary.NativeEndian.Uint16(v))
		if size < sizeofRtNexthop || size > len(v) {
			return errAttributes
		}
		hop := HostHop{Onlink: v[2]&unix.RTNH_F_ONLINK != 0, Weight: v[3], Link: int(int32(binary.NativeEndian.Uint32(v[4:])))}
		err := attrs(v[sizeofRtNexthop:size], func(kind uint16, v []byte) error {
			switch kind {
			case unix.RTA_GATEWAY:
				hop.Gateway, _ = netip.AddrFromSlice(v)
			case unix.RTA_VIA:
				hop.Gateway = parseVia(v)
			case unix.RTA_FLOW:
				r.Realms = uint32Value(v)
			default:
				r.Unknown = kind
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.Hops = append(r.Hops, hop)
		v = v[min(len(v), (size+3)&^3):]
	}
	return nil
}

// parseVia reads struct rtvia: a family and an address.
func parseVia(v []byte) netip.Addr {
	if len(v) < 2 {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(v[2:])
	return a
}

// AddHostRoute makes a route beside what there is; of several that are alike the first counts. One that is there is not an error.
func (k *Kernel) AddHostRoute(r HostRoute) error {
	k.Step("route add")
	err := k.do(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_APPEND, hostRouteMessage(r)...)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add the route to %s in table %d: %w", r.To, r.Table, err)
	}
	return nil
}

// DelHostRoute removes a route. One that is not there is not an error.
func (k *Kernel) DelHostRoute(r HostRoute) error {
	k.Step("route delete")
	err := k.do(unix.RTM_DELROUTE, 0, hostRouteMessage(r)...)
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove the route to %s in table %d: %w", r.To, r.Table, err)
	}
	return nil
}

func hostRouteMessage(r HostRoute) []nl.NetlinkRequestData {
	h := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family: r.Family(), Dst_len: uint8(r.To.Bits()), Tos: r.TOS, Table: unix.RT_TABLE_UNSPEC, Protocol: r.Proto, Scope: r.Scope, Type: r.Type,
	}}
	data := []nl.NetlinkRequestData{h, nl.NewRtAttr(unix.RTA_TABLE, nl.Uint32Attr(r.Table))}
	if r.To.Bits() > 0 {
		data = append(data, nl.NewRtAttr(unix.RTA_DST, r.To.Addr().AsSlice()))
	}
	if r.From.IsValid() {
		h.Src_len = uint8(r.From.Bits())
		data = append(data, nl.NewRtAttr(unix.RTA_SRC, r.From.Addr().AsSlice()))
	}
	for _, n := range []struct {
		kind  int
		value uint32
	}{{unix.RTA_PRIORITY, r.Metric}, {unix.RTA_FLOW, r.Realms}, {unix.RTA_EXPIRES, r.Expires}} {
		if n.value != 0 {
			data = append(data, nl.NewRtAttr(n.kind, nl.Uint32Attr(n.value)))
		}
	}
	if r.Source.IsValid() {
		data = append(data, nl.NewRtAttr(unix.RTA_PREFSRC, r.Source.AsSlice()))
	}
	if r.Pref != 0 {
		data = append(data, nl.NewRtAttr(unix.RTA_PREF, []byte{r.Pref}))
	}
	if len(r.Metrics) > 0 {
		m := nl.NewRtAttr(unix.RTA_METRICS, nil)
		for kind, value := range r.Metrics {
			m.AddRtAttr(int(kind), nl.Uint32Attr(value))
		}
		data = append(data, m)
	}
	if len(r.Hops) == 1 && r.Hops[0].Weight == 0 {
		hop := r.Hops[0]
		if hop.Onlink {
			h.Flags |= unix.RTNH_F_ONLINK
		}
		return append(append(data, nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(hop.Link)))), gateway(r, hop)...)
	}
	return append(data, multipathMessage(r))
}

// gateway is the attribute of a way's gateway, if it has one.
func gateway(r HostRoute, hop HostHop) []nl.NetlinkRequestData {
	switch {
	case !hop.Gateway.IsValid():
		return nil
	case hop.Gateway.Is6() && r.Family() == unix.AF_INET:
		via := binary.NativeEndian.AppendUint16(nil, unix.AF_INET6)
		return []nl.NetlinkRequestData{nl.NewRtAttr(unix.RTA_VIA, append(via, hop.Gateway.AsSlice()...))}
	}
	return []nl.NetlinkRequestData{nl.NewRtAttr(unix.RTA_GATEWAY, hop.Gateway.AsSlice())}
}

func multipathMessage(r HostRoute) *nl.RtAttr {
	var b []byte
	for _, hop := range r.Hops {
		var rest []byte
		for _, a := range gateway(r, hop) {
			rest = append(rest, a.Serialize()...)
		}
		b = binary.NativeEndian.AppendUint16(b, uint16(sizeofRtNexthop+len(rest)))
		flags := byte(0)
		if hop.Onlink {
			flags = unix.RTNH_F_ONLINK
		}
		b = append(b, flags, hop.Weight)
		b = append(binary.NativeEndian.AppendUint32(b, uint32(hop.Link)), rest...)
	}
	return nl.NewRtAttr(unix.RTA_MULTIPATH, b)
}
