package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// pipelineWindow is how many requests are under way before their answers are read: what the kernel echoes of as many new
// links, some 2 KiB each, fits the buffer of a socket.
const pipelineWindow = 64

// Pipeline sends requests about links one behind the other and reads their answers later, which it matches by sequence
// number. The kernel carries them out in their order. Only failures, what was asked for and the last request are answered, so
// many requests cost one answer. It belongs to one goroutine; Flush ends it.
type Pipeline struct {
	k       *Kernel
	c       *rtnl
	waiting map[uint32]*answer
	last    *pending // is sent when the next one comes, or as the last
	err     error    // that ended the conversation
}

// pending is a request that is still to be sent.
type pending struct {
	step string
	r    *nl.NetlinkRequest
}

// answer is what a request came to.
type answer struct {
	reply []byte
	err   error
	done  func(reply []byte, err error)
}

// Pipeline begins a conversation. A failure to begin one is every request's.
func (k *Kernel) Pipeline() *Pipeline {
	c, err := k.lease()
	if err == nil && c.buf == nil {
		c.buf = make([]byte, 32<<10)
		// A failure echoes its request's header alone.
		_ = unix.SetsockoptInt(c.handle.Socket.GetFd(), unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	}
	return &Pipeline{k: k, c: c, waiting: map[uint32]*answer{}, err: err}
}

// send sends a request, once it is known whether it is the last. done is called by Flush at the latest, in the order of the
// requests.
func (p *Pipeline) send(step string, r *nl.NetlinkRequest, done func(reply []byte, err error)) {
	if p.err == nil {
		p.transmit(0)
	}
	if p.err != nil {
		done(nil, p.err)
		return
	}
	r.Seq = atomic.AddUint32(&p.c.handle.Seq, 1)
	p.waiting[r.Seq], p.last = &answer{done: done}, &pending{step, r}
	if len(p.waiting) == pipelineWindow {
		p.drain()
	}
}

// transmit announces the request that is pending, if one is, and sends it.
func (p *Pipeline) transmit(flags uint16) {
	if p.last == nil {
		return
	}
	step, r := p.last.step, p.last.r
	p.last = nil
	p.k.Step(step)
	r.Flags |= flags
	b := r.Serialize()
	p.k.Sending(b)
	if err := unix.Sendto(p.c.handle.Socket.GetFd(), b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		p.fail(err)
		p.tell(r.Seq + 1)
	}
}

// Flush waits until everything that was sent is answered, and ends the conversation.
func (p *Pipeline) Flush() {
	if p.err == nil && len(p.waiting) > 0 {
		p.drain()
	}
	if p.err == nil {
		p.k.giveBack(p.c)
	}
	p.c = nil
}

// drain reads the answers to what is under way. The last request is acknowledged: the kernel answers in order, so what it did
// not complain of until then is done.
func (p *Pipeline) drain() {
	end := p.last.r.Seq
	p.transmit(unix.NLM_F_ACK)
	if p.err != nil {
		return
	}
	var err error
	for over := false; !over && err == nil; {
		over, err = p.receive(end)
	}
	if err != nil {
		p.fail(err)
	}
	p.tell(end + 1)
}

// tell calls those who wait, in the order in which they sent. end is the number after the last.
func (p *Pipeline) tell(end uint32) {
	for seq := end - pipelineWindow; seq != end; seq++ {
		if a := p.waiting[seq]; a != nil {
			delete(p.waiting, seq)
			a.done(a.reply, errors.Join(a.err, p.err))
		}
	}
}

// receive reads one datagram and reports whether it holds the answer to the last message.
func (p *Pipeline) receive(last uint32) (over bool, err error) {
	fd := p.c.handle.Socket.GetFd()
	n, from, err := unix.Recvfrom(fd, p.c.buf, 0)
	for errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) { // answers come before the sending returns, so this does not last
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		n, from, err = unix.Recvfrom(fd, p.c.buf, 0)
	}
	if err != nil {
		return false, err
	}
	if sender, ok := from.(*unix.SockaddrNetlink); ok && sender.Pid != nl.PidKernel {
		return false, nil
	}
	msgs, err := syscall.ParseNetlinkMessage(p.c.buf[:n])
	if err != nil {
		return false, err
	}
	for _, m := range msgs {
		over = over || m.Header.Seq == last && m.Header.Type == unix.NLMSG_ERROR // which comes behind what was asked for
		a := p.waiting[m.Header.Seq]
		switch {
		case a == nil:
		case m.Header.Type != unix.NLMSG_ERROR:
			a.reply = append([]byte(nil), m.Data...)
		case len(m.Data) < 4:
			return over, errAttributes
		default:
			if errno := -int32(binary.NativeEndian.Uint32(m.Data)); errno != 0 {
				a.err = unix.Errno(errno)
			}
		}
	}
	return over, nil
}

