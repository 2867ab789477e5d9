package firewall

import "runtime"

// AwaitWaiting returns when n requests are queued. It looks again and again, because a queue has no event for a test.
func (g *Group) AwaitWaiting(n int) {
	for {
		g.mu.Lock()
		got := len(g.queue)
		g.mu.Unlock()
		if got >= n {
			return
		}
		runtime.Gosched()
	}
}

// Forget drops what is known of the tables.
func (f *Firewall) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = nil
}
