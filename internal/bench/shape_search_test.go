package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"taproom/internal/network/load"
)

func TestTheHighestRateThatArrivesIsFoundFromBelow(t *testing.T) {
	t.Parallel()
	for _, capacity := range []float64{3 << 20, 77e6, 500e6} {
		worst := 0.0
		got, err := highest(func(rate float64) (float64, error) {
			worst = max(worst, rate)
			if rate > 3*capacity { // it gets round to nothing
				return 0, nil
			}
			return min(load.Offered(rate), capacity), nil
		})
		if err != nil || got > capacity/arrives || got < 0.75*capacity {
			t.Errorf("of a guest that takes %g it is %g, %v", capacity, got, err)
		}
		if worst > 2*capacity/arrives {
			t.Errorf("a guest that takes %g was offered %g", capacity, worst)
		}
	}
	if got, err := highest(func(float64) (float64, error) { return 0, nil }); got != leastUDP || err != nil {
		t.Errorf("of a guest that takes nothing it is %g, %v; want the least that is tried", got, err)
	}
	if got, err := highest(func(rate float64) (float64, error) { return rate, nil }); got != mostUDP || err != nil {
		t.Errorf("of a guest that takes all it is %g, %v; want the most that is tried", got, err)
	}
	broken := errors.New("broken")
	if _, err := highest(func(float64) (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// deaf is a line on which UDP brings nothing.
type deaf struct{ shapeLine }

func (deaf) bound(context.Context, int) error { return nil }

func (deaf) flow(_ context.Context, x load.Transport, _ bool, rate float64) (shapeFlow, error) {
	return deafFlow{x, rate}, nil
}

func (deaf) delays(context.Context) (load.Delays, error) { return load.Delays{}, nil }

type deafFlow struct {
	x    load.Transport
	rate float64
}

func (f deafFlow) Over(context.Context, time.Duration, time.Duration) (float64, error) {
	if f.x.Streams == 0 {
		return 0, load.ErrSilent
	}
	return f.rate, nil
}

func (deafFlow) Stop() {}

func TestATransportThatBringsNothingIsARowAndNotTheEnd(t *testing.T) {
	t.Parallel()
	b := newShapeBench(Options{Rates: []int{1024}, Seconds: 1, Progress: func(int, int) {}})
	defer b.k.Close()
	if err := b.measure(t.Context(), throughTap, deaf{}); err != nil {
		t.Fatal(err)
	}
	b.report.Shape.judge(b.report)
	if got, want := len(b.report.Shape.Rows), 2*2*len(load.Transports()); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	for _, r := range b.report.Shape.Rows {
		udp := r.Transport == "udp" || r.Transport == "udp/ipv6"
		if (r.Why != "") != udp || (r.Verdict == ShapeSilent) != udp {
			t.Errorf("%+v, want a reason if it is UDP", r)
		}
		if _, ok := b.report.Figure(r.name()); ok == udp {
			t.Errorf("%s has a figure: %v", r.name(), ok)
		}
	}
	if got, want := len(b.report.Skipped), 2*2*2; got != want {
		t.Errorf("%d are skipped, want %d: %v", got, want, b.report.Skipped)
	}
}
