package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Delays are how long requests took.
type Delays struct {
	sorted []time.Duration
	Lost   int // of them never came back; they count as having taken GivenUp
}

// GivenUp is when a request counts as lost.
const GivenUp = 3 * time.Second

// Quantile returns what so many of the requests did not exceed: 0.5 is the median. GivenUp when nothing was asked.
func (d Delays) Quantile(q float64) time.Duration {
	if len(d.sorted) == 0 {
		return GivenUp
	}
	return d.sorted[min(int(q*float64(len(d.sorted))), len(d.sorted)-1)]
}

// request is a number and filling, like what asks for a name.
const request = 64

// Probe asks an echo service so many times, evenly spread, and waits for the last answers. Requests go one way by
// themselves, and their answers the other.
func Probe(ctx context.Context, from, to In, address netip.Addr, count int, every time.Duration) (_ Delays, err error) {
	var service net.PacketConn
	to(func() {
		service, err = (&net.ListenConfig{}).ListenPacket(ctx, "udp", netip.AddrPortFrom(address, 0).String())
	})
	if err != nil {
		return Delays{}, fmt.Errorf("answer at %v: %w", address, err)
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer service.Close()
	tasks.Go(func() {
		for b := make([]byte, request); ; {
			n, who, err := service.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = service.WriteTo(b[:n], who)
		}
	})
	return Ask(ctx, from, service.LocalAddr().(*net.UDPAddr).AddrPort(), count, every)
}

// Ask is Probe of a service that answers already with what it was sent.
func Ask(ctx context.Context, from In, at netip.AddrPort, count int, every time.Duration) (_ Delays, err error) {
	var c net.Conn
	from(func() { c, err = (&net.Dialer{}).DialContext(ctx, "udp", at.String()) })
	if err != nil {
		return Delays{}, fmt.Errorf("ask %v: %w", at, err)
	}
	defer c.Close()
	return ask(ctx, c, count, every)
}

// ask sends the requests and gathers the answers.
func ask(ctx context.Context, c net.Conn, count int, every time.Duration) (Delays, error) {
	began := time.Now()
	took := make([]time.Duration, count) // 0: not yet
	var sender sync.WaitGroup
	defer sender.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.SetReadDeadline(began.Add(time.Duration(count)*every + GivenUp)); err != nil {
		return Delays{}, err
	}
	sender.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		b := make([]byte, request)
		for i := range count {
			binary.BigEndian.PutUint64(b, uint64(i))
			binary.BigEndian.PutUint64(b[8:], uint64(time.Since(began)))
			_, _ = c.Write(b)
			select {
			case <-tick.C:
			case <-ctx.Done():
				_ = c.SetReadDeadline(began)
				return
			}
		}
	})
	for back, b := 0, make([]byte, request); back < count; {
		if _, err := c.Read(b); err != nil {
			break // what is missing now is lost
		}
		i := binary.BigEndian.Uint64(b)
		if i < uint64(count) && took[i] == 0 {
			took[i] = time.Since(began) - time.Duration(binary.BigEndian.Uint64(b[8:]))
			back++
		}
	}
	if err := context.Cause(ctx); err != nil {
		return Delays{}, err
	}
	var d Delays
	for i := range took {
		if took[i] == 0 {
			took[i] = GivenUp
			d.Lost++
		}
	}
	slices.Sort(took)
	d.sorted = took
	return d, nil
}
