package stats

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of delays that are told apart: from a microsecond to a minute, to three digits.
const (
	finest  = int64(time.Microsecond)
	longest = int64(time.Minute)
	figures = 3
)

// Delays is a histogram of delays. Coordinated omission is avoided: a client that waits for an answer before it asks again
// asks less often while the other side stands still, so that what stood still is under-represented (Gil Tene, How NOT to
// Measure Latency). Requests are due at fixed times; Since counts a delay from when it was due, however late it was sent.
type Delays struct {
	h        *hdrhistogram.Histogram
	interval time.Duration
}

// NewDelays is an empty histogram of requests that are due every interval; 0 is of requests that are sent whenever the one
// before was answered, by a client that is asked how long a round trip takes and not how long its users wait.
func NewDelays(interval time.Duration) *Delays {
	return &Delays{h: hdrhistogram.New(finest, longest, figures), interval: interval}
}

// Due is when request number i is to be sent, of which the first is at began.
func (d *Delays) Due(began time.Time, i int) time.Time {
	return began.Add(time.Duration(i) * d.interval)
}

// Since counts an answer that came now to a request that was due then.
func (d *Delays) Since(due, now time.Time) { d.Add(now.Sub(due)) }

// Add counts a delay that was taken from when the request was due. What is out of range counts as its end.
func (d *Delays) Add(delay time.Duration) {
	_ = d.h.RecordValue(min(max(int64(delay), finest), longest)) // in range by what stands before it
}

// AddBlocked counts a delay that was taken from when the request was sent, by a client that could not send others
// meanwhile, and the delays of those that were due in that time.
func (d *Delays) AddBlocked(delay time.Duration) {
	for ; delay > 0; delay -= d.interval {
		d.Add(delay)
		if d.interval <= 0 {
			return
		}
	}
}

// N is how many were counted.
func (d *Delays) N() int64 { return d.h.TotalCount() }

// Mean is that of all.
func (d *Delays) Mean() time.Duration { return time.Duration(d.h.Mean()) }

// Quantile is the delay that a share q (0 to 1) of all does not exceed, to three digits.
func (d *Delays) Quantile(q float64) time.Duration {
	return time.Duration(d.h.ValueAtQuantile(100 * q))
}

// Max is the longest.
func (d *Delays) Max() time.Duration { return time.Duration(d.h.Max()) }

// Merge adds the delays of another histogram.
func (d *Delays) Merge(o *Delays) { d.h.Merge(o.h) }

// CurvePoint is a place of a percentile curve.
type CurvePoint struct {
	Share float64       `json:"share"` // of the delays, 0 to 1
	Delay time.Duration `json:"delay_ns"`
}

// Curve is the delays at shares that come nearer to all by halves, up to where one delay is left.
func (d *Delays) Curve() []CurvePoint {
	var out []CurvePoint
	if d.N() == 0 {
		return out
	}
	for rest := 1.0; rest*float64(d.N()) >= 1; rest /= 2 {
		out = append(out, CurvePoint{1 - rest, d.Quantile(1 - rest)})
	}
	return append(out, CurvePoint{1, d.Max()})
}
