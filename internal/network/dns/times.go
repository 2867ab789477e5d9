package dns

import (
	"net/netip"
	"sync"
	"time"
)

const (
	unknownPatience = 800 * time.Millisecond
	minPatience     = 200 * time.Millisecond
	maxPatience     = time.Second
	// failing servers are asked last for so long.
	penalty = 30 * time.Second
	// maxTimes bounds how many servers are remembered. A thousand networks have fewer.
	maxTimes = 4096
)

// times remembers how long servers upstream take, and which do not answer.
type times struct {
	mu sync.Mutex
	of map[netip.AddrPort]*timing
}

type timing struct {
	smoothed time.Duration
	failures int
	failed   time.Time
}

func newTimes() *times { return &times{of: map[netip.AddrPort]*timing{}} }

func (t *times) get(a netip.AddrPort) *timing {
	if len(t.of) >= maxTimes {
		clear(t.of)
	}
	e := t.of[a]
	if e == nil {
		e = &timing{}
		t.of[a] = e
	}
	return e
}

// order returns who is asked first: in the order given, since an administrator puts the resolver that knows most first,
// except that who failed lately comes last.
func (t *times) order(list []netip.AddrPort, now time.Time) []netip.AddrPort {
	t.mu.Lock()
	defer t.mu.Unlock()
	good, bad := make([]netip.AddrPort, 0, len(list)), []netip.AddrPort(nil)
	for _, a := range list {
		if e := t.of[a]; e != nil && e.failures >= 2 && now.Sub(e.failed) < penalty {
			bad = append(bad, a)
			continue
		}
		good = append(good, a)
	}
	return append(good, bad...)
}

// patience is how long one is waited for before another is asked too.
func (t *times) patience(a netip.AddrPort) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.of[a]
	if e == nil || e.smoothed == 0 {
		return unknownPatience
	}
	return min(max(3*e.smoothed, minPatience), maxPatience)
}

func (t *times) answered(a netip.AddrPort, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.get(a)
	e.failures = 0
	if e.smoothed == 0 {
		e.smoothed = took
		return
	}
	e.smoothed += (took - e.smoothed) / 8 // RFC 6298's gain
}

func (t *times) failed(a netip.AddrPort, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.get(a)
	e.failures++
	e.failed = now
}
