package tftp

import "sync/atomic"

// Limit bounds the sessions of several networks together. Nil is no limit.
type Limit struct{ free atomic.Int64 }

// NewLimit returns a limit of n sessions.
func NewLimit(n int) *Limit {
	l := &Limit{}
	l.free.Store(int64(n))
	return l
}

func (l *Limit) take() bool {
	if l == nil {
		return true
	}
	if l.free.Add(-1) < 0 {
		l.free.Add(1)
		return false
	}
	return true
}

func (l *Limit) give() {
	if l != nil {
		l.free.Add(1)
	}
}
