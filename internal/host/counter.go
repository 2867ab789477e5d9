package host

import (
	"encoding/binary"
	"maps"
	"sync"

	"golang.org/x/sys/unix"
)

// Counter counts the calls that a Kernel announces and the netlink messages that it sends to the kernel (Options.Counter).
// The zero value is ready to use, and several goroutines may use it.
type Counter struct {
	mu      sync.Mutex
	calls   map[string]uint64
	netlink uint64
}

// Counts are the totals of a Counter.
type Counts struct {
	Calls   map[string]uint64 // by the name that the hook gets
	Netlink uint64            // requests, each message of a batch; answers and notifications are not counted
}

// Counts returns the counts since the Counter was made.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Counts{Calls: maps.Clone(c.calls), Netlink: c.netlink}
}

func (c *Counter) call(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]uint64{}
	}
	c.calls[name]++
}

func (c *Counter) sent(messages int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.netlink += uint64(messages)
}

// Sending counts the netlink messages of a datagram that its caller sends next. Packages below host that have sockets of their
// own (host/nft) use it too.
func (k *Kernel) Sending(datagram []byte) {
	if k.counter != nil {
		k.counter.sent(messagesIn(datagram))
	}
}

// messagesIn returns how many netlink messages a datagram holds.
func messagesIn(datagram []byte) (n int) {
	for len(datagram) >= unix.SizeofNlMsghdr {
		n++
		length := int(binary.NativeEndian.Uint32(datagram)) // nlmsg_len, without the padding behind the message
		length = (max(length, unix.SizeofNlMsghdr) + unix.NLMSG_ALIGNTO - 1) &^ (unix.NLMSG_ALIGNTO - 1)
		datagram = datagram[min(length, len(datagram)):]
	}
	return n
}
