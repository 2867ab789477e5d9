package backend

import "time"

const (
	// atOnce is how many helpers in a row may end young and be replaced at once. Guests wait meanwhile, so the first pause
	// comes only when there is reason to think that the next one ends as well.
	atOnce = 5
	// settled is the age from which a helper's end says nothing about the next one's.
	settled = 10 * time.Second

	firstPause = time.Second
	// lastPause is short: guests get no addresses and names during it, for any cause of the helpers' ends, and the start of a
	// helper takes 20 ms of a CPU and 2 ms more for each network.
	lastPause = 5 * time.Second
)

// patience says how long to wait before the next helper is started. One that ends at once must not take a whole CPU.
type patience struct {
	since time.Time // when the helper was started; zero while there is none
	young int       // ends in a row of helpers that were not settled, and failed starts
	wait  time.Duration
}

// began notes that a helper was started.
func (p *patience) began(now time.Time) { p.since = now }

// ended notes that the helper ended, or could not be started, and returns the pause that is due.
func (p *patience) ended(now time.Time) time.Duration {
	if !p.since.IsZero() && now.Sub(p.since) >= settled {
		p.young, p.wait = 0, 0
	}
	p.since = time.Time{}
	p.young++
	if p.young <= atOnce {
		return 0
	}
	p.wait = min(max(2*p.wait, firstPause), lastPause)
	return p.wait
}
