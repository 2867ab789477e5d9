package xtables

import (
	"maps"
	"sync"
	"time"
)

// aMoment is how long a process is remembered after its end: for as long as what it did may wait to be read, and not until
// somebody else's process has its number.
const aMoment = 10 * time.Second

// restores are processes that changed rules for us.
type restores struct {
	mu    sync.Mutex
	ended map[int]time.Time // by number; the zero time while it runs
}

// begin is for one that is about to be started. Begun is told its number, and over called at its end, or when there was none.
// Until one of them nobody learns which are ours: it may be done before anybody knows its number.
func (r *restores) begin() (begun func(pid int), over func()) {
	r.mu.Lock()
	known := sync.OnceFunc(r.mu.Unlock)
	var pid int
	begun = func(is int) {
		pid = is
		maps.DeleteFunc(r.ended, func(_ int, ended time.Time) bool { return isOver(ended) })
		if r.ended == nil {
			r.ended = map[int]time.Time{}
		}
		r.ended[pid] = time.Time{}
		known()
	}
	return begun, func() {
		known()
		if pid == 0 {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended[pid] = time.Now()
	}
}

func (r *restores) has(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended, is := r.ended[pid]
	return is && !isOver(ended)
}

func isOver(ended time.Time) bool { return !ended.IsZero() && time.Since(ended) > aMoment }
