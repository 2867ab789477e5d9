package host

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Link is a network device as the kernel shows it.
type Link struct {
	Index  int
	Name   string
	Kind   string // "bridge", "tun", "veth"…; "" for a device without a driver of that sort
	MAC    string // lower case, with colons
	MTU    int
	Group  uint32
	Alias  string
	Master int // index of the bridge it is a port of; 0 is none
	// OfSwitch says that its master is the kernel's datapath of Open vSwitch: which bridge it is on only the switch knows.
	OfSwitch bool
	Lower    int // index of the link it lies on; a veth's is its other end, perhaps in another namespace
	Up       bool
	// AllMulticast says that it takes every multicast frame, since somebody asked it to.
	AllMulticast bool
	Promiscuous  bool        // it takes every frame, since somebody asked it to
	Mode         MacvlanMode // when Kind is "macvlan" or "macvtap"
	Bridge       Bridge      // when Kind is "bridge"
	Isolated     bool        // a port of a bridge that does not reach the other isolated ones
	// NoLearning and NoFlood say that a bridge learns no addresses from its port, and sends it no frames for unknown ones.
	NoLearning, NoFlood bool
}

// Bridge is what only a bridge has.
type Bridge struct {
	STP   bool
	Delay int // forward delay in hundredths of a second, as the kernel counts it
	// VLANs says that it looks at VLAN tags, KnowsVLANs that its kernel could; both are only read (see SetVLANFiltering).
	VLANs, KnowsVLANs bool
	// LearnsLinkLocal says that it learns source addresses of frames to 01:80:c2:00:00:00 to 0f, which it passes on to nobody (802.1D,
	// 7.12.6): whoever sends one with somebody else's address has what is for that one. It is false, too, of a kernel
	// without the option (before Linux 5.0).
	LearnsLinkLocal bool
}

// skipStats is RTEXT_FILTER_SKIP_STATS: a dump without counters costs less.
const skipStats = 1 << 3

// LinkByName looks one link up; ErrNoLink when there is none.
func (k *Kernel) LinkByName(name string) (Link, error) {
	return k.oneLink("link "+name, 0, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
}

// LinkByIndex looks one link up; ErrNoLink when there is none.
func (k *Kernel) LinkByIndex(index int) (Link, error) {
	return k.oneLink("link "+strconv.Itoa(index), index)
}

func (k *Kernel) oneLink(what string, index int, extra ...nl.NetlinkRequestData) (Link, error) {
	k.Step("link get")
	msgs, err := k.linkMessages(index, 0, extra...)
	if errors.Is(err, unix.ENODEV) {
		return Link{}, fmt.Errorf("%s: %w", what, ErrNoLink)
	}
	if err != nil {
		return Link{}, fmt.Errorf("look up %s: %w", what, err)
	}
	if len(msgs) != 1 {
		return Link{}, fmt.Errorf("look up %s: the kernel sent %d answers", what, len(msgs))
	}
	return parseLink(msgs[0])
}

// Links lists every link. An interrupted dump gives what was seen and ErrPartial.
func (k *Kernel) Links() ([]Link, error) {
	k.Step("link list")
	msgs, err := k.linkMessages(0, unix.NLM_F_DUMP)
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list links: %w", err)
	}
	links := make([]Link, 0, len(msgs))
	for _, m := range msgs {
		l, perr := parseLink(m)
		if perr != nil {
			return nil, perr
		}
		links = append(links, l)
	}
	return links, err
}

func (k *Kernel) linkMessages(index, flags int, extra ...nl.NetlinkRequestData) ([][]byte, error) {
	data := append([]nl.NetlinkRequestData{
		linkHeader(index),
		nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats)),
	}, extra...)
	return k.get(unix.RTM_GETLINK, flags, unix.RTM_NEWLINK, data...)
}

func linkHeader(index int) *nl.IfInfomsg {
	h := nl.NewIfInfomsg(unix.AF_UNSPEC)
	h.Index = int32(index)
	return h
}

