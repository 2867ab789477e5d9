package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Neighbour is an address on a link that this host has talked to.
type Neighbour struct {
	Index int // of the link
	MAC   string
	Addr  netip.Addr
	// Permanent says that somebody wrote it down; the others were learned, and are asked for again.
	Permanent bool
}

// Neighbours lists the ARP and neighbour discovery tables, without entries that failed. An interrupted dump gives what
// was seen and ErrPartial.
func (k *Kernel) Neighbours() ([]Neighbour, error) {
	k.Step("neighbour list")
	msgs, err := k.get(unix.RTM_GETNEIGH, unix.NLM_F_DUMP, unix.RTM_NEWNEIGH, &neighbourHeader{})
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list neighbours: %w", err)
	}
	var out []Neighbour
	for _, m := range msgs {
		n, ok, perr := parseNeighbour(m)
		if perr != nil {
			return nil, perr
		}
		if ok {
			out = append(out, n)
		}
	}
	return out, err
}

// neighbourHeader is struct ndmsg (linux/neighbour.h), all zero: every family, every link.
type neighbourHeader struct{}

// Len implements nl.NetlinkRequestData.
func (*neighbourHeader) Len() int { return unix.SizeofNdMsg }

// Serialize implements nl.NetlinkRequestData.
func (*neighbourHeader) Serialize() []byte { return make([]byte, unix.SizeofNdMsg) }

func parseNeighbour(m []byte) (Neighbour, bool, error) {
	if len(m) < unix.SizeofNdMsg {
		return Neighbour{}, false, errors.New("the kernel sent a neighbour message that is too short")
	}
	n := Neighbour{Index: int(int32(binary.NativeEndian.Uint32(m[4:])))}
	state := binary.NativeEndian.Uint16(m[8:])
	if n.Permanent = state&unix.NUD_PERMANENT != 0; state&(unix.NUD_INCOMPLETE|unix.NUD_FAILED|unix.NUD_NOARP) != 0 {
		return n, false, nil
	}
	attrs, err := nl.ParseRouteAttr(m[unix.SizeofNdMsg:])
	if err != nil {
		return n, false, fmt.Errorf("read a neighbour message: %w", err)
	}
	for _, a := range attrs {
		switch a.Attr.Type {
		case unix.NDA_DST:
			n.Addr, _ = netip.AddrFromSlice(a.Value)
		case unix.NDA_LLADDR:
			n.MAC = net.HardwareAddr(a.Value).String()
		}
	}
	return n, n.MAC != "" && n.Addr.IsValid(), nil
}

// AddNeighbour tells a link which MAC address an address has. One that is not permanent is asked for again when it is used;
// what the link knows already is no error.
func (k *Kernel) AddNeighbour(n Neighbour) error {
	k.Step("neighbour add")
	mac, err := net.ParseMAC(n.MAC)
	if err != nil {
		return fmt.Errorf("add neighbour %s: %w", n.Addr, err)
	}
	h := make(rawHeader, unix.SizeofNdMsg)
	h[0] = unix.AF_INET
	if n.Addr.Is6() {
		h[0] = unix.AF_INET6
	}
	state := uint16(unix.NUD_STALE)
	if n.Permanent {
		state = unix.NUD_PERMANENT
	}
	binary.NativeEndian.PutUint32(h[4:], uint32(n.Index))
	binary.NativeEndian.PutUint16(h[8:], state)
	err = k.do(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_EXCL, h, nl.NewRtAttr(unix.NDA_DST, n.Addr.AsSlice()), nl.NewRtAttr(unix.NDA_LLADDR, mac))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add neighbour %s to link %d: %w", n.Addr, n.Index, err)
	}
	return nil
}
