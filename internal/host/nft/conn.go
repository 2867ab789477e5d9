package nft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Backend is where transactions go: the kernel (Conn) or memory (Fake). Its methods may be called from several
// goroutines. None retries a change; a dump that raced with somebody's change is repeated a few times.
type Backend interface {
	// Commit applies all of the transaction or nothing. An empty one is a success and sends nothing. See the package's
	// comment for what an error means.
	Commit(ctx context.Context, t *Transaction) error
	// Dump reads a table with everything in it. ErrNoTable: it does not exist.
	Dump(ctx context.Context, f Family, table string) (*Listing, error)
	// Layout is Dump without the elements, so that its cost does not grow with them.
	Layout(ctx context.Context, f Family, table string) (*Listing, error)
	// Counts reads the counters of a Dynamic set by its members. ErrNoTable: the set or its table does not exist.
	Counts(ctx context.Context, s Set) (map[string]Counter, error)
	// Generation reads the number that counts the changes of nf_tables in this network namespace, whoever makes them: each
	// transaction that changes anything is one, and what packets put into sets is none. Whether a transaction counts that
	// changes nothing is the kernel's secret.
	Generation(ctx context.Context) (uint32, error)
	// Untouched reports whether each change that led from one generation to another is known to have left tables alone; they
	// count by Family and Name. False says that only a look at them tells.
	Untouched(from, to uint32, tables ...Table) bool
}

// Conn is a connection to the nf_tables of one network namespace, the one that was current in its Kernel when it was
// opened. Its owner closes it.
type Conn struct {
	kernel *host.Kernel
	sock   *netlink.Conn
	raw    syscall.RawConn

	mu     sync.Mutex // one conversation at a time
	seq    uint32
	buf    []byte
	sndbuf int
	news   *news // nil: nobody has asked for it
}

var _ Backend = (*Conn)(nil)

const (
	receiveSize   = 1 << 17
	receiveBuffer = 4 << 20 // room for the errors of a batch of which every message is wrong
)

// Open connects to nf_tables in the Kernel's network namespace.
func Open(k *host.Kernel) (*Conn, error) {
	k.Step("nft open")
	var sock *netlink.Conn
	var err error
	k.InNetNS(func() { sock, err = netlink.Dial(unix.NETLINK_NETFILTER, nil) })
	if err != nil {
		return nil, fmt.Errorf("open a netfilter socket: %w; the kernel needs CONFIG_NETFILTER_NETLINK", err)
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a netfilter socket: %w", err), sock.Close())
	}
	c := &Conn{kernel: k, sock: sock, raw: raw, seq: 1, buf: make([]byte, receiveSize)}
	// Without these two the kernel repeats a failed message in full, and says nothing in words. Both are conveniences.
	_ = sock.SetOption(netlink.CapAcknowledge, true)
	_ = sock.SetOption(netlink.ExtendedAcknowledge, true)
	if err := c.control(func(fd int) error { return setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receiveBuffer) }); err != nil {
		return nil, errors.Join(fmt.Errorf("raise the netfilter socket's buffer: %w", err), sock.Close())
	}
	return c, nil
}

// Close ends the connection. What was committed stays.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.sock.Close()
	if c.news != nil {
		err = errors.Join(err, c.news.listener.Close())
		c.news = nil
	}
	return err
}

func setBuffer(fd, force, plain, size int) error {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, size) // capped by the system's limit
}

