package qos

import (
	"slices"

	"taproom/internal/host"
)

const (
	perPiece    = 500  // of the pieces that segments are cut into: a five-hundredth of a second's worth
	leastTarget = 5000 // µs that a flow's frames may wait, fq_codel's default
	inTarget    = 4    // frames that may wait in any case, as long as they take
)

// Fair is q with flows that take turns, for a kernel with fq_codel. A frame of a flow that sends little waits for a
// single piece of the flows that fill the queue, so pieces are shorter than in a plain queue: 2 ms' worth, and two frames at least.
func (q Queue) Fair() Queue {
	if (q.Bucket != host.TBF{}) {
		q.Bucket = fair(q.Bucket, q.Bucket.Rate, q.MTU)
	}
	if q.Tree != nil {
		t := *q.Tree
		t.RestCut = fair(t.RestCut, t.Whole.Ceil, q.MTU)
		t.Leaves = slices.Clone(t.Leaves)
		for i := range t.Leaves {
			t.Leaves[i].Cut = fair(t.Leaves[i].Cut, t.Whole.Ceil, q.MTU)
		}
		q.Tree = &t
	}
	return q
}

// fair is a bucket with a fair queue. The kernel counts its own memory for a frame, half as much again as the frame where it is full.
func fair(t host.TBF, rate uint64, mtu int) host.TBF {
	frame := uint64(max(mtu, standardMTU) + ethernet)
	piece := max(rate/perPiece, frames*frame)
	switch {
	case piece >= largest(mtu), t.PeakBuffer > 0: // a peak that bounds cannot cut
	case t.Rate == host.CutRate:
		t.Segment = min(t.Segment, uint32(piece))
	case t.Segment > 0:
		t.Segment = min(t.Segment, uint32(piece))
	default:
		t.Peak, t.Segment = host.CutRate, uint32(piece)
	}
	t.Fair = host.FairQueue{
		Memory: uint32(min(uint64(t.Limit)*3/2, 1<<31)),
		Target: uint32(min(max(leastTarget, inTarget*frame*1e6/max(rate, 1)), 1e8)),
	}
	return t
}

// SameBucket reports whether have, which was read from the kernel, is as want says. The kernel does not report how large pieces are, and
// rounds the target; both follow from the rate. A fair queue that is not wanted stays.
func SameBucket(want, have host.TBF) bool {
	want.Segment, have.Segment = 0, 0
	want.Fair.Target, have.Fair.Target = 0, 0
	if want.Fair.Memory == 0 {
		have.Fair.Memory = 0
	}
	return want == have
}
