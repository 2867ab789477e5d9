package load

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// bounded is a limit that passes payload at a rate, in bytes a second: what it has room for arrives at once, and the rest is lost.
type bounded struct {
	net.Conn
	to    *Flow
	rate  float64
	size  int
	level float64 // bytes that time has not made room for yet
	last  time.Time
}

// room is what a bucket that rested lets pass at 512 KiB/s, and what waits in it (qos.Limit.Bucket).
const room = 70<<10 + 40<<10

func (b *bounded) Write(p []byte) (int, error) {
	now := time.Now()
	b.level = max(0, b.level-b.rate*now.Sub(b.last).Seconds())
	b.last = now
	for range len(p) / b.size {
		if b.level+float64(b.size) > room {
			break
		}
		b.level += float64(b.size)
		b.to.add(b.size)
	}
	return len(p), nil
}

// A sender of datagrams that is scheduled out again and again does not lower the rate of a limit, or it is known for how long it did not
// send; and a limit that is too low is seen all the same.
func TestUDP_SenderThatIsScheduledOut(t *testing.T) {
	t.Parallel()
	x := Transport{}
	size := x.Datagram(1500)
	const rate = 512 << 10
	for name, c := range map[string]struct {
		gap    time.Duration
		limit  float64 // of the rate
		passes bool
		late   bool
	}{
		"at each tick":         {burst, 1, true, false},
		"made up":              {150 * time.Millisecond, 1, true, false},
		"noted":                {300 * time.Millisecond, 1, true, true},
		"the limit is too low": {150 * time.Millisecond, 0.95, false, false},
		"too low, and noted":   {300 * time.Millisecond, 0.5, false, true},
		"hardly ever sends":    {600 * time.Millisecond, 1, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, ctx := begin(t.Context())
				defer f.Stop()
				tick := time.NewTicker(c.gap)
				defer tick.Stop()
				out := &bounded{to: f, rate: c.limit * rate, size: size, last: time.Now()}
				f.tasks.Go(func() { f.pace(ctx, tick.C, out, size, Offered(rate)) })
				read := func(after time.Duration) Reading {
					<-time.After(after)
					synctest.Wait()
					return f.Read()
				}
				first, last := read(2*time.Second+time.Millisecond), read(30*time.Second)
				if passes := first.Passes(last, rate*(1-x.Tolerance())); passes != c.passes {
					t.Errorf("passes: %v, want %v: %.3f of the rate passed, and the sender was late by %v of 30 s", passes, c.passes, first.Until(last)/rate, last.Late-first.Late)
				}
				if late := last.Late > first.Late; late != c.late {
					t.Errorf("the sender was late by %v", last.Late-first.Late)
				}
			})
		})
	}
}
