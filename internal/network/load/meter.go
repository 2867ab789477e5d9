package load

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Meter counts the payload that a receiver gets.
type Meter struct {
	mu    sync.Mutex
	bytes int64
	at    time.Time // when the last of them came
	lost  time.Duration
}

// add counts what came now.
func (m *Meter) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += int64(n)
	m.at = time.Now()
}

// late notes time in which datagrams were due and not sent, now or later.
func (m *Meter) late(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost += d
}

// Reading is what a meter showed: Bytes of payload until At, when the last of them came. Late is how long the flow's own sender of
// datagrams had not run by then, beyond the time that it made up for.
type Reading struct {
	Bytes int64
	At    time.Time
	Late  time.Duration
}

// Read returns what the meter shows.
func (m *Meter) Read() Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Reading{m.bytes, m.at, m.lost}
}

// Until is the rate between two readings, in bytes a second. Both end with an arrival, so that a receiver that gets few large
// pieces is not judged by where a window cuts them. 0 when nothing came between them.
func (r Reading) Until(later Reading) float64 {
	if took := later.At.Sub(r.At); took > 0 {
		return float64(later.Bytes-r.Bytes) / took.Seconds()
	}
	return 0
}

// Passes reports whether at least so much of a rate, in bytes a second, passed between two readings, of the time in which the sender ran.
// Two readings between which it ran for less than half of the time show nothing, so nothing has passed.
func (r Reading) Passes(later Reading, rate float64) bool {
	took, late := later.At.Sub(r.At), later.Late-r.Late
	if r.Bytes == 0 || took <= 0 || late > took/2 {
		return false
	}
	return r.Until(later) > rate*(1-late.Seconds()/took.Seconds())
}

// ErrSilent is a transfer of which nothing arrives.
var ErrSilent = errors.New("nothing arrives")

// Over measures the rate in bytes a second: for so long, after a warm-up. Nothing arriving within the warm-up is an error.
func (m *Meter) Over(ctx context.Context, warmUp, window time.Duration) (float64, error) {
	if err := Pause(ctx, warmUp); err != nil {
		return 0, err
	}
	first := m.Read()
	if first.Bytes == 0 {
		return 0, ErrSilent
	}
	if err := Pause(ctx, window); err != nil {
		return 0, err
	}
	return first.Until(m.Read()), nil
}

// Pause waits, or fails with why ctx is done.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
