package bench

import (
	"testing"
	"time"
)

func TestWhatGuestfishTookIsAddedUp(t *testing.T) {
	t.Parallel()
	got, err := elapsed("elapsed time: 0.25 seconds\n\nelapsed time: 1.50 seconds\n")
	if want := 1750 * time.Millisecond; err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, out := range []string{"", "elapsed time: soon\n", "elapsed time: 0 seconds\n"} {
		if got, err := elapsed(out); err == nil {
			t.Errorf("%q is %v", out, got)
		}
	}
}
