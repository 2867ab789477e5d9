package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// BridgeSpec is a bridge that should exist.
type BridgeSpec struct {
	Name  string
	MAC   string
	MTU   int // 0 is the kernel's default
	Group uint32
	STP   bool
	Delay int // forward delay in hundredths of a second; 0 leaves the kernel's default when STP is off
}

// CreateBridge makes a bridge, down and without an alias, by one message and returns its index. ErrTaken when the name
// is in use.
func (k *Kernel) CreateBridge(s BridgeSpec) (int, error) {
	k.Step("bridge create")
	c, err := k.conn()
	if err != nil {
		return 0, err
	}
	attrs := []nl.NetlinkRequestData{linkHeader(0), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(s.Name))}
	if s.MAC != "" {
		mac, err := net.ParseMAC(s.MAC)
		if err != nil {
			return 0, fmt.Errorf("create bridge %s: %w", s.Name, err)
		}
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_ADDRESS, mac))
	}
	if s.MTU != 0 {
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(s.MTU))))
	}
	if s.Group != 0 {
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_GROUP, nl.Uint32Attr(s.Group)))
	}
	attrs = append(attrs, bridgeInfo(s.STP, s.Delay))
	// The kernel echoes the link it made, so its index needs no second look at a name that might have changed hands.
	msgs, err := c.get(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK|unix.NLM_F_ECHO, unix.RTM_NEWLINK, attrs...)
	if errors.Is(err, unix.EEXIST) {
		return 0, fmt.Errorf("create bridge %s: %w: %w", s.Name, ErrTaken, err)
	}
	if err != nil {
		return 0, fmt.Errorf("create bridge %s: %w", s.Name, err)
	}
	if len(msgs) == 0 { // before Linux 6.2 RTM_NEWLINK has no echo
		l, err := k.LinkByName(s.Name)
		return l.Index, err
	}
	l, err := parseLink(msgs[0])
	return l.Index, err
}

// SetBridge changes what only a bridge has.
func (k *Kernel) SetBridge(index int, b Bridge) error {
	return k.change("bridge set", index, linkHeader(index), bridgeInfo(b.STP, b.Delay))
}

func bridgeInfo(stp bool, delay int) *nl.RtAttr {
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.NonZeroTerminated("bridge"))
	data := info.AddRtAttr(unix.IFLA_INFO_DATA, nil)
	// The delay first: with STP on the kernel wants 2 to 30 seconds, without it any.
	data.AddRtAttr(nl.IFLA_BR_FORWARD_DELAY, nl.Uint32Attr(uint32(delay)))
	state := uint32(0)
	if stp {
		state = 1
	}
	data.AddRtAttr(nl.IFLA_BR_STP_STATE, nl.Uint32Attr(state))
	return info
}

func parseBridge(b *Bridge, data []byte) error {
	attrs, err := nl.ParseRouteAttr(data)
	if err != nil {
		return err
	}
	for _, a := range attrs {
		switch a.Attr.Type {
		case nl.IFLA_BR_FORWARD_DELAY:
			b.Delay = int(uint32Value(a.Value))
		case nl.IFLA_BR_STP_STATE:
			b.STP = uint32Value(a.Value) != 0
		}
	}
	return nil
}

// LinkStats are a link's counters, seen from the host: what a guest receives from its tap is Tx.
type LinkStats struct {
	RxPackets, TxPackets, RxBytes, TxBytes   uint64
	RxErrors, TxErrors, RxDropped, TxDropped uint64
}

// LinkStats reads the counters of the link of that name.
func (k *Kernel) LinkStats(name string) (LinkStats, error) {
	k.Step("link stats")
	c, err := k.conn()
	if err != nil {
		return LinkStats{}, err
	}
	msgs, err := c.get(unix.RTM_GETLINK, 0, unix.RTM_NEWLINK, linkHeader(0),
		nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	if errors.Is(err, unix.ENODEV) {
		return LinkStats{}, fmt.Errorf("link %s: %w", name, ErrNoLink)
	}
	if err != nil || len(msgs) != 1 {
		return LinkStats{}, fmt.Errorf("read the counters of link %s: %d answers, %w", name, len(msgs), err)
	}
	attrs, err := nl.ParseRouteAttrAsMap(msgs[0][unix.SizeofIfInfomsg:])
	if err != nil {
		return LinkStats{}, err
	}
	b := attrs[unix.IFLA_STATS64].Value
	if len(b) < 64 {
		return LinkStats{}, fmt.Errorf("read the counters of link %s: none in the answer", name)
	}
	n := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	return LinkStats{RxPackets: n(0), TxPackets: n(1), RxBytes: n(2), TxBytes: n(3),
		RxErrors: n(4), TxErrors: n(5), RxDropped: n(6), TxDropped: n(7)}, nil
}
