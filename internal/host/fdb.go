package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// fdbHeader is struct ndmsg for a port of a bridge, or for a link by itself.
type fdbHeader struct {
	index int
	state uint16 // 0 asks for all
	flags byte   // NTF_SELF or NTF_MASTER
}

// Len implements nl.NetlinkRequestData.
func (*fdbHeader) Len() int { return unix.SizeofNdMsg }

// Serialize implements nl.NetlinkRequestData.
func (h *fdbHeader) Serialize() []byte {
	b := make([]byte, unix.SizeofNdMsg)
	b[0] = unix.AF_BRIDGE
	binary.NativeEndian.PutUint32(b[4:], uint32(h.index))
	binary.NativeEndian.PutUint16(b[8:], h.state)
	b[10] = h.flags
	return b
}

// parseFDBHeader reads one, and returns the attributes behind it.
func parseFDBHeader(m []byte) (h fdbHeader, rest []byte, err error) {
	if len(m) < unix.SizeofNdMsg {
		return h, nil, errors.New("the kernel sent a message that is too short")
	}
	h.index, h.state, h.flags = int(int32(binary.NativeEndian.Uint32(m[4:]))), binary.NativeEndian.Uint16(m[8:]), m[10]
	return h, m[unix.SizeofNdMsg:], nil
}

// StaticFDB lists the addresses that somebody said are behind a port of the bridge master, in lower case, sorted, each once.
// Those that the bridge has learned, and the port's own, are not among them. ErrPartial when the listing was interrupted.
func (k *Kernel) StaticFDB(port, master int) ([]string, error) {
	k.Step("fdb list")
	msgs, err := k.get(unix.RTM_GETNEIGH, unix.NLM_F_DUMP, unix.RTM_NEWNEIGH, &fdbHeader{index: port}, nl.NewRtAttr(unix.NDA_MASTER, nl.Uint32Attr(uint32(master))))
	if err != nil && !errors.Is(err, ErrPartial) {
		return nil, fmt.Errorf("list the addresses behind link %d: %w", port, err)
	}
	var out []string
	for _, m := range msgs {
		mac, static, perr := parseFDB(m, port)
		if perr != nil {
			return nil, fmt.Errorf("list the addresses behind link %d: %w", port, perr)
		}
		if static {
			out = append(out, mac)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), err // a bridge with VLANs has one for each
}

// parseFDB reads an entry; static is false for one that is learned, the port's own or another port's.
func parseFDB(m []byte, port int) (mac string, static bool, err error) {
	h, rest, err := parseFDBHeader(m)
	if err != nil || h.index != port || h.state != unix.NUD_NOARP {
		return "", false, err
	}
	err = attrs(rest, func(kind uint16, value []byte) error {
		if kind == unix.NDA_LLADDR {
			mac = net.HardwareAddr(value).String()
		}
		return nil
	})
	return mac, mac != "", err
}

// SetFDB says that an address is behind a port of a bridge. The bridge forgets it when the port leaves.
func (k *Kernel) SetFDB(port int, mac string) error {
	return k.fdb("fdb set", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, port, mac)
}

// DelFDB takes that back. One that is not there is no error.
func (k *Kernel) DelFDB(port int, mac string) error {
	err := k.fdb("fdb delete", unix.RTM_DELNEIGH, 0, port, mac)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func (k *Kernel) fdb(step string, kind uint16, flags, port int, mac string) error {
	hw, err := net.ParseMAC(mac)
	if err != nil {
		return fmt.Errorf("%s: link %d: %w", step, port, err)
	}
	k.Step(step)
	return changeError(step, port, k.do(int(kind), flags, &fdbHeader{index: port, state: unix.NUD_NOARP | unix.NUD_REACHABLE, flags: unix.NTF_MASTER}, nl.NewRtAttr(unix.NDA_LLADDR, hw)))
}

// SetManaged has a port of a bridge not learn addresses, nor get frames for unknown ones, or has it do both again. A port that
// leaves its bridge forgets it.
func (k *Kernel) SetManaged(index int, managed bool) error {
	on := byte(1)
	if managed {
		on = 0
	}
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_SLAVE_KIND, nl.NonZeroTerminated("bridge"))
	data := info.AddRtAttr(unix.IFLA_INFO_SLAVE_DATA, nil)
	data.AddRtAttr(nl.IFLA_BRPORT_LEARNING, nl.Uint8Attr(on))
	data.AddRtAttr(nl.IFLA_BRPORT_UNICAST_FLOOD, nl.Uint8Attr(on))
	return k.change("bridge port set", index, linkHeader(index), info)
}

// SetVLANFiltering has a bridge look at VLAN tags, or not. With it, and with at most one port that is not managed, the kernel
// takes ports out of promiscuous mode. Missing when the kernel knows no VLANs on bridges.
func (k *Kernel) SetVLANFiltering(index int, on bool) error {
	value := byte(0)
	if on {
		value = 1
	}
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.NonZeroTerminated("bridge"))
	info.AddRtAttr(unix.IFLA_INFO_DATA, nil).AddRtAttr(nl.IFLA_BR_VLAN_FILTERING, nl.Uint8Attr(value))
	err := k.change("bridge vlans", index, linkHeader(index), info)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return &Missing{What: "VLANs on bridges", Config: "CONFIG_BRIDGE_VLAN_FILTERING", Err: err}
	}
	return err
}
