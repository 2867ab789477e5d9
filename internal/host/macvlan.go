package host

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// MacvlanMode says whom a macvlan or macvtap reaches beside what is behind its lower link. Zero is none that taproom knows.
type MacvlanMode uint32

// The kernel's numbers (linux/if_link.h).
const (
	MacvlanPrivate     MacvlanMode = 1 // no other one on the same link
	MacvlanVEPA        MacvlanMode = 2 // others through a switch that sends frames back
	MacvlanBridge      MacvlanMode = 4 // others in this mode directly
	MacvlanPassthrough MacvlanMode = 8 // there is no other one, and the link has its address
)

// String is the mode as `ip` writes it.
func (m MacvlanMode) String() string {
	switch m {
	case MacvlanPrivate:
		return "private"
	case MacvlanVEPA:
		return "vepa"
	case MacvlanBridge:
		return "bridge"
	case MacvlanPassthrough:
		return "passthru"
	}
	return fmt.Sprintf("mode %d", uint32(m))
}

// MacvlanSpec is a macvlan, or with Tap a macvtap, that should exist.
type MacvlanSpec struct {
	Name  string
	Lower int // index of the link that it lies on
	Tap   bool
	Mode  MacvlanMode
	MAC   string // "" is the kernel's choice; with MacvlanPassthrough it always begins with that of the lower link
	MTU   int    // 0 is that of the lower link
	Group uint32
}

func (s MacvlanSpec) kind() string {
	if s.Tap {
		return "macvtap"
	}
	return "macvlan"
}

// CreateMacvlan makes a macvlan or macvtap, down and without an alias, by one message; done learns its index. ErrTaken when
// the name is in use, ErrNoLink when there is no lower link, Missing when the kernel has no such links. EBUSY means that
// the lower link is a port of a bridge or bond, EINVAL that it is no Ethernet link, that mode passthrough is in use on it or
// needs it for itself, or that its MTU is smaller.
func (p *Pipeline) CreateMacvlan(s MacvlanSpec, done func(index int, err error)) {
	data, err := s.message()
	if err != nil {
		done(0, fmt.Errorf("create %s %s: %w", s.kind(), s.Name, err))
		return
	}
	p.create(s.kind()+" create", s.Name, func(index int, err error) {
		if err != nil {
			err = s.createError(err)
		}
		done(index, err)
	}, data...)
}

// CreateMacvlan is Pipeline.CreateMacvlan for one alone.
func (k *Kernel) CreateMacvlan(s MacvlanSpec) (index int, err error) {
	p := k.Pipeline()
	p.CreateMacvlan(s, func(i int, cerr error) { index, err = i, cerr })
	p.Flush()
	return index, err
}

// message says the specification as a request.
func (s MacvlanSpec) message() ([]nl.NetlinkRequestData, error) {
	if s.Lower <= 0 {
		return nil, fmt.Errorf("%d is no index of a lower link", s.Lower)
	}
	data := []nl.NetlinkRequestData{
		linkHeader(0), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(s.Name)), nl.NewRtAttr(unix.IFLA_LINK, nl.Uint32Attr(uint32(s.Lower))),
	}
	if s.MAC != "" && s.Mode != MacvlanPassthrough {
		mac, err := net.ParseMAC(s.MAC)
		if err != nil {
			return nil, err
		}
		data = append(data, nl.NewRtAttr(unix.IFLA_ADDRESS, mac))
	}
	if s.MTU != 0 {
		data = append(data, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(s.MTU))))
	}
	if s.Group != 0 {
		data = append(data, nl.NewRtAttr(unix.IFLA_GROUP, nl.Uint32Attr(s.Group)))
	}
	return append(data, macvlanInfo(s.kind(), s.Mode)), nil
}

func (s MacvlanSpec) createError(err error) error {
	switch {
	case errors.Is(err, unix.EEXIST):
		err = fmt.Errorf("%w: %w", ErrTaken, err)
	case errors.Is(err, unix.ENODEV):
		err = fmt.Errorf("its lower link %d: %w: %w", s.Lower, ErrNoLink, err)
	case errors.Is(err, unix.EOPNOTSUPP):
		err = &Missing{What: s.kind(), Config: map[bool]string{true: "CONFIG_MACVTAP", false: "CONFIG_MACVLAN"}[s.Tap], Err: err}
	}
	return fmt.Errorf("create %s %s: %w", s.kind(), s.Name, err)
}

// SetMacvlanMode changes the mode of a macvlan, or with tap of a macvtap. The kernel changes none from or to
// MacvlanPassthrough.
func (k *Kernel) SetMacvlanMode(index int, tap bool, m MacvlanMode) error {
	return k.change("macvlan mode", index, linkHeader(index), macvlanInfo(MacvlanSpec{Tap: tap}.kind(), m))
}

func macvlanInfo(kind string, m MacvlanMode) *nl.RtAttr {
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.NonZeroTerminated(kind))
	info.AddRtAttr(unix.IFLA_INFO_DATA, nil).AddRtAttr(nl.IFLA_MACVLAN_MODE, nl.Uint32Attr(uint32(m)))
	return info
}

func parseMacvlan(m *MacvlanMode, data []byte) error {
	return attrs(data, func(kind uint16, value []byte) error {
		if kind == nl.IFLA_MACVLAN_MODE {
			*m = MacvlanMode(uint32Value(value))
		}
		return nil
	})
}
