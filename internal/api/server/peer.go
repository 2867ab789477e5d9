package server

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peer is who is at the other end of a socket.
type peer struct {
	PID      int32
	UID, GID uint32
}

// peerOf asks the kernel (SO_PEERCRED); what is no unix socket has no peer.
func peerOf(nc net.Conn) peer {
	uc, ok := nc.(*net.UnixConn)
	if !ok {
		return peer{}
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return peer{}
	}
	var p peer
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			p = peer{PID: cred.Pid, UID: cred.Uid, GID: cred.Gid}
		}
	})
	return p
}

// temporary reports whether accepting may work again later.
func temporary(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED, unix.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
