package agent

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/wire"
)

// hear gives a link another address, and has it take frames for more.
func hear(h wire.Hear) (struct{}, error) {
	link, err := net.InterfaceByName(h.Link)
	if err != nil {
		return struct{}{}, fmt.Errorf("link %s: %w", h.Link, err)
	}
	var r rtnl
	if h.MAC != "" {
		if err := r.setMAC(link.Index, h.MAC); err != nil {
			return struct{}{}, fmt.Errorf("give link %s the address %s: %w", h.Link, h.MAC, err)
		}
	}
	for _, mac := range h.Addresses {
		if err := r.addHeard(link.Index, mac); err != nil && !errors.Is(err, unix.EEXIST) {
			return struct{}{}, fmt.Errorf("have link %s take frames for %s: %w", h.Link, mac, err)
		}
	}
	if h.Every == nil {
		return struct{}{}, nil
	}
	return struct{}{}, r.setAllMulticast(link.Index, *h.Every)
}

func (rtnl) setMAC(index int, mac string) error {
	hw, err := net.ParseMAC(mac)
	if err != nil {
		return err
	}
	info := unix.IfInfomsg{Family: unix.AF_UNSPEC, Index: int32(index)}
	return talk(unix.RTM_NEWLINK, 0, bytesOf(&info), []attr{{unix.IFLA_ADDRESS, hw}})
}

func (rtnl) setAllMulticast(index int, on bool) error {
	info := unix.IfInfomsg{Family: unix.AF_UNSPEC, Index: int32(index), Change: unix.IFF_ALLMULTI}
	if on {
		info.Flags = unix.IFF_ALLMULTI
	}
	return talk(unix.RTM_NEWLINK, 0, bytesOf(&info), nil)
}

func (rtnl) addHeard(index int, mac string) error {
	hw, err := net.ParseMAC(mac)
	if err != nil {
		return err
	}
	m := unix.NdMsg{Family: unix.AF_BRIDGE, Ifindex: int32(index), State: unix.NUD_PERMANENT, Flags: unix.NTF_SELF}
	return talk(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE, bytesOf(&m), []attr{{unix.NDA_LLADDR, hw}})
}
