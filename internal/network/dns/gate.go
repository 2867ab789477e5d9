package dns

import "sync"

// Quota bounds something that networks use and the process has little of. A network may have Each. When all together
// have Soft, a network may still have Reserve, until all together have Hard: the greedy ones cannot shut the others
// out.
type Quota struct {
	Each, Soft, Hard, Reserve int
}

// gate counts what is used of a Quota.
type gate struct {
	quota Quota
	mu    sync.Mutex
	used  int
}

// share is what one network uses.
type share struct{ used int }

func newGate(q Quota) *gate { return &gate{quota: q} }

func (g *gate) enter(s *share, n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	most := g.quota.Each
	if g.used+n > g.quota.Soft {
		most = min(most, g.quota.Reserve)
	}
	if s.used+n > most || g.used+n > g.quota.Hard {
		return false
	}
	s.used += n
	g.used += n
	return true
}

func (g *gate) leave(s *share, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.used -= n
	g.used -= n
}

func (g *gate) of(s *share) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.used
}
