package host

import (
	"math"
	"testing"
)

func TestTSCIsMeasuredTheSameTwice(t *testing.T) {
	t.Parallel()
	first, err := TSCFrequency()
	if err != nil {
		t.Logf("this host's is of no use: %v", err)
		return
	}
	second, err := TSCFrequency()
	if err == nil && (first < 100_000 || math.Abs(float64(first-second)) > float64(first)/500) {
		t.Errorf("%d kHz and then %d kHz", first, second)
	}
}

func TestACounterThatIsNotSteadyIsOfNoUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   [3]instant
		want int // 0: an error
	}{
		{[3]instant{{1000, 0}, {3_001_000, 1e6}, {6_001_000, 2e6}}, 3_000_000},
		{[3]instant{{1000, 0}, {3_001_000, 1e6}, {6_301_000, 2e6}}, 0},
		{[3]instant{{1000, 0}, {1000, 1e6}, {1000, 2e6}}, 0},
	} {
		if got, err := frequency(c.at); got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%v: %d kHz, %v, want %d", c.at, got, err, c.want)
		}
	}
}
