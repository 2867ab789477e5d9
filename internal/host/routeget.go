package host

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Hop is where the kernel sends a packet.
type Hop struct {
	Link    int        // index of the link it leaves by
	Gateway netip.Addr // invalid for what is on the link itself
	Local   bool       // it is for this host
	// Refused is why it goes nowhere: ENETUNREACH and EHOSTUNREACH without a route or without forwarding, EXDEV (since 6.14
	// EINVAL) when the reverse path filter or another check of the source takes it for forged. 0 when it goes.
	Refused unix.Errno
}

// RouteOf asks the kernel where it would send a packet that comes in by a link, with everything that it looks at then:
// rules of routing, forwarding, the reverse path filter. in 0 asks for a packet of the host's own.
func (k *Kernel) RouteOf(from, to netip.Addr, in int) (Hop, error) {
	k.Step("route get")
	family := uint8(unix.AF_INET)
	if to.Is6() {
		family = unix.AF_INET6
	}
	h := &nl.RtMsg{RtMsg: unix.RtMsg{Family: family, Dst_len: uint8(to.BitLen())}}
	data := []nl.NetlinkRequestData{h, nl.NewRtAttr(unix.RTA_DST, to.AsSlice())}
	if from.IsValid() {
		h.Src_len = uint8(from.BitLen())
		data = append(data, nl.NewRtAttr(unix.RTA_SRC, from.AsSlice()))
	}
	if in != 0 {
		data = append(data, nl.NewRtAttr(unix.RTA_IIF, nl.Uint32Attr(uint32(in))))
	}
	msgs, err := k.get(unix.RTM_GETROUTE, 0, unix.RTM_NEWROUTE, data...)
	var refused unix.Errno
	if errors.As(err, &refused) {
		switch refused {
		case unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EXDEV, unix.EINVAL, unix.EACCES:
			return Hop{Refused: refused}, nil
		}
	}
	if err == nil && len(msgs) != 1 {
		err = fmt.Errorf("%d answers", len(msgs))
	}
	if err == nil {
		var hop Hop
		if hop, err = parseHop(msgs[0]); err == nil {
			return hop, nil
		}
	}
	return Hop{}, fmt.Errorf("ask for the route to %s: %w", to, err)
}

func parseHop(b []byte) (Hop, error) {
	if len(b) < unix.SizeofRtMsg {
		return Hop{}, errors.New("the kernel sent a route message that is too short")
	}
	h := nl.DeserializeRtMsg(b)
	found, err := attrMap(b[unix.SizeofRtMsg:])
	if err != nil {
		return Hop{}, err
	}
	out := Hop{Link: int(uint32Value(found[unix.RTA_OIF]))}
	out.Gateway, _ = netip.AddrFromSlice(found[unix.RTA_GATEWAY])
	switch h.Type {
	case unix.RTN_LOCAL, unix.RTN_BROADCAST:
		out.Local = true
	case unix.RTN_UNREACHABLE:
		out.Refused = unix.EHOSTUNREACH
	case unix.RTN_BLACKHOLE:
		out.Refused = unix.EINVAL
	case unix.RTN_PROHIBIT:
		out.Refused = unix.EACCES
	}
	return out, nil
}
