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

// maxIdle bounds how many sockets are kept while nobody talks on them.
const maxIdle = 8

// rtnl is one rtnetlink socket. It stays in the namespace it was opened in, and one conversation at a time has it: requests
// of two callers meet nowhere before the kernel.
type rtnl struct {
	handle *nl.SocketHandle
	buf    []byte // of pipelines
}

// lease returns a socket that nobody else talks on.
func (k *Kernel) lease() (*rtnl, error) {
	k.mu.Lock()
	if n := len(k.idle); n > 0 {
		c := k.idle[n-1]
		k.idle = k.idle[:n-1]
		k.mu.Unlock()
		return c, nil
	}
	k.mu.Unlock()
	c, err := k.dialRtnl()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open[c] = true
	return c, nil
}

// giveBack ends a conversation. Every answer to it was read.
func (k *Kernel) giveBack(c *rtnl) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.open[c] { // the Kernel was closed meanwhile
		return
	}
	if len(k.idle) < maxIdle {
		k.idle = append(k.idle, c)
		return
	}
	delete(k.open, c)
	c.close()
}

// hangUp ends a conversation that went wrong: answers may still come.
func (k *Kernel) hangUp(c *rtnl) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open[c] {
		delete(k.open, c)
		c.close()
	}
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
	return &rtnl{handle: &nl.SocketHandle{Socket: s}}, nil
}

func (c *rtnl) close() { c.handle.Close() }

// message is one request. Flags are added to NLM_F_REQUEST.
func message(kind, flags int, data ...nl.NetlinkRequestData) *nl.NetlinkRequest {
	r := &nl.NetlinkRequest{
		NlMsghdr: unix.NlMsghdr{Len: unix.SizeofNlMsghdr, Type: uint16(kind), Flags: unix.NLM_F_REQUEST | uint16(flags)},
	}
	for _, d := range data {
		r.AddData(d)
	}
	return r
}

// ask sends one message and waits for its answers, those of kind want.
func (k *Kernel) ask(r *nl.NetlinkRequest, want uint16) ([][]byte, error) {
	c, err := k.lease()
	if err != nil {
		return nil, err
	}
	defer k.giveBack(c)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: c.handle}
	if k.counter != nil {
		k.counter.sent(1)
	}
	return r.Execute(unix.NETLINK_ROUTE, want)
}

// do sends a message that is answered by an acknowledgement.
func (k *Kernel) do(kind, flags int, data ...nl.NetlinkRequestData) error {
	_, err := k.ask(message(kind, flags|unix.NLM_F_ACK, data...), 0)
	return err
}

// get sends a message that is answered by messages of kind want.
func (k *Kernel) get(kind, flags int, want uint16, data ...nl.NetlinkRequestData) ([][]byte, error) {
	out, err := k.ask(message(kind, flags, data...), want)
	if errors.Is(err, netlink.ErrDumpInterrupted) {
		return out, fmt.Errorf("%w: %w", ErrPartial, err)
	}
	return out, err
}
