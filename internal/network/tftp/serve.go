package tftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
)

// Transfer is one that has ended, well or not.
type Transfer struct {
	Client netip.AddrPort
	File   string // as the client named it
	Bytes  int64  // that the client has acknowledged
	Err    error
}

// Options are a network's settings. The zero value serves.
type Options struct {
	Root      string         // the path of the directory, for clients that name files by it
	MaxBlock  int            // the largest block; zero: what fits a packet of 1500 bytes
	Sessions  int            // transfers at a time; zero: 64
	PerClient int            // of these by one address; zero: 16
	Total     *Limit         // of all networks; nil: none
	Timeout   time.Duration  // before something is sent again, doubled each time; zero: a second
	Report    func(Transfer) // called for each that ended, one at a time; it must not wait. Nil: nobody asks
}

// What a packet of 1500 bytes leaves for a block, so that no boot ROM has to put fragments together.
const (
	block4 = 1500 - 20 - 8 - 4
	block6 = 1500 - 40 - 8 - 4
)

// withDefaults fills in what is zero.
func (o Options) withDefaults(local netip.Addr) Options {
	if o.MaxBlock == 0 {
		o.MaxBlock = block6
		if local.Unmap().Is4() {
			o.MaxBlock = block4
		}
	}
	o.MaxBlock = min(max(o.MaxBlock, defaultBlock), maxBlock)
	if o.Sessions == 0 {
		o.Sessions = 64
	}
	if o.PerClient == 0 {
		o.PerClient = 16
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.Report == nil {
		o.Report = func(Transfer) {}
	}
	return o
}

// patience is how long a datagram may wait for room in the socket's buffer. What does not go out is sent again later.
const patience = 100 * time.Millisecond

// Serve answers requests on a socket with files of a directory until the context ends, and then returns nil. Socket and
// directory stay the caller's. One goroutine does everything, so a network's transfers share one processor at most.
func Serve(ctx context.Context, conn *net.UDPConn, dir *os.File, o Options) error {
	local, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		return fmt.Errorf("serve TFTP: %v is not the address of a UDP socket", conn.LocalAddr())
	}
	t := newTable(dir, o.withDefaults(local.AddrPort().Addr()), func(to netip.AddrPort, b []byte) {
		_, _ = conn.WriteToUDPAddrPort(b, to) // lost, like any datagram may be
	})
	defer t.close(errors.New("the server stops"))

	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed socket, which wakes by itself
	})
	defer func() {
		if !stop() {
			<-woken
		}
		_ = conn.SetDeadline(time.Time{}) // the same
	}()

	b := make([]byte, maxRequest+1) // one more than allowed, so that a longer one is seen as such
	for {
		// In this order: a context that ends in between sets the deadline once more.
		err := conn.SetReadDeadline(t.due())
		if ctx.Err() != nil {
			return nil
		}
		n, from, failed := conn.ReadFromUDPAddrPort(b)
		now := time.Now()
		if errors.Is(failed, os.ErrDeadlineExceeded) {
			failed = nil
		}
		if err = errors.Join(err, failed, conn.SetWriteDeadline(now.Add(patience))); err != nil {
			return fmt.Errorf("serve TFTP on %s: %w", local, err)
		}
		t.receive(from, b[:n], now)
		t.expire(now)
	}
}