func parseLink(m []byte) (Link, error) {
	if len(m) < unix.SizeofIfInfomsg {
		return Link{}, errors.New("the kernel sent a link message that is too short")
	}
	h := nl.DeserializeIfInfomsg(m)
	l := Link{Index: int(h.Index), Up: h.Flags&unix.IFF_UP != 0, AllMulticast: h.Flags&unix.IFF_ALLMULTI != 0, Promiscuous: h.Flags&unix.IFF_PROMISC != 0}
	err := attrs(m[unix.SizeofIfInfomsg:], func(kind uint16, value []byte) error {
		switch kind {
		case unix.IFLA_IFNAME:
			l.Name = unix.ByteSliceToString(value)
		case unix.IFLA_ADDRESS:
			l.MAC = net.HardwareAddr(value).String()
		case unix.IFLA_MTU:
			l.MTU = int(uint32Value(value))
		case unix.IFLA_GROUP:
			l.Group = uint32Value(value)
		case unix.IFLA_IFALIAS:
			l.Alias = unix.ByteSliceToString(value)
		case unix.IFLA_MASTER:
			l.Master = int(uint32Value(value))
		case unix.IFLA_LINK:
			l.Lower = int(uint32Value(value))
		case unix.IFLA_LINKINFO:
			return parseLinkInfo(&l, value)
		}
		return nil
	})
	if err != nil {
		return Link{}, fmt.Errorf("read link %s: %w", l.Name, err)
	}
	return l, nil
}

func parseLinkInfo(l *Link, b []byte) error {
	master := ""
	return attrs(b, func(kind uint16, value []byte) error {
		switch {
		case kind == unix.IFLA_INFO_SLAVE_KIND:
			master = unix.ByteSliceToString(value)
			l.OfSwitch = master == "openvswitch"
		case kind == unix.IFLA_INFO_SLAVE_DATA && master == "bridge":
			return parseBridgePort(l, value)
		case kind == unix.IFLA_INFO_KIND:
			l.Kind = unix.ByteSliceToString(value)
		case kind == unix.IFLA_INFO_DATA && l.Kind == "bridge": // the kernel puts the kind first
			return parseBridge(&l.Bridge, value)
		case kind == unix.IFLA_INFO_DATA && (l.Kind == "macvlan" || l.Kind == "macvtap"):
			return parseMacvlan(&l.Mode, value)
		}
		return nil
	})
}

// change sends one RTM_SETLINK-like message about a link and names the link in the error.
func (k *Kernel) change(step string, index int, data ...nl.NetlinkRequestData) error {
	k.Step(step)
	return changeError(step, index, k.do(unix.RTM_NEWLINK, 0, data...))
}

// LinkSettings are several changes of one link, made by one message: the kernel applies master, group, MAC, MTU and up
// under one lock. Zero fields stay as they are.
type LinkSettings struct {
	MAC          string
	MTU          int
	Group        uint32
	Master       int
	AllMulticast bool
	Up           bool
}

// SetLink changes several things of a link at once.
func (k *Kernel) SetLink(index int, s LinkSettings) error {
	data, err := s.message(index)
	if err != nil {
		return err
	}
	return k.change("link set", index, data...)
}

// SetAlias writes a link's alias. In a message that creates a link the kernel ignores it.
func (k *Kernel) SetAlias(index int, alias string) error {
	return k.change("link alias", index, linkHeader(index), nl.NewRtAttr(unix.IFLA_IFALIAS, []byte(alias)))
}

// SetMaster makes a link a port of the bridge master; 0 takes it off its bridge.
func (k *Kernel) SetMaster(index, master int) error {
	return k.change("link master", index, linkHeader(index), nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(master))))
}

// SetUp brings a link up or down.
func (k *Kernel) SetUp(index int, up bool) error {
	h := linkHeader(index)
	h.Change = unix.IFF_UP
	if up {
		h.Flags = unix.IFF_UP
	}
	return k.change("link up", index, h)
}

// SetMAC changes a link's address.
func (k *Kernel) SetMAC(index int, mac string) error {
	hw, err := net.ParseMAC(mac)
	if err != nil {
		return fmt.Errorf("set MAC of link %d: %w", index, err)
	}
	return k.change("link mac", index, linkHeader(index), nl.NewRtAttr(unix.IFLA_ADDRESS, hw))
}

// SetMTU changes a link's MTU.
func (k *Kernel) SetMTU(index, mtu int) error {
	return k.change("link mtu", index, linkHeader(index), nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(mtu))))
}

// SetGroup changes a link's group.
func (k *Kernel) SetGroup(index int, group uint32) error {
	return k.change("link group", index, linkHeader(index), nl.NewRtAttr(unix.IFLA_GROUP, nl.Uint32Attr(group)))
}
