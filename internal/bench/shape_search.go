package bench

import (
	"context"
	"errors"
	"time"

	"taproom/internal/network/load"
)

const (
	// leastUDP is the rate of datagrams that the search for what a guest takes begins with, in bytes a second.
	leastUDP = 1 << 20
	// mostUDP is where it ends: more than a guest takes.
	mostUDP = 1 << 30
	// searchFor is how long each rate is tried, and as long before.
	searchFor = 500 * time.Millisecond
	// searchSteps narrow down where between a rate that arrives and its double the guest is at its end.
	searchSteps = 3
	// arrives is the share of a rate that has to come: a moment more or less is none of the guest's doing.
	arrives = 0.98
)

// highest searches upward for the highest rate that arrives, in bytes a second: a guest that is offered much more than it takes is busy with
// what its card brings and gets round to none of it. Try measures what arrives of a rate.
func highest(try func(rate float64) (float64, error)) (float64, error) {
	low, high := 0.0, 0.0
	for rate := float64(leastUDP); rate <= mostUDP; rate *= 2 {
		high = rate
		got, err := try(rate)
		if err != nil {
			return 0, err
		}
		if got < arrives*rate {
			break
		}
		low, high = rate, 2*rate
	}
	if low == 0 || low == mostUDP { // not even the least; or all of it
		return max(low, leastUDP), nil
	}
	for range searchSteps {
		middle := (low + high) / 2
		got, err := try(middle)
		if err != nil {
			return 0, err
		}
		if got >= arrives*middle {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// carried is the highest rate of datagrams that a guest receives without a limit, in bytes a second.
func carried(ctx context.Context, line shapeLine, x load.Transport) (float64, error) {
	return highest(func(rate float64) (float64, error) {
		f, err := line.flow(ctx, x, false, rate)
		if err != nil {
			return 0, err
		}
		defer f.Stop()
		got, err := f.Over(ctx, searchFor, searchFor)
		if errors.Is(err, load.ErrSilent) {
			return 0, nil
		}
		return got, err
	})
}
