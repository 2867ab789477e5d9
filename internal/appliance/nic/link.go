package nic

import (
	"net"

	"golang.org/x/sys/unix"
)

// SetMAC gives a link another address of its own.
func SetMAC(index int, mac net.HardwareAddr) error {
	info := unix.IfInfomsg{Family: unix.AF_UNSPEC, Index: int32(index)}
	return talk(unix.RTM_NEWLINK, 0, bytesOf(&info), []attr{{unix.IFLA_ADDRESS, mac}})
}

// SetAllMulticast says whether a link takes the frames of every group.
func SetAllMulticast(index int, on bool) error {
	info := unix.IfInfomsg{Family: unix.AF_UNSPEC, Index: int32(index), Change: unix.IFF_ALLMULTI}
	if on {
		info.Flags = unix.IFF_ALLMULTI
	}
	return talk(unix.RTM_NEWLINK, 0, bytesOf(&info), nil)
}

// AddHeard has a link take the frames for one more address, of a group or of a machine. One that it hears already is EEXIST.
func AddHeard(index int, mac net.HardwareAddr) error {
	m := unix.NdMsg{Family: unix.AF_BRIDGE, Ifindex: int32(index), State: unix.NUD_PERMANENT, Flags: unix.NTF_SELF}
	return talk(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE, bytesOf(&m), []attr{{unix.NDA_LLADDR, mac}})
}
