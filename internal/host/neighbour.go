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
	if state := binary.NativeEndian.Uint16(m[8:]); state&(unix.NUD_INCOMPLETE|unix.NUD_FAILED|unix.NUD_NOARP) != 0 {
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
