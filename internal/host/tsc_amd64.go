package host

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// readTSC reads the processor's time stamp counter.
func readTSC() uint64

// TSCFrequency measures how fast the processor's time stamp counter is, in kHz, in about ten milliseconds. An emulated guest
// counts with it as well, and is better told than left to find out: on a busy host it cannot, and does without the
// counter, and so without sleeping for long.
//
// The error is below 1 in 1000, mostly far below. Where the two ends of the measurement disagree by more, which a
// counter that stops or differs between processors makes them, that is an error.
func TSCFrequency() (kHz int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const apart = 5 * time.Millisecond
	var at [3]instant
	for i := range at {
		if at[i], err = now(); err != nil {
			return 0, err
		}
		<-time.After(apart) // longer does no harm
	}
	return frequency(at)
}

// frequency is the counter's between three moments, in kHz.
func frequency(at [3]instant) (kHz int, err error) {
	first, second := at[0].rate(at[1]), at[1].rate(at[2])
	const tolerated = 1e-3
	if !(first > 0) || math.Abs(first-second) > tolerated*first {
		return 0, fmt.Errorf("the processor's time stamp counter is not steady: %.0f and then %.0f kHz", first, second)
	}
	return int(math.Round(at[0].rate(at[2]))), nil
}

// instant is a moment on two clocks.
type instant struct {
	tsc uint64
	ns  int64
}

// rate is the counter's, in kHz.
func (i instant) rate(later instant) float64 {
	const perKHz = 1e6
	return float64(later.tsc-i.tsc) / float64(later.ns-i.ns) * perKHz
}

// now reads both clocks as close to each other as it can: of several tries, the one that took least.
func now() (best instant, err error) {
	const tries = 20
	least := uint64(math.MaxUint64)
	for range tries {
		var t unix.Timespec
		before := readTSC()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &t); err != nil {
			return instant{}, err
		}
		if took := readTSC() - before; took < least {
			least, best = took, instant{before + took/2, t.Nano()}
		}
	}
	return best, nil
}
