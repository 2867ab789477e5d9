package host

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink" // also settles nl.NativeEndian at start: first used by two goroutines it is a data race
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ErrPartial wraps an interrupted dump: what it did not show may still exist, so nothing may be deleted because of it.
var ErrPartial = errors.New("the kernel's answer is incomplete: it changed while it was read")

// rtnl is one rtnetlink socket. It stays in the namespace it was opened in; the library serialises requests on it.
type rtnl struct {
	sockets map[int]*nl.SocketHandle
}

// conn returns the socket for short requests, opened where the Kernel's network namespace is current.
func (k *Kernel) conn() (*rtnl, error) { return k.lazyConn(&k.talk) }

// removalConn returns the socket for removals.
func (k *Kernel) removalConn() (*rtnl, error) { return k.lazyConn(&k.removal) }

func (k *Kernel) lazyConn(c **rtnl) (*rtnl, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if *c != nil {
		return *c, nil
	}
	opened, err := k.dialRtnl()
	if err != nil {
		return nil, err
	}
	*c = opened
	return opened, nil
}

// dialRtnl opens a socket where the Kernel's network namespace is current.
func (k *Kernel) dialRtnl() (*rtnl, error) {
	var s *nl.NetlinkSocket
	var err error
	// Subscribe to nothing: unlike GetNetlinkSocketAt it does not switch the thread's namespace back and forth.
	k.InNetNS(func() { s, err = nl.Subscribe(unix.NETLINK_ROUTE) })
	if err != nil {
		return nil, fmt.Errorf("open an rtnetlink socket: %w", err)
	}
	// No extended acknowledgements: the library (1.3.1) looks for an echoed request before their text, which the end of a
	// failed dump does not have, and panics. Asking for the addresses of a link that has gone is enough.
	// Strict checking makes the kernel heed the link in a request for addresses, so that answering costs what was asked.
	_ = unix.SetsockoptInt(s.GetFd(), unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1)
	return &rtnl{sockets: map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}}, nil
}

func (c *rtnl) close() {
	for _, s := range c.sockets {
		s.Close()
	}
}

// request sends one message and waits for its answer. Flags are added to NLM_F_REQUEST.
func (c *rtnl) request(kind, flags int, data ...nl.NetlinkRequestData) *nl.NetlinkRequest {
	r := &nl.NetlinkRequest{
		NlMsghdr: unix.NlMsghdr{Len: unix.SizeofNlMsghdr, Type: uint16(kind), Flags: unix.NLM_F_REQUEST | uint16(flags)},
		Sockets:  c.sockets,
	}
	for _, d := range data {
		r.AddData(d)
	}
	return r
}

// do sends a message that is answered by an acknowledgement.
func (c *rtnl) do(kind, flags int, data ...nl.NetlinkRequestData) error {
	_, err := c.request(kind, flags|unix.NLM_F_ACK, data...).Execute(unix.NETLINK_ROUTE, 0)
	return err
}

// get sends a message that is answered by messages of kind want.
func (c *rtnl) get(kind, flags int, want uint16, data ...nl.NetlinkRequestData) ([][]byte, error) {
	out, err := c.request(kind, flags, data...).Execute(unix.NETLINK_ROUTE, want)
	if errors.Is(err, netlink.ErrDumpInterrupted) {
		return out, fmt.Errorf("%w: %w", ErrPartial, err)
	}
	return out, err
}
