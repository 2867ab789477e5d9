package host

import (
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
	// LearnsLinkLocal has it learn addresses from frames that it passes on to nobody; see Bridge.
	LearnsLinkLocal bool
}

// CreateBridge makes a bridge, down and without an alias, by one message and returns its index. ErrTaken when the name
// is in use.
func (k *Kernel) CreateBridge(s BridgeSpec) (int, error) {
	k.Step("bridge create")
	data := []nl.NetlinkRequestData{linkHeader(0), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(s.Name))}
	if s.MAC != "" {
		mac, err := net.ParseMAC(s.MAC)
		if err != nil {
			return 0, fmt.Errorf("create bridge %s: %w", s.Name, err)
		}
		data = append(data, nl.NewRtAttr(unix.IFLA_ADDRESS, mac))
	}
	if s.MTU != 0 {
		data = append(data, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(s.MTU))))
	}
	if s.Group != 0 {
		data = append(data, nl.NewRtAttr(unix.IFLA_GROUP, nl.Uint32Attr(s.Group)))
	}
	data = append(data, bridgeInfo(Bridge{STP: s.STP, Delay: s.Delay, LearnsLinkLocal: s.LearnsLinkLocal}))
	// The kernel echoes the link it made, so its index needs no second look at a name that might have changed hands.
	msgs, err := k.get(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK|unix.NLM_F_ECHO, unix.RTM_NEWLINK, data...)
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
	return k.change("bridge set", index, linkHeader(index), bridgeInfo(b))
}

// noLinkLocalLearn is BR_BOOLOPT_NO_LL_LEARN as a bit of struct br_boolopt_multi (include/uapi/linux/if_bridge.h), which is the values of
// options and the mask of those that are meant.
const noLinkLocalLearn = 1 << 0

func bridgeInfo(b Bridge) *nl.RtAttr {
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.NonZeroTerminated("bridge"))
	data := info.AddRtAttr(unix.IFLA_INFO_DATA, nil)
	// The delay first: with STP on the kernel wants 2 to 30 seconds, without it any.
	data.AddRtAttr(nl.IFLA_BR_FORWARD_DELAY, nl.Uint32Attr(uint32(b.Delay)))
	state := uint32(0)
	if b.STP {
		state = 1
	}
	data.AddRtAttr(nl.IFLA_BR_STP_STATE, nl.Uint32Attr(state))
	value := uint32(noLinkLocalLearn)
	if b.LearnsLinkLocal {
		value = 0
	}
	data.AddRtAttr(unix.IFLA_BR_MULTI_BOOLOPT, append(nl.Uint32Attr(value), nl.Uint32Attr(noLinkLocalLearn)...))
	return info
}

func parseBridge(b *Bridge, data []byte) error {
	return attrs(data, func(kind uint16, value []byte) error {
		switch kind {
		case nl.IFLA_BR_FORWARD_DELAY:
			b.Delay = int(uint32Value(value))
		case nl.IFLA_BR_STP_STATE:
			b.STP = uint32Value(value) != 0
		case nl.IFLA_BR_VLAN_FILTERING:
			b.VLANs = len(value) == 1 && value[0] != 0
		case nl.IFLA_BR_VLAN_DEFAULT_PVID: // there only where the kernel has them; the other always is
			b.KnowsVLANs = true
		case unix.IFLA_BR_MULTI_BOOLOPT:
			if len(value) == 8 {
				b.LearnsLinkLocal = uint32Value(value[4:])&noLinkLocalLearn != 0 && uint32Value(value)&noLinkLocalLearn == 0
			}
		}
		return nil
	})
}
