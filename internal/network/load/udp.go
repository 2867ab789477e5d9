package load

import (
	"context"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// UDP headers on the wire without the link's: what a datagram of a full frame leaves of the MTU.
const (
	udpOver4 = 20 + 8
	udpOver6 = 40 + 8
)

const (
	// burst is for how long a sender of datagrams may be silent: it wakes up so often and sends what is due.
	burst = 2 * time.Millisecond
	// segments is the most datagrams that the kernel takes by one call (UDP_MAX_SEGMENTS of old kernels).
	segments = 40
	// madeUp is how many bytes a sender that was scheduled out makes up for in any case. A bucket (qos.Limit.Bucket) that was not used
	// lets 70 KB pass at once and has 40 KB wait, so with less a sender that is late by 0.2 s would lower the rate of a slow limit.
	madeUp = 128 << 10
)

func (f *Flow) receiveUDP(ctx context.Context, to In, address netip.Addr) (netip.AddrPort, error) {
	var in net.PacketConn
	var err error
	to(func() {
		in, err = (&net.ListenConfig{}).ListenPacket(ctx, "udp", netip.AddrPortFrom(address, 0).String())
	})
	if err != nil {
		return netip.AddrPort{}, err
	}
	c := in.(*net.UDPConn)
	_ = c.SetReadBuffer(8 << 20) // what the kernel allows of it
	gathered(c)
	f.keep(ctx, in.Close)
	f.tasks.Go(func() {
		for {
			n, err := take(c)
			if n > 0 {
				f.add(n)
			}
			if err != nil {
				return
			}
		}
	})
	return in.LocalAddr().(*net.UDPAddr).AddrPort(), nil
}

// sendUDP sends datagrams of a size at a rate, both of payload in bytes. The kernel gets many by one call and cuts them up; it
// does so at the card, or behind it when that takes them whole.
func (f *Flow) sendUDP(ctx context.Context, from In, to netip.AddrPort, size int, rate float64) error {
	var out net.Conn
	var err error
	from(func() { out, err = (&net.Dialer{}).DialContext(ctx, "udp", to.String()) })
	if err != nil {
		return err
	}
	f.keep(ctx, out.Close)
	if err := segmented(out.(*net.UDPConn), size); err != nil {
		return err
	}
	f.tasks.Go(func() {
		tick := time.NewTicker(burst)
		defer tick.Stop()
		f.pace(ctx, tick.C, out, size, rate)
	})
	return nil
}

// segmented has the kernel cut what is written into datagrams.
func segmented(c *net.UDPConn, size int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	if err := raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size) }); err != nil {
		return err
	}
	return set
}

// pace sends at the rate: at each tick the bytes that are due since the last, and no more than can be made up. Time that is not made up
// is noted.
func (f *Flow) pace(ctx context.Context, ticks <-chan time.Time, out net.Conn, size int, rate float64) {
	buf := make([]byte, segments*size)
	most := max(rate*(10*burst).Seconds(), madeUp, float64(size))
	var owed float64
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks:
			owed += rate * now.Sub(last).Seconds()
			last = now
		}
		if owed > most {
			f.late(time.Duration((owed - most) / rate * float64(time.Second)))
			owed = most
		}
		for n := int(owed) / size; n > 0; n = int(owed) / size {
			n = min(n, segments)
			_, _ = out.Write(buf[:n*size]) // lost, as datagrams are
			owed -= float64(n * size)
			if ctx.Err() != nil {
				return
			}
		}
	}
}
