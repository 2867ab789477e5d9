package qos

import (
	"fmt"

	"taproom/internal/host"
	"taproom/internal/spec"
)

// Limit is what a document says of one direction. The zero value bounds nothing.
type Limit struct {
	Average uint64 // KiB/s; 0 is no bound
	Peak    uint64 // KiB/s while a burst lasts; 0 is as fast as the link can
	Burst   uint64 // KiB that pass at Peak after a rest; 0 is next to none
	Floor   uint64 // KiB/s that the NIC has in any case, of what its network has; only inbound
}

// Limits are those of a NIC or a network, as the guest sees the directions: In is what it receives.
type Limits struct {
	In, Out Limit
}

// Read reads a document's element; nil bounds nothing. Numbers that Validate lets through are no error.
func Read(b *spec.Bandwidth) (l Limits, err error) {
	if b == nil {
		return l, nil
	}
	if l.In, err = read(b.Inbound); err == nil {
		l.Out, err = read(b.Outbound)
	}
	return l, err
}

// Kept are the limits as they are kept. A document may say a peak that is below the average, and libvirt's commands of tc make of it
// what follows: what a guest receives stays at the peak, which is the ceiling of an HTB, and what it sends at the average, since a
// policer has no peak.
func (l Limits) Kept() Limits {
	if l.In.Peak > 0 && l.In.Peak < l.In.Average {
		l.In.Average, l.In.Peak = l.In.Peak, 0
	}
	if l.Out.Peak < l.Out.Average {
		l.Out.Peak = 0
	}
	return l
}

func read(r *spec.Rate) (l Limit, err error) {
	if r == nil {
		return l, nil
	}
	for _, n := range []struct {
		from string
		to   *uint64
	}{{r.Average, &l.Average}, {r.Peak, &l.Peak}, {r.Burst, &l.Burst}, {r.Floor, &l.Floor}} {
		if n.from == "" {
			continue
		}
		if *n.to, err = spec.ParseDecimal(n.from, 1<<32-1); err != nil {
			return l, fmt.Errorf("bandwidth: %w", err)
		}
	}
	return l, nil
}

// What a frame has around and inside of it; see the package's comment.
const (
	ethernet    = 14
	tcpHeaders  = 52
	standardMTU = 1500
)

// Wire is what the kernel counts, in bytes (or bytes a second), where that many KiB of payload go in frames of an MTU; 0 is
// Ethernet's 1500.
func Wire(kib uint64, mtu int) uint64 {
	if mtu < 68 { // no link has less
		mtu = standardMTU
	}
	whole, payload := uint64(mtu+ethernet), uint64(mtu-tcpHeaders)
	bytes := kib << 10
	return bytes/payload*whole + (bytes%payload*whole+payload/2)/payload
}

const (
	perSecond = 100   // of what passes at once: a hundredth of a second's worth
	leastWait = 40000 // bytes that may wait in any case: with less TCP loses frames that it need not
	frames    = 2     // that pass at once in any case
)

// atOnce is how many bytes pass without a pause: 10 ms of a rate, and some frames in any case.
func atOnce(rate uint64, mtu int) uint64 {
	return max(rate/perSecond, uint64(frames*(max(mtu, standardMTU)+ethernet)))
}

// largest is what a segment of 64 KiB is on the wire, in bytes, over IPv6 too.
func largest(mtu int) uint64 { return Wire(66, mtu) }

// Bucket is what keeps a limit on a link of its own; the zero value where there is none. The delay that it adds is that of what
// may wait: 40 ms at 1,024 KiB/s and 10 ms from 4,096 up. Segments of 64 KiB, which would take 64 ms there, are cut as they come
// to wait. One that waits already when a limit is lowered is not, and would never fit a bucket that is smaller than it: every
// bucket holds the largest, and what cuts is a peak that bounds nothing. A peak that bounds cannot cut.
func (l Limit) Bucket(mtu int) host.TBF {
	if l.Average == 0 {
		return host.TBF{}
	}
	rate := Wire(l.Average, mtu)
	burst, t := atOnce(rate, mtu), host.TBF{Rate: rate, Limit: waits(rate, mtu)}
	switch {
	case l.Burst > 0 && l.Peak > l.Average:
		t.Peak = Wire(l.Peak, mtu)
		t.PeakBuffer = host.Ticks(max(atOnce(t.Peak, mtu), largest(mtu)), t.Peak)
		t.Limit = max(waits(t.Peak, mtu), uint32(2*largest(mtu)))
	case burst < largest(mtu):
		t.Peak, t.Segment = host.CutRate, uint32(burst)
	}
	if l.Burst > 0 {
		burst = Wire(l.Burst, mtu)
	}
	t.Buffer = host.Ticks(max(burst, atOnce(rate, mtu), largest(mtu)), rate)
	return t
}

// waits is how many bytes may wait to leave at a rate.
func waits(rate uint64, mtu int) uint32 {
	return uint32(min(max(rate/perSecond, leastWait, uint64(4*(max(mtu, standardMTU)+ethernet))), 1<<31))
}

// Queue is what bounds what leaves through one link: a bucket, a tree, or neither.
type Queue struct {
	Bucket host.TBF
	Tree   *Tree
	MTU    int // of the link's frames; 0 is Ethernet's. Only desired
}

// None reports whether it bounds nothing.
func (q Queue) None() bool { return q.Tree == nil && q.Bucket == host.TBF{} }

// Equal reports whether o, which was read from the kernel, bounds as q does.
func (q Queue) Equal(o Queue) bool {
	if !SameBucket(q.Bucket, o.Bucket) || (q.Tree == nil) != (o.Tree == nil) {
		return false
	}
	return q.Tree == nil || q.Tree.Equal(*o.Tree)
}