func (c *Conn) control(f func(fd int) error) error {
	var err error
	if cerr := c.raw.Control(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// send hands one datagram to the kernel, which has queued all its answers when send returns (but for dumps, of which it
// queues the next part while one is received).
func (c *Conn) send(b []byte) error {
	c.kernel.Sending(b)
	return c.control(func(fd int) error {
		if need := len(b) + 1024; need > 64<<10 && need > c.sndbuf {
			if err := setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, need); err != nil {
				return os.NewSyscallError("setsockopt", err)
			}
			c.sndbuf = need
		}
		for {
			err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
			if err != unix.EINTR {
				return os.NewSyscallError("sendto", err)
			}
		}
	})
}

// receive returns one datagram, valid until the next call; EAGAIN when there is none.
func (c *Conn) receive() ([]byte, error) {
	var n int
	err := c.control(func(fd int) error {
		for {
			var flags int
			var err error
			n, _, flags, _, err = unix.Recvmsg(fd, c.buf, nil, unix.MSG_DONTWAIT)
			switch {
			case err == unix.EINTR:
				continue
			case err == nil && flags&unix.MSG_TRUNC != 0:
				return fmt.Errorf("an answer of more than %d bytes", len(c.buf))
			}
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	return c.buf[:n], nil
}

// drain forgets what an earlier conversation left unread.
func (c *Conn) drain() {
	for {
		if _, err := c.receive(); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return
		}
	}
}

// Commit sends the transaction as one batch.
func (c *Conn) Commit(ctx context.Context, t *Transaction) error {
	if t.err != nil {
		return t.err
	}
	if err := ctx.Err(); err != nil || len(t.ops) == 0 {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := encodeBatch(t, c.seq)
	if err != nil {
		return err
	}
	c.seq = b.last() + 2
	c.drain()
	c.kernel.Step("nft commit")
	if err := c.send(b.bytes); err != nil {
		return fmt.Errorf("nft: send a transaction of %d changes (%d bytes): %w", t.Len(), len(b.bytes), err)
	}
	return c.answers(t, b)
}

// answers reads what the kernel said about a batch. All of it is queued already.
func (c *Conn) answers(t *Transaction, b *batch) error {
	var failed *Error
	var refused error
	acked, lost := false, false
	for {
		p, err := c.receive()
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if errors.Is(err, unix.ENOBUFS) {
			lost = true
			continue
		}
		if err != nil {
			return fmt.Errorf("nft: read the answer: %w: %w", ErrAnswerLost, err)
		}
		for m, err := range packets(p) {
			if err != nil {
				return fmt.Errorf("nft: read the answer: %w: %w", ErrAnswerLost, err)
			}
			a, ok := parseAnswer(m)
			switch op, known := b.operation(m.seq); {
			case !ok:
			case a.errno == 0:
				acked = acked || m.seq == b.last()
			case known && failed == nil:
				o := t.ops[op]
				failed = &Error{Command: shorten(o.command()), Object: o.object, Detail: a.text, Err: a.errno}
			case m.seq == b.first && a.errno == unix.ERESTART:
				refused = ErrChanged
			case m.seq == b.first && refused == nil:
				refused = fmt.Errorf("nft: the kernel refused the transaction: %w", a.errno)
			}
		}
	}
	switch {
	case refused != nil:
		return refused
	case failed != nil:
		return failed
	case acked:
		return nil
	case lost:
		return fmt.Errorf("nft: commit %d changes: %w: %w", t.Len(), ErrAnswerLost, unix.ENOBUFS)
	}
	return fmt.Errorf("nft: commit %d changes: %w", t.Len(), ErrAnswerLost)
}

// answer is an NLMSG_ERROR: an acknowledgement when errno is 0.
type answer struct {
	errno unix.Errno
	text  string
}

func parseAnswer(m packet) (answer, bool) {
	if m.kind != unix.NLMSG_ERROR || len(m.body) < 4+headerSize {
		return answer{}, false
	}
	a := answer{errno: unix.Errno(-int32(binary.NativeEndian.Uint32(m.body)))}
	if m.flags&unix.NLM_F_ACK_TLVS == 0 || m.flags&unix.NLM_F_CAPPED == 0 && a.errno != 0 {
		return a, true
	}
	list, err := parseAttrs(m.body[4+headerSize:])
	if err != nil {
		return a, true // the errno is what counts; the words are a convenience
	}
	for _, x := range list {
		if x.kind == unix.NLMSGERR_ATTR_MSG {
			a.text = cString(x.data)
		}
	}
	return a, true
}
