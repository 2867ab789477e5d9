package host

import (
	"math"
	"testing"
)

func TestTSCIsMeasuredTheSameTwice(t *testing.T) {
	t.Parallel()
	first, err := TSCFrequency()
	if err != nil {
		t.Fatal(err)
	}
	second, err := TSCFrequency()
	if err != nil {
		t.Fatal(err)
	}
	if first < 100_000 || math.Abs(float64(first-second)) > float64(first)/500 {
		t.Errorf("%d kHz and then %d kHz", first, second)
	}
}