// fail ends the conversation: what became of the requests under way is not known.
func (p *Pipeline) fail(err error) {
	p.err = fmt.Errorf("talk rtnetlink: %w", err)
	p.k.hangUp(p.c)
}

// create makes a link that is told to have that name, and asks the kernel to echo it: a look at its name might find another
// one by then. Before Linux 6.2 there is no echo, and the look is all there is.
func (p *Pipeline) create(step, name string, done func(index int, err error), data ...nl.NetlinkRequestData) {
	const flags = unix.NLM_F_CREATE | unix.NLM_F_EXCL | unix.NLM_F_ECHO
	p.send(step, message(unix.RTM_NEWLINK, flags, data...), func(reply []byte, err error) {
		if err != nil {
			done(0, err)
			return
		}
		var l Link
		if reply == nil {
			l, err = p.k.LinkByName(name)
		} else {
			l, err = parseLink(reply)
		}
		done(l.Index, err)
	})
}

// SetLink is Kernel.SetLink; done learns how it ended.
func (p *Pipeline) SetLink(index int, s LinkSettings, done func(error)) {
	data, err := s.message(index)
	if err != nil {
		done(err)
		return
	}
	p.change("link set", index, done, data...)
}

// SetAlias is Kernel.SetAlias; done learns how it ended.
func (p *Pipeline) SetAlias(index int, alias string, done func(error)) {
	p.change("link alias", index, done, linkHeader(index), nl.NewRtAttr(unix.IFLA_IFALIAS, []byte(alias)))
}

func (p *Pipeline) change(step string, index int, done func(error), data ...nl.NetlinkRequestData) {
	p.send(step, message(unix.RTM_NEWLINK, 0, data...), func(_ []byte, err error) { done(changeError(step, index, err)) })
}

// message says the settings as a request; the first part is its header.
func (s LinkSettings) message(index int) ([]nl.NetlinkRequestData, error) {
	h := linkHeader(index)
	data := []nl.NetlinkRequestData{h}
	if s.MAC != "" {
		mac, err := net.ParseMAC(s.MAC)
		if err != nil {
			return nil, fmt.Errorf("set link %d: %w", index, err)
		}
		data = append(data, nl.NewRtAttr(unix.IFLA_ADDRESS, mac))
	}
	if s.MTU != 0 {
		data = append(data, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(s.MTU))))
	}
	if s.Group != 0 {
		data = append(data, nl.NewRtAttr(unix.IFLA_GROUP, nl.Uint32Attr(s.Group)))
	}
	if s.Master != 0 {
		data = append(data, nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(s.Master))))
	}
	if s.Up {
		h.Flags |= unix.IFF_UP
	}
	if s.AllMulticast {
		h.Flags |= unix.IFF_ALLMULTI
	}
	h.Change = h.Flags
	return data, nil
}

// changeError names the link in the error of a change.
func changeError(step string, index int, err error) error {
	switch {
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%s: link %d: %w: %w", step, index, ErrNoLink, err)
	case err != nil:
		return fmt.Errorf("%s: link %d: %w", step, index, err)
	}
	return nil
}
