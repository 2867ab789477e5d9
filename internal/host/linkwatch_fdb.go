package host

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// filtered has told as well that a bridge forgot an address which somebody said is behind a port of it, that a route of
// ours went, and that a link lost a queue, a class or a filter; that one came is kept out, since whoever looks makes the kernel tell that. The rest of what those groups tell is kept out by a filter: guests make learned addresses and neighbours come and
// go as often as they like, and a routing daemon may have a million routes.
func (m *Multicast) filtered() error {
	swap := func(v uint16) uint32 { // a filter reads the most significant byte first, and the message is the machine's
		return uint32(binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, v)))
	}
	const header = unix.SizeofNlMsghdr // struct ndmsg or rtmsg follows
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 4}, // nlmsg_type
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: swap(unix.RTM_NEWQDISC), Jt: 13},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: swap(unix.RTM_NEWTCLASS), Jt: 12},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: swap(unix.RTM_NEWTFILTER), Jt: 11}, // no
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: swap(unix.RTM_NEWROUTE), Jt: 10},   // no
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: swap(unix.RTM_DELROUTE), Jf: 2},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: header + 5}, // rtm_protocol
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: RouteProtocol, Jt: 6, Jf: 7},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: swap(unix.RTM_NEWNEIGH), Jt: 6}, // no
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: swap(unix.RTM_DELNEIGH), Jf: 4}, // all else: yes
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: header},                          // ndm_family
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.AF_BRIDGE, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: header + 8}, // ndm_state
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: swap(unix.NUD_NOARP), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1<<32 - 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	raw, err := m.file.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = raw.Control(func(fd uintptr) {
		serr = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
		for _, group := range []int{unix.RTNLGRP_TC, unix.RTNLGRP_NEIGH, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE} {
			if serr == nil {
				serr = unix.SetsockoptInt(int(fd), unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, group)
			}
		}
	})
	if err = errors.Join(err, serr); err != nil {
		return fmt.Errorf("watch the addresses behind ports of bridges, routes and queues: %w", err)
	}
	return nil
}
