package stats

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestTheHistogramsQuantilesAreThoseOfTheDistribution(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	d, half, other := NewDelays(0), NewDelays(0), NewDelays(0)
	const mean = 2 * time.Millisecond
	for i := range 100000 {
		v := time.Duration(r.ExpFloat64() * float64(mean))
		d.Add(v)
		if i%2 == 0 {
			half.Add(v)
		} else {
			other.Add(v)
		}
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		want := -math.Log(1-q) * float64(mean)
		near(t, "quantile", float64(d.Quantile(q)), want, 0.06*want)
	}
	near(t, "mean", float64(d.Mean()), float64(mean), 0.02*float64(mean))
	half.Merge(other)
	if half.N() != d.N() || half.Quantile(0.99) != d.Quantile(0.99) || half.Max() != d.Max() {
		t.Error("two halves are not the whole")
	}
}

func TestDelaysOutOfRangeCountAsItsEnds(t *testing.T) {
	t.Parallel()
	d := NewDelays(0)
	d.Add(-time.Second)
	d.Add(time.Hour)
	if d.N() != 2 || d.Quantile(0) > 2*time.Microsecond {
		t.Errorf("%d delays, the least %v", d.N(), d.Quantile(0))
	}
	near(t, "the longest", d.Max().Seconds(), 60, 0.1)
	if len(NewDelays(0).Curve()) != 0 {
		t.Error("nothing has no curve")
	}
}

// A server that answers in 1 ms and once stands still for 1 s, asked every 10 ms for 10 s: for a tenth of the time it did not
// answer, so a tenth of the requests waited, half a second on average. Who counts from when requests were sent sees one.
func TestAStandstillIsNotOmittedByWhoWaitsForIt(t *testing.T) {
	t.Parallel()
	const every, stands = 10 * time.Millisecond, time.Second
	began := time.Unix(0, 0)
	due, blocked, naive := NewDelays(every), NewDelays(every), NewDelays(0)
	free := began // when the client may send again
	for i := range 1000 {
		at := due.Due(began, i)
		sent := at
		if free.After(sent) {
			sent = free
		}
		took := time.Millisecond
		if i == 500 {
			took = stands
		}
		free = sent.Add(took)
		due.Since(at, free)
		naive.Add(took)
	}
	for range 900 {
		blocked.AddBlocked(time.Millisecond)
	}
	blocked.AddBlocked(stands)
	if naive.Quantile(0.99) > 2*time.Millisecond {
		t.Errorf("counted from when they were sent, p99 is %v", naive.Quantile(0.99))
	}
	for name, d := range map[string]*Delays{"due": due, "blocked": blocked} {
		near(t, name+" p95", d.Quantile(0.95).Seconds(), 0.5, 0.06)
		near(t, name+" p99", d.Quantile(0.99).Seconds(), 0.9, 0.03)
		near(t, name+" max", d.Max().Seconds(), 1, 0.01)
	}
}

func TestACurveRisesToTheLongestDelay(t *testing.T) {
	t.Parallel()
	d := NewDelays(0)
	for i := range 1000 {
		d.Add(time.Duration(i+1) * time.Millisecond)
	}
	curve := d.Curve()
	if len(curve) != 11 || curve[0].Share != 0 || curve[10].Share != 1 || curve[10].Delay != d.Max() {
		t.Errorf("curve %+v", curve)
	}
	for i := 1; i < len(curve); i++ {
		if curve[i].Delay < curve[i-1].Delay || curve[i].Share <= curve[i-1].Share {
			t.Errorf("it falls at %+v", curve[i])
		}
	}
}
