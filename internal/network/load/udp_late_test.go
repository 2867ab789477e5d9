package load

import (
	"errors"
	"net"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/qos"
)

// A sender of datagrams that is scheduled out again and again does not lower the rate of a limit, or it is known for how long it did not
// send; and a limit that is too low is seen all the same.
func TestUDP_SenderThatIsScheduledOut(t *testing.T) {
	t.Parallel()
	const kib, mtu = 512, 1500
	x := Transport{}
	share := float64(kib<<10) * x.Share(mtu)
	for name, c := range map[string]struct {
		gap    time.Duration
		limit  uint64 // KiB/s
		passes bool
	}{
		"made up":              {150 * time.Millisecond, kib, true},
		"noted":                {300 * time.Millisecond, kib, true},
		"the limit is too low": {150 * time.Millisecond, kib * 95 / 100, false},
		"too low, and noted":   {300 * time.Millisecond, kib * 6 / 10, false},
		"hardly ever sends":    {600 * time.Millisecond, kib, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, inside := hosttest.NewNS(t), hosttest.NewNS(t)
			site, err := NewSite(ns.Kernel(), "br0")
			if err != nil {
				t.Fatal(err)
			}
			place, err := site.Plug(inside.Kernel())
			if err != nil {
				t.Fatal(err)
			}
			bound, err := NewBound(ns.Kernel(), place.Tap.Index, "shape0", false)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := errors.Join(bound.Close(), place.Close(), site.Close()); err != nil {
					t.Error(err)
				}
			}()
			if err := bound.Set(qos.Limits{In: qos.Limit{Average: c.limit}}, mtu); err != nil {
				t.Fatal(err)
			}
			f, ctx := begin(t.Context())
			defer f.Stop()
			at, err := f.receive(ctx, inside.Do, x, place.Addr[0])
			if err != nil {
				t.Fatal(err)
			}
			var out net.Conn
			ns.Do(func() { out, err = (&net.Dialer{}).DialContext(ctx, "udp", at.String()) })
			if err == nil {
				f.keep(ctx, out.Close)
				err = segmented(out.(*net.UDPConn), x.Datagram(mtu))
			}
			if err != nil {
				t.Fatal(err)
			}
			tick := time.NewTicker(c.gap)
			defer tick.Stop()
			f.tasks.Go(func() { f.pace(ctx, tick.C, out, x.Datagram(mtu), Offered(share)) })
			for late, low := time.Now().Add(patience), 0; ; {
				first := f.Read()
				<-time.After(2 * time.Second)
				last := f.Read()
				passes := first.Passes(last, share*(1-x.Tolerance()))
				if first.Bytes > 0 && !passes {
					low++
				}
				if passes && c.passes || !c.passes && low == 3 {
					return
				}
				if passes || time.Now().After(late) {
					t.Fatalf("passes: %v, want %v: %.3f of the limit passed, and the sender was late by %v of 2 s", passes, c.passes, first.Until(last)/share, last.Late-first.Late)
				}
			}
		})
	}
}
